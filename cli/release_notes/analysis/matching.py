"""Match the project's own words with the commits that they are about."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cli.release_notes.analysis.breaking import drops_version, removes_deprecated, says_so
from cli.release_notes.analysis.drafts import Draft, draft
from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.message import read_message
from cli.release_notes.analysis.own import Own, fragment_number, fragment_type
from cli.release_notes.analysis.paths import role
from cli.release_notes.analysis.wording import kind_of
from cli.release_notes.facts import Change, ChangeKind
from cli.release_notes.repository import Repository

HEAD_OF_CHANGELOG, ALIKE = 60_000, 40
"""Characters that are searched, and letters at the beginning or end of an entry that must be there."""
LITTLE, MOST, ALMOST_ALL = 0.25, 0.6, 0.9
"""Shares of words in common: with the commit that wrote the entry, with others, with others of another number."""
_NEUTRAL = (None, "improvement", "removal")


class Writers:
    """Finds the commit that wrote an entry of a changelog."""

    def __init__(self, repository: Repository, entries: Sequence[Entry]) -> None:
        self._repository = repository
        self._by_path: dict[str, list[Entry]] = {}
        for entry in reversed(entries):
            for path in entry.paths:
                if role(path) == "changelog":
                    self._by_path.setdefault(path, []).append(entry)
        self._texts: dict[tuple[str, str], str] = {}

    def of(self, own: Own) -> Entry | None:
        """Return the oldest commit of the range that has these words, else the newest that touched the file."""
        writers = self._by_path.get(own.path, [])
        letters = _letters(own.text)
        probes = [letters[:ALIKE], letters[-ALIKE:]]
        found = (entry for entry in writers if any(probe in self._text(entry.sha, own.path) for probe in probes))
        return next(found, writers[-1] if writers else None)

    def _text(self, sha: str, path: str) -> str:
        if (sha, path) not in self._texts:
            self._texts[sha, path] = _letters(self._repository.content(sha, path)[:HEAD_OF_CHANGELOG])
        return self._texts[sha, path]

    def told_apart(self, own: Iterable[Own], purpose: str) -> tuple[Change, ...]:
        """Return the entries that are no changes: steps for whoever upgrades, or known issues."""
        wrote = [(each, self.of(each)) for each in own if each.purpose == purpose]
        return tuple(_in_own_words(each, [], [entry], 0).change() for each, entry in wrote if entry)


class Index:
    """Finds the drafts that an entry is about."""

    def __init__(self, drafts: Sequence[Draft], writers: Writers) -> None:
        self._writers = writers
        self._by_key: dict[str, list[Draft]] = {}
        self._texts = [(made, [_words(made.message.text), _words(made.message.breaking_note or "")]) for made in drafts]
        for made in drafts:
            numbers = {made.message.pull_request, *made.message.issues, *map(fragment_number, made.paths)} - {None}
            for key in (
                *map(str, numbers),
                *(entry.sha[:7] for entry in made.entries),
                f"={_letters(made.message.text)}",
            ):
                self._by_key.setdefault(key, []).append(made)

    def about(self, own: Own) -> tuple[list[Draft], list[Entry]]:
        """Return the drafts by commit, text, number, author or words; if there are none, who wrote the entry."""
        words = _words(own.text)
        keys = [*(sha[:7] for sha in own.shas), f"={_letters(own.text)}"]
        found = [made for key in keys for made in self._by_key.get(key, ())]
        if not found:
            numbered = [made for number in own.numbers for made in self._by_key.get(number, ())]
            shares = [len(_words(made.message.text) & (words | _words(own.more[:300]))) for made in numbered]
            found = [made for made, share in zip(numbered, shares, strict=True) if share or not any(shares)]
        wrote = self._writers.of(own) if not found else None
        if wrote:
            # Who makes a release, or tidies the changelog, writes entries about the work of others.
            near = [
                made for made in self._by_key.get(wrote.sha[:7], ()) if fragment_type(own.path) or _is_of(made, words)
            ]
            found = near[:1] or self._alike(words, ALMOST_ALL if own.numbers else MOST)
        return list({id(made): made for made in found}.values()), [wrote] if wrote else []

    def _alike(self, words: set[str], least: float) -> list[Draft]:
        shares = (
            (max(_share(words, text) for text in texts), made) for made, texts in self._texts if not made.message.noise
        )
        best = max(shares, key=lambda pair: pair[0], default=None)
        return [best[1]] if best and best[0] >= least else []


def _is_of(made: Draft, words: set[str]) -> bool:
    return not made.message.noise and _share(words, _words(made.message.text)) > LITTLE


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _words(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[a-z_][a-z_0-9]{3,}", text.casefold())}


def _share(some: set[str], others: set[str]) -> float:
    return len(some & others) / max(3, min(len(some), len(others)))


def told(drafts: Sequence[Draft], own: Iterable[Own], writers: Writers) -> list[Draft]:
    """Return the drafts in the project's own words, in their order, and then those that it says nothing of."""
    index = Index(drafts, writers)
    result: list[Draft] = []
    used: dict[int, str] = {}
    # A breaking change says more than the same change in a list of features.
    for place, each in sorted(enumerate(own), key=lambda pair: not pair[1].breaking):
        about, wrote = index.about(each) if each.purpose == "change" else ([], [])
        if about and all(used.get(id(made), each.place) != each.place for made in about):
            continue
        used.update((id(made), each.place) for made in about)
        result += [_in_own_words(each, about, wrote, place)] if about or wrote else []
    return [*result, *(made for made in drafts if id(made) not in used)]


def _in_own_words(own: Own, about: Sequence[Draft], wrote: Sequence[Entry], place: int) -> Draft:
    entries = list({entry.sha: entry for made in about for entry in made.entries}.values()) or wrote
    message = replace(read_message(own.text, ""), pull_request=None, issues=(), details="")
    made = draft(about[0].message if about else message, entries)
    declared = own.breaking or any(each.message.marked for each in about)
    kind, breaking = _kind(own, about), declared or _is_told(own, about)
    return replace(made, own=own, place=place, kind=kind, declared=declared, breaking=breaking)


def _is_told(own: Own, about: Sequence[Draft]) -> bool:
    if removes_deprecated(own.text):
        return own.kind not in ("fix", "internal", "documentation")
    if own.kind in ("deprecation", "documentation") or drops_version(own.text):
        return own.kind not in ("deprecation", "documentation")
    # Where headings sort the entries, the words of commits count no more.
    of_commits = [made.message.text for made in about[:1] if not own.classified]
    sentences = [own.text, *re.split(r"(?<=[.!])\s+", own.more)[:3], *of_commits]
    return own.kind in _NEUTRAL and any(map(says_so, sentences))


def _kind(own: Own, about: Sequence[Draft]) -> ChangeKind:
    named = own.kind or kind_of(own.text)
    if own.kind or named not in ("other", "internal"):
        return named
    return next((made.kind for made in about if made.message.conventional), "improvement")
