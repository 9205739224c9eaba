"""Match the project's own words with the commits that they are about."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial

from cli.release_notes.analysis.breaking import drops_version, removes_deprecated, says_so
from cli.release_notes.analysis.changes import Entry, change_of
from cli.release_notes.analysis.message import read_message
from cli.release_notes.analysis.own import SENTENCE_END, Own, fragment
from cli.release_notes.analysis.wording import kind_of, role
from cli.release_notes.facts import Change, ChangeKind
from cli.release_notes.repository import Repository
from cli.release_notes.words import letters

HEAD_OF_CHANGELOG, ALIKE = 60_000, 40
LITTLE, MOST, ALMOST_ALL = 0.25, 0.6, 0.9
"""Least shares of common words: with the commit that wrote the entry, with others, with others despite a number."""


class Writers:
    def __init__(self, repository: Repository, entries: Sequence[Entry]) -> None:
        self._text = cache(lambda sha, path: letters(repository.content(sha, path)[:HEAD_OF_CHANGELOG]))
        self._by_path: dict[str, list[Entry]] = {}
        for entry in reversed(entries):
            for path in entry.commit.paths:
                if role(path) == "changelog":
                    self._by_path.setdefault(path, []).append(entry)

    def of(self, own: Own) -> list[Entry]:
        """Return the oldest commit of the range that has these words, else the newest that touched the file."""
        writers = self._by_path.get(own.path, [])
        whole = letters(own.text)
        probes = (whole[:ALIKE], whole[-ALIKE:])
        found = [entry for entry in writers if any(probe in self._text(entry.sha, own.path) for probe in probes)]
        return found[:1] or writers[-1:]

    def told_apart(self, own: Iterable[Own], purpose: str) -> tuple[Change, ...]:
        """Return the entries of a section other than changes: migration steps or known issues."""
        wrote = ((each, self.of(each)) for each in own if each.purpose == purpose)
        return tuple(_in_own_words(each, [], entries) for each, entries in wrote if entries)


class Index:
    def __init__(self, changes: Sequence[Change], writers: Writers) -> None:
        self._writers = writers
        self._changes = changes
        self._by_key: dict[str, list[int]] = {}
        self._words = [(_words(change.text), _words(change.breaking_note or "")) for change in changes]
        for at, change in enumerate(changes):
            fragments = (named[2] for path in change.paths if (named := fragment(path)))
            mentioned = re.findall(r"#\d+", change.text)
            numbers = filter(None, {change.pull_request, *change.issues, *fragments, *mentioned})
            keys = (*numbers, *(sha[:7] for sha in change.commits), f"={letters(change.text)}")
            for key in keys:
                self._by_key.setdefault(key, []).append(at)

    def about(self, own: Own) -> tuple[list[int], list[Entry]]:
        """Match changes by commit, text, number, author or words; without a match, return the commits of the entry."""
        words = _words(own.text)
        keys = [*(sha[:7] for sha in own.shas), f"={letters(own.text)}"]
        found = [at for key in keys for at in self._by_key.get(key, ())]
        if not found:
            numbered = [at for number in own.numbers for at in self._by_key.get(number, ())]
            sharing = [at for at in numbered if self._words[at][0] & (words | _words(own.more[:300]))]
            found = sharing or numbered
        wrote = self._writers.of(own) if not found else []
        if wrote:
            # The commit that wrote the entry may be a release or a clean-up, and describe the work of others.
            by_writer = self._by_key.get(wrote[0].sha[:7], ())
            near = [at for at in by_writer if fragment(own.path) or self._share(words, at) > LITTLE]
            best = max(range(len(self._words)), key=partial(self._share, words), default=None)
            least = ALMOST_ALL if own.numbers else MOST
            found = near[:1] or ([best] if best is not None and self._share(words, best) >= least else [])
        return list(dict.fromkeys(found)), wrote

    def _share(self, words: set[str], at: int) -> float:
        # Words in common with a change that is more than tidying.
        shares = (len(words & text) / max(3, min(len(words), len(text))) for text in self._words[at])
        return 0.0 if self._changes[at].noise else max(shares)


def _words(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[a-z_][a-z_0-9]{3,}", text.casefold())}


def told(changes: Sequence[Change], own: Iterable[Own], writers: Writers) -> list[Change]:
    """Return the matched changes in the words and order of the project's notes, then the unmatched ones."""
    index = Index(changes, writers)
    result: dict[int, Change] = {}
    used: dict[int, str] = {}
    # A breaking change says more than the same change in a list of features.
    for place, each in sorted(enumerate(own), key=lambda pair: not pair[1].breaking):
        about, wrote = index.about(each) if each.purpose == "change" else ([], [])
        if (about or wrote) and not (about and all(used.get(at, each.place) != each.place for at in about)):
            used |= dict.fromkeys(about, each.place)
            result[place] = _in_own_words(each, [changes[at] for at in about], wrote)
    return [*(result[place] for place in sorted(result)), *(each for at, each in enumerate(changes) if at not in used)]


def _in_own_words(own: Own, about: Sequence[Change], wrote: Sequence[Entry]) -> Change:
    message = replace(read_message(own.text, ""), pull_request=None, issues=())
    made = about[0] if about else change_of(message, wrote)
    note = made.breaking_note
    declared = own.breaking or any(each.declared for each in about)
    telling = "" if declared else _telling(own)
    text, more = own.text, own.more
    if telling and telling in more:
        # What breaks is told first.
        text, more = telling.rstrip("."), f"{text}. {more.replace(telling, '', 1).strip()}".strip()
    return replace(
        made,
        own=True,
        text=text,
        details=more,
        scope=own.scope,
        kind=_kind(own, about),
        declared=declared,
        breaking=declared or bool(telling),
        breaking_note=note if note and not more and text[:40].casefold() not in note.casefold() else more,
        commits=tuple(dict.fromkeys(sha for each in about for sha in each.commits)) or made.commits,
        paths=tuple(dict.fromkeys(path for each in about for path in each.paths)) or made.paths,
        issues=tuple(dict.fromkeys(each for each in (*made.issues, *own.numbers) if each != made.pull_request)),
    )


def _telling(own: Own) -> str:
    # The sentence that tells what breaks; empty if none does.
    if own.kind == "documentation":
        return ""
    if removes_deprecated(own.text) or drops_version(own.text):
        other = ("fix", "internal") if removes_deprecated(own.text) else ("deprecation",)
        return "" if own.kind in other else own.text
    sentences = [own.text, *SENTENCE_END.split(own.more)[:3]]
    return next(filter(says_so, sentences), "") if own.kind in (None, "improvement", "removal") else ""


def _kind(own: Own, about: Sequence[Change]) -> ChangeKind:
    named = own.kind or kind_of(own.text)
    if own.kind or named not in ("other", "internal"):
        return named
    return next((change.kind for change in about if change.conventional), "improvement")
