"""Near-duplicates: statements that say the same in nearly the same words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from stores.language.spelling import in_one_spelling
from tools.reflecting.reflection.finding import word_set
from tools.reflecting.reflection.layout import sentences
from tools.reflecting.reflection.stating import Stated, differ, stated
from tools.reflecting.reflection.words import Context

_WORD = re.compile(r"[^\W\d_]+(?:[.'-][^\W\d_]+)*|\d[\d.,:]*|[_@#+][\w.]+")
_SPLIT_NUMBER = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
STOP_WORDS = word_set(
    """
    a about above actually after again all already also am an and any are as at be because been before being
    below both but by can could did do does doing down during each even few finally for from further had has
    have having he her here him his how i if in into is it its itself just later like me more most my myself now of
    off ok on once only or other our out over own really same she should so some still such than that the their
    them then there therefore these they this those through to todo too under until up us very was we well were
    what when where which while who why will with would yes you your i'll i'm it's let's that's we'll we're
    we've decision decided action task idea plan note
    """
)
NEGATIONS = word_set(
    """
    no not never none nothing nobody neither nor without cannot can't don't doesn't didn't isn't aren't wasn't
    weren't won't wouldn't shouldn't couldn't hasn't haven't hadn't longer stop stopped
    """
)
TURNS = (
    ("on", "off"), ("up", "down"), ("before", "after"), ("until", "after"), ("above", "below"), ("over", "under"),
    ("first", "last"), ("in", "out"), ("more", "less"),
)  # fmt: skip
_TURNING = frozenset(word for pair in TURNS for word in pair) | {"only", "once"}
_PREPOSITIONS = frozenset({"in", "on", "over", "up", "under", "out"})
_ENDINGS = ("ations", "ation", "ments", "ment", "ings", "ing", "ied", "ies", "ed", "es", "s")
_NO_ENDINGS = ("ss", "us", "is")
_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Terms:
    """Bag of stems; `turns` are stop words that change the meaning."""

    stems: frozenset[str]
    numbers: frozenset[str]
    negated: bool
    turns: frozenset[str] = frozenset()


def terms(text: str) -> Terms:
    """Read a sentence; an even number of negations is none."""
    words = _WORD.findall(_SPLIT_NUMBER.sub(" ", text.lower().replace("’", "'")))
    numbers = frozenset(word.rstrip(".,:").replace(",", "") for word in words if word[0].isdigit())
    negations = {word for word in words if word in NEGATIONS}
    negations -= {"longer"} if "no" in negations else set()
    stems = frozenset(
        stem(word) for word in words if not word[0].isdigit() and word not in STOP_WORDS and word not in NEGATIONS
    )
    return Terms(stems, numbers, len(negations) % 2 == 1, _TURNING.intersection(words))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    word = in_one_spelling(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith(_NO_ENDINGS):
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM else word


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return Dice's coefficient; 0 for two empty sets."""
    size = len(one) + len(other)
    return 2 * len(one & other) / size if size else 0.0


SAME = 0.75
"""Dice's coefficient of stems."""
CERTAIN = 0.95
"""Such a duplicate is not kept; below, a name or a verb may differ."""
UNSURE = 0.94
"""Upper bound for statements of different kinds."""
_CLAUSE = re.compile(r",? (?:which|because|since|so that|although|whereas|instead of|rather than)\b|; ")
_KNOWN_LIMIT = 20_000


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
    return min(shared, UNSURE) if (one.turns ^ other.turns) - _PREPOSITIONS else shared


def _opposed(one: Terms, other: Terms) -> bool:
    ours, theirs = one.turns - other.turns, other.turns - one.turns
    return any((a in ours and b in theirs) or (b in ours and a in theirs) for a, b in TURNS)


def groups(texts: Sequence[tuple[str, str]]) -> list[int]:
    """Return the index of each text's first duplicate, or its own.

    Duplicates have the same letters, or the same kind, stems, numbers, polarity and turns.
    """
    first: dict[object, int] = {}
    leaders = []
    for number, (kind, text) in enumerate(texts):
        read = _terms(stated(text))
        leader = first.setdefault(" ".join(text.lower().split()).rstrip(".!"), number)
        if leader == number and read.stems:
            leader = first.setdefault((kind, read), number)
        leaders.append(leader)
    return leaders
