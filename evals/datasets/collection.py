"""Labelled collections of any format."""

import csv
import gzip
import hashlib
import json
import random
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from evals.metrics import BELOW
from stores.errors import EngrainError

_UNREADABLE = (
    OSError, EOFError, zlib.error, csv.Error, LookupError, ValueError, TypeError, AttributeError, RecursionError,
)  # fmt: skip
Door = Literal["recall", "search"]
"""Raw memories and recall, or bulk entities and search."""
DISTRACTORS_EACH = 20
"""Unjudged texts per question in a sample of documents."""


@dataclass(frozen=True, slots=True)
class Text:
    id: str
    """Never sent to a server."""
    haystack: str
    """Texts of different haystacks are never searched together."""
    content: str
    name: str = ""
    thread_id: str | None = None
    ordinal: float | None = None
    captured_at: str | None = None
    """ISO 8601."""
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    haystack: str
    text: str
    grades: Mapping[str, int]
    """Relevance by text id; others are irrelevant."""
    cluster: str = ""
    """Questions of one cluster are dependent."""
    category: str = ""
    apart: bool = False
    """Left out of the headline figures."""


@dataclass(frozen=True, slots=True)
class Aim:
    """The decisive measure of a collection, with floor and goal."""

    measure: str
    floor: float | None = None
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """Texts in chronological order, questions and judgements."""

    name: str
    unit: str
    door: Door
    texts: tuple[Text, ...]
    questions: tuple[Question, ...]
    aim: Aim
    entity_type: str = "note"
    is_sample: bool = False
    remarks: tuple[str, ...] = ()
    unanswered: tuple[Question, ...] = ()
    """Questions without an answer."""

    def sample(self, limit: int, seed: int = 0) -> "Collection":
        """Draw questions with their haystacks of memories, or with few distractors, which raises figures."""
        if limit >= max(len(self.questions), len(self.unanswered)):
            return self
        draw = random.Random(seed)  # noqa: S311 - a sample that anyone can repeat
        questions = tuple(self._drawn(draw, limit)) if limit < len(self.questions) else self.questions
        haystacks = {question.haystack for question in questions}
        unanswerable = [question for question in self.unanswered if question.haystack in haystacks]
        texts = tuple(text for text in self.texts if text.haystack in haystacks)
        if self.door == "search":
            judged = {(question.haystack, text_id) for question in questions for text_id in question.grades}
            others = [(t.haystack, t.id) for t in texts if (t.haystack, t.id) not in judged]
            kept = judged | set(draw.sample(others, min(len(others), DISTRACTORS_EACH * limit)))
            texts = tuple(text for text in texts if (text.haystack, text.id) in kept)
        unanswered = tuple(draw.sample(unanswerable, min(len(unanswerable), limit)))
        return replace(self, questions=questions, texts=texts, is_sample=True, unanswered=unanswered)

    def without_speakers(self) -> "Collection":
        texts = tuple(replace(text, speaker=None) for text in self.texts)
        return replace(self, texts=texts, remarks=(*self.remarks, "without speakers"))

    @property
    def halves(self) -> "list[Collection]":
        """Split into questions with and without an answer."""
        name, aim = f"{self.name} unanswered", Aim(BELOW)
        other = replace(self, name=name, questions=self.unanswered, unanswered=(), aim=aim)
        return [self, *([other] if self.unanswered else [])]

    def _drawn(self, draw: random.Random, limit: int) -> list[Question]:
        by_haystack: dict[str, list[Question]] = {}
        for question in self.questions:
            by_haystack.setdefault(question.haystack, []).append(question)
        found: list[Question] = []
        for name in draw.sample(sorted(by_haystack), len(by_haystack)):
            there = by_haystack[name]
            found += draw.sample(there, min(len(there), limit - len(found)))
        return found

    def digest(self) -> str:
        return digest_of([*self.texts, *self.questions])


def digest_of(labels: Iterable[Any]) -> str:
    """Hash data classes in order."""
    said = json.dumps([asdict(each) for each in labels], default=sorted)
    return hashlib.sha256(said.encode()).hexdigest()


@contextmanager
def readable(path: Path, name: str) -> Iterator[None]:
    """Raise an `EngrainError` for the errors of torn, damaged or foreign files."""
    try:
        yield
    except _UNREADABLE as error:
        raise EngrainError(f"{path} cannot be read as {name}: {type(error).__name__} {error}.") from error


def json_lines(path: Path) -> Iterator[Any]:
    """Read JSON Lines, compressed or not. Only newlines end a line: texts may hold U+2028."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for line in file:
            yield json.loads(line)
