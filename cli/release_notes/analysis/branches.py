"""Merges, with what each brought in, and reverts within the range."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cli.release_notes.facts import Change, Commit

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
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")


class Entry(NamedTuple):
    """A commit with its parsed message."""

    commit: Commit
    message: Change

    @property
    def sha(self) -> str:
        return self.commit.sha


def read_merge(subject: str, body: str) -> tuple[str, str, str | None] | None:
    """Return title, text and number of a merged pull request or topic; None if nobody wrote anything."""
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
    title, *more = _SENTENCE_END.split(" ".join(prose[0].split()), maxsplit=1)
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
_NUMBER = re.compile(r"\breverts?:?\s+(?:[\w.-]+/[\w.-]+)?(?P<pull>[#!]\d{1,7})\b", re.I)
_PARTLY = re.compile(r"\bpartial(?:ly)?\b|\bparts? of\b|\bin part\b", re.I)
_PULL = re.compile(r"\s*\([#!]\d+\)$")


def find_reverts(entries: Sequence[Entry], merged: Mapping[str, Sequence[str]]) -> tuple[set[str], set[str]]:
    """Return the commits that cancel each other out, and the reverts of earlier releases.

    Reverts apply newest first: one that was reverted itself reverts nothing.
    """
    cancelled: set[str] = set()
    outside: set[str] = set()
    places: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        subject, pull = entry.commit.subject.casefold(), entry.message.pull_request
        numbers = {pull} if pull and not is_revert(entry) else set()
        for key in {entry.sha[:7], subject, _PULL.sub("", subject)} | numbers:
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
    number = _NUMBER.search(f"{entry.commit.subject}\n{entry.commit.body[:2_000]}")
    keys = (sha["sha"][:7] if sha else "", quoted, _PULL.sub("", quoted), number["pull"] if number else "")
    return list(filter(None, keys))


def is_revert(entry: Entry) -> bool:
    """Return whether the subject, or the first line of the body, reverts a commit as a whole."""
    subject, first = entry.commit.subject, entry.commit.body.lstrip("\n").partition("\n")[0]
    whole = not (_PARTLY.search(subject) or _PARTLY.search(first))
    return whole and bool(_SUBJECT.match(subject) or _SHA.match(first))


def reverted_subject(entry: Entry) -> str:
    match = _SUBJECT.match(_PULL.sub("", entry.commit.subject))
    return (match["quoted"] or match["plain"]) if match else entry.message.text
