"""Merge commits and the commits that each brought in."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cli.release_notes.analysis.entries import Entry

_GITHUB = re.compile(r"^Merge pull request (?P<pull>#\d+) from \S+", re.I)
_BITBUCKET = re.compile(r"^Merged in \S+ \(pull request (?P<pull>#\d+)\)", re.I)
_GITLAB = re.compile(r"^Merge branch '.*' into '?[^']+'?$", re.I)
_GITLAB_NUMBER = re.compile(r"^See merge request \S*?(?P<pull>!\d+)\s*$", re.M)
_TITLED = re.compile(
    r"^(?:Merge|Merged PR|Auto merge of"
    r"|Rollup merge of) (?:[\w.-]+/[\w.-]+)?#?(?P<pull>\d+)\b[^:]*:\s*(?P<title>\S.*)$",
    re.I,
)
_PLAIN = re.compile(
    r"^(?:merge (?:branch(?:es)?|remote|tag|commit|upstream|origin|master|main|develop|from|in|into)\b|merged\b|merge$"
    r"|.* into .*$)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Merge:
    """Title and text of a merged pull request."""

    title: str
    body: str
    pull_request: str | None


def read_merge(subject: str, body: str) -> Merge | None:
    if match := _GITHUB.match(subject) or _BITBUCKET.match(subject):
        title, rest = _first_line(body)
        return Merge(title, rest, match["pull"]) if title else None
    if match := _TITLED.match(subject):
        return Merge(match["title"], body, f"#{match['pull']}")
    if _GITLAB.match(subject):
        number = _GITLAB_NUMBER.search(body)
        title, rest = _first_line(_GITLAB_NUMBER.sub("", body))
        return Merge(title, rest, number["pull"] if number else None) if title and number else None
    return None if _PLAIN.match(subject) else Merge(subject, body, None)


def _first_line(text: str) -> tuple[str, str]:
    lines = text.strip().split("\n", 1)
    return lines[0].strip(), lines[1].strip("\n") if len(lines) > 1 else ""


def brought_in(entries: Sequence[Entry], head: str) -> dict[str, tuple[str, ...]]:
    """Return the commits that came with each merge, newest first, each commit once.

    Follows first parents from the head.
    """
    parents = {entry.sha: entry.commit.parents for entry in entries}
    order = {entry.sha: number for number, entry in enumerate(entries)}
    owned: dict[str, list[str]] = {}
    seen: set[str] = set()
    todo: list[tuple[str, tuple[str, ...]]] = [(head, ())]
    while todo:
        start, owners = todo.pop()
        line = _line(start, parents, seen)
        for sha in line:
            for owner in owners:
                owned.setdefault(owner, []).append(sha)
        # Newest last on the stack: the oldest merge is looked at first, and takes what several of them reach.
        todo += [(side, (*owners[-8:], sha)) for sha in line for side in parents[sha][1:]]
    return {merge: tuple(sorted(shas, key=order.__getitem__)) for merge, shas in owned.items()}


def _line(start: str, parents: Mapping[str, tuple[str, ...]], seen: set[str]) -> list[str]:
    line = []
    sha = start
    while sha in parents and sha not in seen:
        seen.add(sha)
        line.append(sha)
        if not parents[sha]:
            break
        sha = parents[sha][0]
    return line
