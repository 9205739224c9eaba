"""Changes of a range: commits grouped by pull request, merge and squashed list, without reverted ones."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from cli.release_notes.analysis.breaking import drops_version, is_declared, note_in, removes_deprecated, says_so
from cli.release_notes.analysis.message import listed_in, read_message, without_pull
from cli.release_notes.analysis.own import SENTENCE_END, fragment
from cli.release_notes.analysis.wording import is_for_users, role
from cli.release_notes.facts import Change, ChangeKind, Commit

_MERGED = re.compile(
    r"^(?:Merge pull request (?P<pull>#\d+) from \S+|Merged in \S+ \(pull request (?P<bucket>#\d+)\))", re.I
)
_REQUEST = re.compile(r"^See merge request \S*?(?P<pull>!\d+)\s*$", re.M)
_TITLED = re.compile(
    r"^(?:Merge|Merged PR|(?:Auto|Rollup) merge of) (?:[\w.-]+/[\w.-]+)?#?(?P<pull>\d+)\b[^:]*:\s*(?P<title>\S.*)$",
    re.I,
)
_BRANCH = re.compile(
    r"^merge (?:branch|topic|remote|tag|commit|upstream|origin|master|main|develop|from|in|into)\b|^merged?$", re.I
)
_BACK = re.compile(
    r"^merge (?:remote-tracking )?(?:branch )?'?(?:\w+/)?(?:main|master|develop|trunk|stable|v?\d[\w.x]*)'?(?: |$)",
    re.I,
)
_LOG = re.compile(r"^(?:\* \S+:?$|conflicts?:|# conflicts|  +\S)", re.I)


class Entry(NamedTuple):
    commit: Commit
    message: Change

    @property
    def sha(self) -> str:
        return self.commit.sha


def read_merge(subject: str, body: str) -> tuple[str, str, str | None] | None:
    """Return title, text and number of a merged pull request or topic; None without a text."""
    subject = re.sub(r"^(?:chore|build|ci)(?:\([^)]*\))?:\s*", "", subject)
    number = _REQUEST.search(body)
    if match := _MERGED.match(subject):
        title, rest = _first_line(body)
        return (title, rest, match["pull"] or match["bucket"]) if title else None
    if match := _TITLED.match(subject):
        return (match["title"], body, f"#{match['pull']}")
    if not _BRANCH.match(subject):
        return (subject, body, number["pull"] if number else None)
    if number:
        title, rest = _first_line(_REQUEST.sub("", body))
        return (title, rest, number["pull"]) if title else None
    prose = [each for each in re.split(r"\n[ \t]*\n", body.strip()) if not _LOG.match(each) and len(each.split()) > 3]
    if _BACK.match(subject) or not prose:
        return None
    title, *more = SENTENCE_END.split(" ".join(prose[0].split()), maxsplit=1)
    return (title, "\n\n".join([*more, *prose[1:]]), None)


def _first_line(text: str) -> tuple[str, str]:
    title, _, rest = text.strip().partition("\n")
    return title.strip(), rest.strip("\n")


def brought_in(entries: Sequence[Entry], head: str) -> dict[str, tuple[str, ...]]:
    """Return the commits that came with each merge, newest first, each commit once; follows first parents."""
    parents = {entry.sha: entry.commit.parents for entry in entries}
    owners: dict[str, tuple[str, ...]] = {}
    # The oldest merge is looked at first, and takes what several of them reach.
    todo: list[tuple[str, tuple[str, ...]]] = [(head, ())]
    while todo:
        sha, above = todo.pop()
        sides = []
        while sha in parents and sha not in owners:
            owners[sha] = above
            sides += [(side, (*above[-8:], sha)) for side in parents[sha][1:]]
            sha = parents[sha][0] if parents[sha] else ""
        todo += sides
    owned: dict[str, list[str]] = {}
    for sha in parents:
        for owner in owners.get(sha, ()):
            owned.setdefault(owner, []).append(sha)
    return {merge: tuple(shas) for merge, shas in owned.items()}


_SUBJECT = re.compile(
    r"^(?:\w+: )?(?:revert(?:s|ed|ing)?|back out|reapply|reland|re-land)\W*[\"“'](?P<quoted>.+)[\"”'][^\"”']*$"
    r"|^revert(?:\([^)]*\))?!?:\s*(?P<plain>\S.*)$",
    re.I,
)
_SHA = re.compile(r"^\s*(?:this )?reverts? (?:commits? )?(?P<sha>[0-9a-f]{7,40})\b", re.I | re.M)
_PARTLY = re.compile(r"\bpartial(?:ly)?\b|\bparts? of\b|\bin part\b", re.I)


def find_reverts(entries: Sequence[Entry], merged: Mapping[str, Sequence[str]]) -> tuple[set[str], set[str]]:
    """Return the commits that cancel each other out, and the reverts of earlier releases.

    Reverts apply newest first: one that was reverted itself reverts nothing.
    """
    cancelled: set[str] = set()
    outside: set[str] = set()
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        subject = entry.commit.subject.casefold()
        for key in {entry.sha[:7], subject, without_pull(subject)[0]}:
            places.setdefault(key, []).append(place)
    for place, entry in enumerate(entries):
        if is_revert(entry) and entry.sha not in cancelled:
            target = next((each for key in _targets(entry) for each in places.get(key, ()) if each > place), None)
            if target is None:
                outside.add(entry.sha)
            else:
                cancelled |= {entry.sha, entries[target].sha, *merged.get(entries[target].sha, ())}
    return cancelled, outside


def _targets(entry: Entry) -> list[str]:
    sha, quoted = _SHA.search(entry.commit.body), reverted_subject(entry).casefold()
    return list(filter(None, (sha["sha"][:7] if sha else "", quoted, without_pull(quoted)[0])))


def is_revert(entry: Entry) -> bool:
    """Return whether the subject, or the first line of the body, reverts a commit as a whole."""
    subject, first = entry.commit.subject, entry.commit.body.lstrip("\n").partition("\n")[0]
    whole = not (_PARTLY.search(subject) or _PARTLY.search(first))
    return whole and bool(_SUBJECT.match(subject) or _SHA.match(first))


def reverted_subject(entry: Entry) -> str:
    match = _SUBJECT.match(without_pull(entry.commit.subject)[0])
    return (match["quoted"] or match["plain"]) if match else entry.message.text


_BUMP = re.compile(
    r"^(?:bump|upgrade|update|pin|lock file)\w* (?!(?:the )?(?:msrv|version) )(?:(?:the|dependency|module|all|github"
    r"|non-major|actions?|crate|tag) )*(?:dependenc(?:y|ies)|deps|lock ?files?|requirements|\S+ (?:from \S+ )?"
    r"to v?\^?\d|\S+ requirement from|\S+ (?:docker tag|action|digest)|\S+ group|to (?:the )?latest \S+$)"
    r"|^pre-commit autoupdate",
    re.I,
)
MOST_COMMITS = 60


def change_of(message: Change, entries: Sequence[Entry]) -> Change:
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
    fragments = list(filter(None, map(fragment, paths)))
    if fragments and not any(breaks for _, breaks, _ in fragments):
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
    # The same change on two branches, or in two steps.
    result: dict[tuple[str, str | None, str | None], Change] = {}
    for change in changes:
        key = (change.text.casefold(), change.scope, change.pull_request)
        first = result.setdefault(key, change)
        if first is not change:
            breaking = first.breaking or change.breaking
            result[key] = replace(first, commits=(*first.commits, *change.commits), breaking=breaking)
    return list(result.values())
