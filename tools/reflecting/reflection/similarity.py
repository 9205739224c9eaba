"""Near-duplicates: statements that say the same in nearly the same words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tools.reflecting.reflection.sentences import sentences
from tools.reflecting.reflection.stating import Stated, differ, stated
from tools.reflecting.reflection.terms import TURNS, Terms, overlap, terms
from tools.reflecting.reflection.words import Context

SAME = 0.75
"""Dice's coefficient of stems."""
CERTAIN = 0.95
"""Such a duplicate is not kept; below, a name or a verb may differ."""
UNSURE = 0.94
"""Upper bound for statements of different kinds."""
_CONTAINED = 0.9
_LONG_ENOUGH = 4
_CLAUSE = re.compile(r",? (?:which|because|since|so that|although|whereas|instead of|rather than)\b|; ")
_KNOWN_LIMIT = 20_000
_PREFIX = 8
_COMPARED = 16
"""Earlier texts compared per rare stem: keeps `groups` linear."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    index: int
    similarity: float


def duplicates_of(
    text: str, known: Sequence[str], *, kind: Context | None = None, kinds: Sequence[Context | None] = ()
) -> list[Duplicate]:
    """Return the known texts that hold what `text` says, nearest first.

    Reads 20,000 characters. A number, polarity or kind (by label, else `kind` and `kinds`) that differs is no certain
    duplicate.
    """
    wanted = stated(text, kind)
    read = _terms(wanted)
    found = []
    for index, (candidate, its_kind) in enumerate(zip(known, kinds or [None] * len(known), strict=True)):
        best = max((_alike(wanted, read, part) for part in _parts(candidate, its_kind)), default=0.0)
        if best >= SAME:
            found.append(Duplicate(index, round(best, 3)))
    return sorted(found, key=lambda duplicate: (-duplicate.similarity, duplicate.index))


def _alike(wanted: Stated, read: Terms, part: Stated) -> float:
    shared = similarity(read, _terms(part))
    return min(shared, UNSURE) if differ(wanted.context, part.context) else shared


def _terms(statement: Stated) -> Terms:
    read = terms(statement.text)
    return replace(read, negated=not read.negated) if statement.is_rejected else read


def _parts(text: str, kind: Context | None) -> Iterable[Stated]:
    text = text[:_KNOWN_LIMIT]
    yield stated(text, kind)
    for start, end in sentences(text):
        for line in text[start:end].splitlines():
            statement = stated(line, kind)
            yield statement
            head = _CLAUSE.split(statement.text, 1)[0]
            if len(head) < len(statement.text):
                yield statement._replace(text=head)


def similarity(one: Terms, other: Terms) -> float:
    if one.negated != other.negated or one.numbers != other.numbers or not one.stems or _opposed(one, other):
        return 0.0
    shared = overlap(one.stems, other.stems)
    smaller, larger = sorted((len(one.stems), len(other.stems)))
    if smaller >= _LONG_ENOUGH and larger <= 2 * smaller:
        contained = len(one.stems & other.stems) / smaller
        shared = max(shared, contained * 0.9 if contained >= _CONTAINED else 0.0)
    return shared if one.turns_as(other) else min(shared, UNSURE)


def _opposed(one: Terms, other: Terms) -> bool:
    ours, theirs = one.turns - other.turns, other.turns - one.turns
    return any((a in ours and b in theirs) or (b in ours and a in theirs) for a, b in TURNS)


def groups(texts: Sequence[tuple[str, str]]) -> list[int]:
    """Return the index of each text's first duplicate, or its own. Linear."""
    read = [_terms(stated(text)) for _, text in texts]
    earlier = _Earlier(read, Counter(stem for one in read for stem in one.stems))
    exact: dict[str, int] = {}
    leaders = []
    for number, (kind, text) in enumerate(texts):
        leader = exact.setdefault(" ".join(text.lower().split()).rstrip(".!"), number)
        if leader == number:
            leader = earlier.like(number, kind)
        if leader == number:
            earlier.add(number, kind)
        leaders.append(leader)
    return leaders


@dataclass(frozen=True, slots=True)
class _Earlier:
    read: Sequence[Terms]
    frequency: Counter[str]
    by_stem: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def rare(self, number: int) -> list[str]:
        stems = sorted(self.read[number].stems, key=lambda stem: (self.frequency[stem], stem))
        return stems[: min(_PREFIX, len(stems) - int(SAME * len(stems)) + 1)]

    def add(self, number: int, kind: str) -> None:
        for stem in self.rare(number):
            row = self.by_stem.setdefault((kind, stem), [])
            if len(row) < _COMPARED:
                row.append(number)

    def like(self, number: int, kind: str) -> int:
        found = {other for stem in self.rare(number) for other in self.by_stem.get((kind, stem), ())}
        same = (other for other in sorted(found) if similarity(self.read[number], self.read[other]) >= CERTAIN)
        return next(same, number)
