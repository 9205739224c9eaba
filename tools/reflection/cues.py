"""Looks for the cues of the table (`intentions`, `knowledge`) in a sentence. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tools.reflection import intentions, knowledge
from tools.reflection.finding import Kind
from tools.reflection.phrases import compile_phrase


@dataclass(frozen=True, slots=True)
class Cue:
    """One phrase, ready to be looked for in a masked sentence."""

    kind: Kind
    strength: float
    says: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Hit:
    """A cue that was found, and where."""

    cue: Cue
    start: int
    end: int


@lru_cache(maxsize=1)
def _by_word() -> dict[str, list[Cue]]:
    """Cues by the words that wake them, so that a sentence is searched for few of them."""
    found: dict[str, list[Cue]] = {}
    for row in (*intentions.ROWS, *knowledge.ROWS):
        for phrase in filter(None, map(str.strip, row.phrases.splitlines())):
            pattern, wakes = compile_phrase(phrase)
            cue = Cue(row.kind, row.strength, row.says, pattern)
            for word in wakes:
                found.setdefault(word, []).append(cue)
    return found


def hits(masked: str, words: list[str]) -> Iterator[Hit]:
    """Yield every cue that a masked sentence holds, in the order of the words that wake them."""
    by_word = _by_word()
    for word in dict.fromkeys(words):
        for cue in by_word.get(word, ()):
            match = cue.pattern.search(masked)
            if match:
                yield Hit(cue, match.start(), match.end())
