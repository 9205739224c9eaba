"""Deterministic English text of the length of memories, from sentences of the Python manual."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pydoc_data.topics import topics

SEED = 7
_SHORTEST, _LONGEST = 60, 100
_NAME_LIMIT = 120
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_WORDS_OF_A_SENTENCE = range(6, 41)
_OPENINGS = ("", "how does it work that ", "why is it that ", "what happens when ", "where does it say that ")


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    content: str

    @property
    def searchable(self) -> str:
        return f"{self.name}\n{self.content}"


def records(count: int, *, seed: int = SEED) -> list[Record]:
    """Make distinct records of 60 to 100 words, each about two subjects."""
    draw = random.Random(seed)  # noqa: S311 - the same texts on every run
    pool = _sentences()
    return [_record(draw, pool, number) for number in range(count)]


def questions(source: list[Record], count: int, *, seed: int = SEED) -> list[str]:
    """Make distinct questions of five to nine consecutive words of a record."""
    draw = random.Random(seed + 1)  # noqa: S311 - the same questions on every run
    found: dict[str, None] = {}
    while len(found) < count:
        words = draw.choice(source).content.split()
        length = draw.randint(5, 9)
        first = draw.randrange(max(1, len(words) - length))
        found[draw.choice(_OPENINGS) + " ".join(words[first : first + length])] = None
    return list(found)


def _record(draw: random.Random, pool: list[list[str]], number: int) -> Record:
    first, second = draw.choice(pool), draw.choice(pool)
    wanted = draw.randint(_SHORTEST, _LONGEST)
    chosen: list[str] = []
    for subject in (first, second, first, *draw.sample(pool, 8)):
        chosen.append(draw.choice(subject))
        words = " ".join(chosen).split()
        if len(words) >= wanted:
            break
    name = f"{' '.join(words[:7]).strip('.,:;')} ({number})"
    return Record(name[:_NAME_LIMIT], " ".join(words[:_LONGEST]))


@cache
def _sentences() -> list[list[str]]:
    found = ([*_of_topic(text)] for _, text in sorted(topics.items()))
    return [sentences for sentences in found if len(sentences) > 2]


def _of_topic(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
            if len(sentence.split()) in _WORDS_OF_A_SENTENCE:
                yield sentence
