"""What a labelled collection is, whatever form its files have."""

import gzip
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

DISTRACTORS_EACH = 20
"""Texts without a judgement that a sample keeps per question."""


@dataclass(frozen=True, slots=True)
class Text:
    """One thing that can be found: it becomes one entity."""

    id: str
    haystack: str
    """Texts of different haystacks are never searched together: each is an organization of its own."""
    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question and what answers it."""

    id: str
    haystack: str
    text: str
    grades: Mapping[str, int]
    """Ids of texts to how relevant they are; what is absent is irrelevant."""
    among: frozenset[str] | None = None
    """Only these texts compete; None for all of the haystack."""
    group: str = ""
    """Questions of one group are not independent of each other; empty when it stands alone."""
    kind: str = ""
    """A part of the collection that is reported separately, too."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Texts, questions and judgements."""

    name: str
    unit: str
    """What a text is: a turn, a session, an abstract, a function."""
    texts: tuple[Text, ...]
    questions: tuple[Question, ...]

    def sample(self, limit: int, seed: int = 0) -> "Collection":
        """Keep some questions, every text that is judged for them, and distractors drawn by the seed."""
        if limit >= len(self.questions):
            return self
        draw = random.Random(seed)  # noqa: S311 - a sample that anyone can repeat
        questions = tuple(draw.sample(self.questions, limit))
        judged = {(question.haystack, text_id) for question in questions for text_id in question.grades}
        haystacks = {question.haystack for question in questions}
        others = [t for t in self.texts if t.haystack in haystacks and (t.haystack, t.id) not in judged]
        kept = judged | {(t.haystack, t.id) for t in draw.sample(others, min(len(others), DISTRACTORS_EACH * limit))}
        return replace(self, questions=questions, texts=tuple(t for t in self.texts if (t.haystack, t.id) in kept))


def json_lines(path: Path) -> Iterator[Any]:
    """Read JSON Lines, compressed or not. Lines end at a newline only: texts may hold U+2028."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for line in file:
            yield json.loads(line)
