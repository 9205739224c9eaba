"""Our own format of a labelled set: one checked JSON Lines file (docs/guide/evaluation.md)."""

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from evals.datasets.collection import Aim, Collection, Question, Text, readable
from evals.metrics import Measure
from stores.clock import utc_now
from stores.errors import EngrainError
from stores.language.moments import LONGEST_READ, span_of
from tools.records.entity_types import EntityType

Id = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Share = Annotated[float, Field(ge=0, le=1)]
Grade = Annotated[int, Field(ge=1, le=1_000)]
_DAY_OR_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:\Z|[Tt ])", re.ASCII)
SHOWN = 20


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SetLine(_Line):
    kind: Literal["set"]
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,49}$")]
    unit: Literal["turn", "session", "document"]
    door: Literal["recall", "search"]
    entity_type: EntityType = "note"
    measure: Measure = "recall@10"
    floor: Share | None = None
    goal: Share | None = None


class TextLine(_Line):
    kind: Literal["text"]
    id: Id
    content: Annotated[str, StringConstraints(min_length=1)]
    name: str = ""
    haystack: str = ""
    thread_id: Id | None = None
    ordinal: int | float | None = None
    captured_at: str | None = None
    speaker: Id | None = None

    @field_validator("captured_at")
    @classmethod
    def _is_a_moment(cls, text: str | None) -> str | None:
        if text is None:
            return None
        if len(text) <= LONGEST_READ and _DAY_OR_TIME.match(text) and span_of(text, now=utc_now()) is not None:
            return text
        raise PydanticCustomError("no_moment", "it is no day and no time: write 2026-05-04 or 2026-05-04T09:00:00Z")


class QuestionLine(_Line):
    """A question with ids of answers, or ids with grades above 0."""

    kind: Literal["question"]
    id: Id
    text: Annotated[str, StringConstraints(min_length=1, max_length=100_000, pattern=r"\S")]
    answers: list[Id] | dict[Id, Grade]
    haystack: str = ""
    category: str = ""
    cluster: str = ""
    apart: bool = False


Line = SetLine | TextLine | QuestionLine
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="kind")])


def read_own(path: Path) -> Collection:
    """Read a file, or raise EngrainError that names its problems with line and field, one a line."""
    lines, problems = list[tuple[int, Line]](), list[tuple[int, str, str]]()
    with readable(path, "a labelled set"), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                lines.append((number, _LINE.validate_json(raw)))
            except ValidationError as error:
                found = error.errors(include_url=False)
                problems += [(number, str([*each["loc"], "kind", "kind"][1]), each["msg"]) for each in found]
    problems += [] if problems else _problems(lines)
    if problems:
        said = [f"{path}, line {line}, field {name}: {message}" for line, name, message in problems[:SHOWN]]
        more = [f"{path}: {len(problems) - SHOWN} more problems."] if len(problems) > SHOWN else []
        raise EngrainError("\n".join([*said, *more]))
    head = next(line for _, line in lines if isinstance(line, SetLine))
    questions = [_as_question(line) for _, line in lines if isinstance(line, QuestionLine)]
    texts = tuple(Text(**line.model_dump(exclude={"kind"})) for _, line in lines if isinstance(line, TextLine))
    answered = tuple(question for question in questions if question.grades)
    return Collection(
        head.name, head.unit, head.door, texts, answered, Aim(head.measure, head.floor, head.goal), head.entity_type,
        unanswered=tuple(question for question in questions if not question.grades),
    )  # fmt: skip


def _problems(lines: Sequence[tuple[int, Line]]) -> Iterator[tuple[int, str, str]]:
    texts, seen, is_answered = defaultdict[str, set[str]](set), set[tuple[str, ...]](), False
    for _, line in lines:
        if isinstance(line, TextLine):
            texts[line.haystack].add(line.id)
    for number, line in lines:
        if isinstance(line, SetLine) is not (number == 1):
            yield number, "kind", "the first line is of kind set, and no other"
        if isinstance(line, SetLine):
            if line.goal is not None and (line.floor is None or line.floor > line.goal):
                yield number, "goal", "a goal needs a floor that is not above it"
            continue
        key = (line.kind, line.id, line.haystack if isinstance(line, TextLine) else "")
        if key in seen:
            yield number, "id", f"there is a {line.kind} {line.id!r} already"
        seen.add(key)
        if isinstance(line, QuestionLine):
            yield from ((number, *wrong) for wrong in _wrong_answers(line, texts[line.haystack]))
            is_answered = is_answered or bool(line.answers and not line.apart)
    if not is_answered:
        yield len(lines), "answers", "it needs at least one question with an answer that is not apart"


def _wrong_answers(line: QuestionLine, there: set[str]) -> Iterator[tuple[str, str]]:
    if not there:
        yield "haystack", f"there is no text in the haystack {line.haystack!r}"
    for text_id in sorted({*line.answers} - there):
        yield "answers", f"there is no text {text_id!r} in its haystack"


def _as_question(line: QuestionLine) -> Question:
    grades = line.answers if isinstance(line.answers, dict) else dict.fromkeys(line.answers, 1)
    return Question(line.id, line.haystack, line.text, grades, line.cluster, line.category, line.apart)
