"""Cancel commits that were reverted within the range."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cli.release_notes.analysis.entries import Entry

_SHAS = re.compile(r"\b[0-9a-f]{7,40}\b")
_REVERTS = re.compile(r"\b(?:this )?reverts? (?:commits?|the following commits?:?)\s+(?P<rest>[^.]*)", re.I)
_QUOTED = re.compile(
    r"^(?:(?:chore: |fix: )?revert(?:s|ed|ing)?|back out|reapply|reland"
    r"|re-land)\W*[\"“'](?P<subject>.+)[\"”'](?P<tail>[^\"”']*)$",
    re.I,
)
_PLAIN = re.compile(r"^revert(?:\([^)]*\))?!?:\s*(?P<subject>\S.*)$", re.I)
_NUMBER = re.compile(r"\breverts?:?\s+(?:[\w.-]+/[\w.-]+)?(?P<pull>[#!]\d{1,7})\b", re.I)
_PARTLY = re.compile(r"\bpartial(?:ly)?\b|\bparts? of\b|\bin part\b", re.I)
_PULL = re.compile(r"\s*\([#!]\d+\)$")


@dataclass(slots=True)
class Reverts:
    """Commits that cancel each other out.

    Attributes:
        cancelled: Reverted commits and their reverts.
        pairs: Each commit that stays reverted, with its reverts.
        outside: Reverts of earlier releases; they are changes themselves.
    """

    cancelled: set[str] = field(default_factory=set)
    pairs: dict[str, list[str]] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)


def find_reverts(entries: Sequence[Entry], merged: Mapping[str, Sequence[str]]) -> Reverts:
    """Follow the reverts of a range from the oldest on; entries are newest first.

    Reverting a merge reverts the commits in `merged`.
    """
    index = _Index(entries)
    found = Reverts()
    undone_by: dict[str, list[str]] = {}
    for entry in reversed(entries):
        if not _is_revert(entry):
            index.add(entry)
            continue
        targets = [sha for target in index.targets(entry) for sha in (target, *merged.get(target, ()))]
        if targets:
            undone_by[entry.sha] = targets
            _undo(entry.sha, targets, undone_by, found)
        elif not _PARTLY.search(entry.commit.subject):
            found.outside.add(entry.sha)
        index.add(entry)
    return found


def _undo(sha: str, targets: list[str], undone_by: Mapping[str, list[str]], found: Reverts) -> None:
    found.cancelled.add(sha)
    for target in targets:
        if target not in undone_by:
            found.cancelled.add(target)
            found.pairs.setdefault(target, []).append(sha)
            continue
        for restored in undone_by[target]:
            _redo(restored, undone_by, found)


def _redo(sha: str, undone_by: Mapping[str, list[str]], found: Reverts) -> None:
    if sha not in undone_by:
        found.cancelled.discard(sha)
        found.pairs.pop(sha, None)
        return
    for target in undone_by[sha]:
        if target not in undone_by:
            found.cancelled.add(target)
            found.pairs.setdefault(target, []).append(sha)


def _is_revert(entry: Entry) -> bool:
    subject, body = entry.commit.subject, entry.commit.body
    if _PARTLY.search(subject) or _PARTLY.search(body[:200]):
        return False
    if _QUOTED.match(subject) or _PLAIN.match(subject):
        return True
    return bool(re.match(r"\s*this reverts commits? [0-9a-f]{7,40}", body, re.I))


class _Index:
    def __init__(self, entries: Sequence[Entry]) -> None:
        self._shas = sorted(entry.sha for entry in entries)
        self._by_subject: dict[str, list[str]] = {}
        self._by_pull: dict[str, str] = {}
        self._seen: set[str] = set()

    def add(self, entry: Entry) -> None:
        self._seen.add(entry.sha)
        for subject in (entry.commit.subject, _PULL.sub("", entry.commit.subject)):
            self._by_subject.setdefault(subject.lower(), []).append(entry.sha)
        if entry.message.pull_request and not _is_revert(entry):
            self._by_pull[entry.message.pull_request] = entry.sha

    def targets(self, entry: Entry) -> list[str]:
        body = entry.commit.body
        named = [sha for text in _REVERTS.finditer(body) for sha in _SHAS.findall(text["rest"].split("reversing")[0])]
        by_sha = [full for sha in named if (full := self._full(sha)) in self._seen and full is not None]
        if by_sha or named:
            return list(dict.fromkeys(by_sha)) or self._by_text(entry)
        return self._by_text(entry)

    def _by_text(self, entry: Entry) -> list[str]:
        subject = entry.commit.subject
        match = _QUOTED.match(subject) or _PLAIN.match(_PULL.sub("", subject))
        if match:
            quoted = match["subject"].lower()
            for candidate in (quoted, _PULL.sub("", quoted)):
                if self._by_subject.get(candidate):
                    return [self._by_subject[candidate][-1]]
        number = _NUMBER.search(f"{subject}\n{entry.commit.body[:2_000]}")
        return [self._by_pull[number["pull"]]] if number and number["pull"] in self._by_pull else []

    def _full(self, short: str) -> str | None:
        place = bisect_left(self._shas, short)
        return self._shas[place] if place < len(self._shas) and self._shas[place].startswith(short) else None
