"""Changes of a range: commits grouped by pull request, merge and squashed list."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from cli.release_notes.analysis.branches import Entry, read_merge, reverted_subject
from cli.release_notes.analysis.breaking import drops_version, is_declared, note_in, removes_deprecated, says_so
from cli.release_notes.analysis.message import listed_in, read_message
from cli.release_notes.analysis.own import fragment_type, is_breaking_fragment
from cli.release_notes.analysis.paths import is_for_users, role
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
MOST_COMMITS = 60


def change_of(message: Change, entries: Sequence[Entry]) -> Change:
    """Make a change of a message and its commits, the most telling commit first."""
    paths = tuple(dict.fromkeys(path for entry in entries for path in entry.commit.paths))
    roles = {role(path) for path in paths}
    aside = bool(roles) and not roles & {"source", "manifest", "other"}
    bodies = [entry.commit.body for entry in entries[:MOST_COMMITS]]
    declared = message.declared or (not aside and any(is_declared(message.text, body) for body in bodies))
    breaking = declared or (not aside and not message.noise and _is_told(message, bodies[0], paths))
    kind = _kind(message, roles, aside=aside)
    return replace(
        message,
        kind="removal" if breaking and kind in ("internal", "other") else kind,
        commits=tuple(dict.fromkeys(entry.sha for entry in entries)),
        paths=paths,
        declared=declared,
        breaking=breaking,
        breaking_note=message.breaking_note or next(filter(None, map(note_in, bodies)), None),
    )


def _is_told(message: Change, body: str, paths: Sequence[str]) -> bool:
    if message.kind == "documentation" or (message.conventional and message.kind in ("dependency", "fix")):
        return False
    if drops_version(message.text):
        return True
    fragments = [path for path in paths if fragment_type(path)]
    if fragments and not any(map(is_breaking_fragment, fragments)):
        return False
    if not any(map(is_for_users, paths)) or (message.conventional and message.kind == "internal"):
        return False
    return removes_deprecated(message.text) or says_so(message.text, body)


def _kind(message: Change, roles: AbstractSet[str], *, aside: bool) -> ChangeKind:
    is_bump = message.kind == "dependency" or bool(_BUMP.match(message.text)) or roles == {"lock"}
    if message.kind == "security" or (is_bump and re.search(r"\bCVE-\d{4}-\d+|\bGHSA-\w+-", message.details)):
        return "security"
    if is_bump:
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


def changes_of(alive: Sequence[Entry], merged: Mapping[str, Sequence[str]], undoing: AbstractSet[str]) -> list[Change]:
    """Return the changes of the commits that were not reverted, newest first."""
    pulls, numbers, spoken_for = _pulls(alive, merged)
    found: list[Change] = []
    for entry in alive:
        if entry.sha in pulls:
            found.append(pulls[entry.sha])
        if len(entry.commit.parents) > 1 or entry.sha in spoken_for:
            continue
        message = replace(entry.message, pull_request=entry.message.pull_request or numbers.get(entry.sha))
        if entry.sha in undoing:
            inner = read_message(reverted_subject(entry), "")
            text = f"Reverted: {inner.text}"
            found.append(change_of(replace(inner, text=text, kind="fix", conventional=True), [entry]))
        elif not message.text.lower().startswith("known issue"):
            found += [change_of(each, [entry]) for each in listed_in(entry.commit.body, message)]
    return _joined(found)


def _pulls(
    alive: Sequence[Entry], merged: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Change], dict[str, str], set[str]]:
    by_sha = {entry.sha: entry for entry in alive}
    pulls: dict[str, Change] = {}
    numbers: dict[str, str] = {}
    spoken_for: set[str] = set()
    for entry in reversed(alive):
        shas = merged.get(entry.sha, ())
        inside = [by_sha[sha] for sha in shas if sha in by_sha]
        merge = read_merge(entry.commit.subject, entry.commit.body) if inside else None
        if merge is None:
            continue
        title, body, number = merge
        message = read_message(title, body)
        message = replace(message, pull_request=number or message.pull_request)
        conventional = any(other.message.conventional and len(other.commit.parents) < 2 for other in inside)
        # A branch of branches, or of commits that name their kinds: those within it are the changes.
        if any(other.sha in pulls for other in inside) or (conventional and not message.conventional):
            # A commit has the number of the innermost of them.
            numbers = dict.fromkeys(shas, number) | numbers if number else numbers
            continue
        pulls[entry.sha] = change_of(message, [entry, *inside])
        spoken_for.update(other.sha for other in inside)
    return pulls, numbers, spoken_for


def _joined(changes: Iterable[Change]) -> list[Change]:
    # The same change on two branches, or in two steps: not two issues that read alike.
    places: dict[tuple[str, str], int] = {}
    result: list[Change] = []
    for change in changes:
        key = (re.sub(r"[\W_]+", " ", change.text).strip().casefold(), (change.scope or "").casefold())
        at = places.get(key) if key[0] else None
        if at is None or len({result[at].pull_request, change.pull_request} - {None}) > 1:
            places[key] = len(result)
            result.append(change)
        else:
            result[at] = _both(result[at], change)
    return result


def _both(one: Change, other: Change) -> Change:
    either = ("details", "breaking_note", "migration", "pull_request", "issues", "breaking", "declared")
    best = {name: getattr(one, name) or getattr(other, name) for name in either}
    best |= {name: tuple(dict.fromkeys(getattr(one, name) + getattr(other, name))) for name in ("commits", "paths")}
    return replace(one, **best)
