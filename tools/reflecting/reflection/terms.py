"""Bags of stems: a sentence without function words, with its numbers and polarity."""

import re
from dataclasses import dataclass
from functools import lru_cache

from stores.language.spelling import in_one_spelling
from tools.reflecting.reflection.wordlist import word_set

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
"""Opposites among the stop words."""
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

    def turns_as(self, other: "Terms") -> bool:
        return not (self.turns ^ other.turns) - _PREPOSITIONS

    def __len__(self) -> int:
        return len(self.stems) + len(self.numbers)


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
    """Cut the ending of an English word, roughly, in British or American spelling."""
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
