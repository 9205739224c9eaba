"""Labelled collections, whatever form their files have."""

import csv
import gzip
import hashlib
import json
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from evals.results import SEPARATION, beside

UNREADABLE = (
    OSError, EOFError, zlib.error, csv.Error, LookupError, ValueError, TypeError, AttributeError, RecursionError,
)  # fmt: skip
"""Raised by reading a file that is torn, damaged or of another form."""
Door = Literal["recall", "search"]
"""`recall` captures raw memories and recalls them; `search` creates entities in bulk and searches."""
DISTRACTORS_EACH = 20
"""Texts without a judgement that a sample of documents keeps per question."""


@dataclass(frozen=True, slots=True)
class Text:
    """One thing that can be found; stored as a raw memory or an entity."""

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


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its answers."""

    id: str
    haystack: str
    text: str
    grades: Mapping[str, int]
    """Relevance by id of text; others are irrelevant."""
    cluster: str = ""
    """Questions of one cluster are not independent; empty if it stands alone."""
    category: str = ""
    apart: bool = False
    """Left out of the headline figures."""


@dataclass(frozen=True, slots=True)
class Aim:
    """The measure that a collection is judged by, with floor and goal."""

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
    """Type of the entities behind the door `search`."""
    is_sample: bool = False
    """Has no floor and no goal."""
    files: tuple[str, ...] = ()
    """The files that were read."""
    remarks: tuple[str, ...] = ()
    """Clauses about parts of the files that were left out."""
    unanswered: tuple[Question, ...] = ()
    """Questions without an answer, measured by themselves."""

    def sample(self, limit: int, seed: int = 0) -> "Collection":
        """Draw questions by the seed, and keep the texts that they need.

        Of memories, few haystacks are kept whole; of documents, judged ones and distractors. Figures on fewer
        distractors are higher.
        """
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

    @property
    def halves(self) -> "list[Collection]":
        """The questions with an answer, then those without one, over the same texts."""
        aim = Aim(SEPARATION)
        other = replace(self, name=beside(self.name), questions=self.unanswered, unanswered=(), aim=aim)
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
        """Hash everything that is loaded, asked and judged."""
        sha = hashlib.sha256()
        for each in (self.name, self.unit, self.door, self.entity_type, *self.texts):
            sha.update(repr(each).encode("utf-8", "surrogatepass"))
        for question in self.questions:
            plain = replace(question, grades=dict(sorted(question.grades.items())))
            sha.update(repr(plain).encode("utf-8", "surrogatepass"))
        return sha.hexdigest()


def first_of(folder: Path, names: Sequence[str]) -> Path:
    """Return the first of these files that a folder has.

    Raises:
        FileNotFoundError: It has none.
    """
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{folder} holds none of the files {', '.join(names)}")


def json_lines(path: Path) -> Iterator[Any]:
    """Read JSON Lines, compressed or not. Lines end at a newline only: texts may hold U+2028."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for line in file:
            yield json.loads(line)
