"""Drafts of changes: commits of a range grouped by pull request, merge and squashed list."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from cli.release_notes.analysis.branches import Merge, Reverts, read_merge, reverted_subject
from cli.release_notes.analysis.breaking import drops_version, is_declared, note_in, removes_deprecated, says_so
from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.message import Message, read_message
from cli.release_notes.analysis.own import Own, fragment_type, is_breaking_fragment
from cli.release_notes.analysis.paths import is_for_users, is_upgrade_guide, role
from cli.release_notes.facts import Change, ChangeKind

_BUMP = re.compile(
    r"^(?:bump|upgrade|update|pin|unpin|lock file|renovate)\w* (?!(?:the )?(?:msrv|version) )"
    r"(?:(?:the|dependency|module|all|github|rust|docker"
    r"|non-major|actions?"
    r"|crate|tag) )*(?:dependenc(?:y|ies)|deps|lock ?files?|requirements|packages?$|\S+ (?:from \S+ )?to v?\^?\d"
    r"|\S+ requirement from|\S+ (?:docker tag|action|digest)|the \S+ group)|^pre-commit autoupdate|^(?:update|upgrade"
    r"|bump)\w* to (?:the )?latest \S+$|^bumps? the \S+ group",
    re.I,
)
_TOLD = (
    r"^(?:please |instead,? |to migrate,? )?use |\binstead\b|\b(?:users?|you) (?:must|need to|have to|should|can|who)\b"
    r"|^explicitly "
)
_STEPS = {
    # A changelog speaks in the imperative of what was done, a footer of what to do.
    True: re.compile(_TOLD, re.I),
    False: re.compile(
        rf"{_TOLD}|^(?:add|call|change|import|install|migrate|pass|pin|remove|rename|replace|run|set|switch) ", re.I
    ),
}
_SENTENCES = re.compile(r"(?<=[.!])\s+(?=[A-Z`])")
_BASE: dict[ChangeKind, float] = {
    "security": 0.62, "feature": 0.58, "removal": 0.46, "deprecation": 0.46, "performance": 0.44, "improvement": 0.40,
    "fix": 0.32, "other": 0.16, "dependency": 0.12, "documentation": 0.10, "internal": 0.05,
}  # fmt: skip


@dataclass(slots=True)
class Draft:
    """A change in the making; `own` is what the project wrote about it."""

    message: Message
    kind: ChangeKind
    entries: list[Entry]
    breaking: bool = False
    declared: bool = False
    own: Own | None = None
    place: float = 0.0
    paths: tuple[str, ...] = field(default=())

    def change(self) -> Change:
        message, own = self.message, self.own
        details = own.more if own else message.details
        numbers = own.numbers if own else ()
        note = message.breaking_note or next(
            filter(None, (note_in(each.commit.body) for each in self.entries[:60])), None
        )
        pull = message.pull_request or (numbers[0] if own and len(numbers) == 1 and "(#" in own.text else None)
        issues = dict.fromkeys(each for each in (*message.issues, *numbers) if each != pull)
        if own and (own.more or not note or own.text[:40].casefold() in note.casefold()):
            note = own.more or None
        told = note if self.breaking else None
        # The body of a change that nobody declared speaks to its reviewers.
        steps = told or (details if self.declared or own else "")
        return Change(
            kind=self.kind,
            scope=own.scope if own else message.scope,
            text=own.text if own else message.text,
            details=details,
            commits=tuple(dict.fromkeys(entry.sha for entry in self.entries)),
            breaking=self.breaking,
            breaking_note=told,
            migration=message.migration or (_steps(steps, own=own is not None) if self.breaking else None),
            pull_request=pull,
            issues=tuple(issues),
            impact=self.impact,
            own=own is not None,
            names=frozenset(re.split(r"[/.]", "/".join(self.paths[:60]))),
        )

    @property
    def impact(self) -> float:
        weight = _BASE[self.kind] + (0.4 if self.declared else 0.25 if self.breaking else 0)
        weight += 0.1 if self.own else 0
        weight += 0.05 if self.message.details or (self.own and self.own.more) else 0
        weight += 0.02 if self.message.issues else 0
        weight += min(0.05, 0.01 * sum(role(path) == "source" for path in self.paths))
        return round(min(0.99, weight), 4)


def draft(message: Message, entries: Sequence[Entry]) -> Draft:
    """Make a draft of a message and its commits, the most telling commit first."""
    paths = tuple(dict.fromkeys(path for entry in entries for path in entry.paths))
    made = Draft(message, message.kind, list(entries), paths=paths)
    roles = {role(path) for path in paths}
    aside = bool(roles) and not roles & {"source", "manifest", "other"}
    made.kind = _kind(message, roles, aside=aside)
    made.declared = message.marked or (not aside and any(_declares(message, each) for each in entries[:60]))
    made.breaking = made.declared or (not aside and not message.noise and _is_told(message, entries, paths))
    if made.breaking and made.kind in ("internal", "other"):
        made.kind = "removal"
    return made


def _declares(message: Message, entry: Entry) -> bool:
    return is_declared(message.text, entry.commit.body)


def _is_told(message: Message, entries: Sequence[Entry], paths: Sequence[str]) -> bool:
    if message.kind == "documentation" or (message.conventional and message.kind in ("dependency", "fix")):
        return False
    if drops_version(message.text):
        return True
    fragments = [path for path in paths if fragment_type(path)]
    if fragments and not any(map(is_breaking_fragment, fragments)):
        return False
    if not any(map(is_for_users, paths)) or (message.conventional and message.kind == "internal"):
        return False
    if any(map(is_upgrade_guide, paths)) or removes_deprecated(message.text):
        return True
    return says_so(message.text, entries[0].commit.body)


def _kind(message: Message, roles: AbstractSet[str], *, aside: bool) -> ChangeKind:
    if message.kind == "security":
        return "security"
    if message.kind == "dependency" or _BUMP.match(message.text) or roles == {"lock"}:
        return "internal" if roles and roles <= {"tooling", "test", "documentation"} else "dependency"
    if message.noise:
        return "internal"
    if aside:
        return "documentation" if roles & {"documentation", "example"} and message.kind != "internal" else "internal"
    # Work that is documented, or that somebody had asked for, is more than tidying.
    for_users = bool(message.issues or roles & {"changelog", "documentation"})
    if not message.conventional and message.kind in ("internal", "removal"):
        return ("improvement" if message.kind == "internal" else "removal") if for_users else "internal"
    return message.kind


def drafts_of(
    alive: Sequence[Entry], merged: Mapping[str, Sequence[str]], by_sha: Mapping[str, Entry], reverts: Reverts
) -> list[Draft]:
    """Draft the changes of the commits that were not reverted, newest first."""
    pulls, spoken_for = _pulls(alive, merged, by_sha, reverts)
    numbers = _numbers(alive, merged)
    found: list[Draft] = []
    for entry in alive:
        if entry.sha in pulls:
            found.append(pulls[entry.sha])
        elif (
            len(entry.commit.parents) < 2
            and entry.sha not in spoken_for
            and not entry.message.text.lower().startswith("known issue")
        ):
            message = entry.message
            if message.pull_request is None and entry.sha in numbers:
                message = replace(message, pull_request=numbers[entry.sha])
            if entry.sha in reverts.outside:
                inner = read_message(reverted_subject(entry), "")
                message = replace(
                    message, text=f"Reverted: {inner.text}", kind="fix", scope=inner.scope, noise=inner.noise
                )
                message = replace(message, conventional=True, details="")
            found += [draft(each, [entry]) for each in message.listed or (message,)]
    return _joined(found)


def _pulls(
    alive: Sequence[Entry], merged: Mapping[str, Sequence[str]], by_sha: Mapping[str, Entry], reverts: Reverts
) -> tuple[dict[str, Draft], set[str]]:
    pulls: dict[str, Draft] = {}
    spoken_for: set[str] = set()
    for entry in reversed(alive):
        merge = read_merge(entry.commit.subject, entry.commit.body) if len(entry.commit.parents) > 1 else None
        inside = [by_sha[sha] for sha in merged.get(entry.sha, ()) if sha not in reverts.cancelled]
        if merge is None or not inside:
            continue
        message = _message(merge, entry)
        conventional = any(other.message.conventional and len(other.commit.parents) < 2 for other in inside)
        # A branch of branches, or of commits that name their kinds: those within it are the changes.
        if any(other.sha in pulls for other in inside) or (conventional and not message.conventional):
            continue
        pulls[entry.sha] = draft(message, [entry, *inside])
        spoken_for.update(other.sha for other in inside)
    return pulls, spoken_for


def _message(merge: Merge, entry: Entry) -> Message:
    message = read_message(merge.title, merge.body)
    return replace(message, pull_request=merge.pull_request or message.pull_request)


def _numbers(alive: Sequence[Entry], merged: Mapping[str, Sequence[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in alive:
        merge = read_merge(entry.commit.subject, entry.commit.body) if merged.get(entry.sha) else None
        if merge and merge.pull_request:
            found.update(dict.fromkeys(merged[entry.sha], merge.pull_request))
    return found


def _joined(drafts: Iterable[Draft]) -> list[Draft]:
    # The same change on two branches, or in two steps: not two issues that read alike.
    places: dict[tuple[str, str], Draft] = {}
    result: list[Draft] = []
    for made in drafts:
        key = (re.sub(r"[\W_]+", " ", made.message.text).strip().casefold(), (made.message.scope or "").casefold())
        known = places.get(key)
        pulls = {known.message.pull_request, made.message.pull_request} - {None} if known else set()
        if known is None or len(pulls) > 1 or not key[0]:
            places[key] = made
            result.append(made)
        else:
            known.entries += [each for each in made.entries if each not in known.entries]
            known.paths = tuple(dict.fromkeys((*known.paths, *made.paths)))
            known.breaking, known.declared = known.breaking or made.breaking, known.declared or made.declared
            filled = ("details", "breaking_note", "migration", "pull_request", "issues")
            best = {name: getattr(known.message, name) or getattr(made.message, name) for name in filled}
            known.message = replace(known.message, **best)
    return result


def _steps(note: str, *, own: bool) -> str | None:
    # Only sentences, and items of lists, that somebody wrote to whoever upgrades.
    parts = [part for part in re.split(r"\n\n|\n(?=[-*] )", note) if not part.startswith(("    ", "```"))]
    told: list[str] = []
    for part in (" ".join(part.split()) for part in parts):
        sentences = [part] if part.startswith(("- ", "* ")) else _SENTENCES.split(part)
        told += [each for each in sentences if any(map(_STEPS[own].search, _SENTENCES.split(each.lstrip("-* "))))]
    return ("\n" if any(each.startswith(("- ", "* ")) for each in told) else " ").join(told)[:LONGEST_STEPS] or None


LONGEST_STEPS = 1_600
