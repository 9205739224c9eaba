"""Our own format of a labelled set: one checked JSON Lines file (docs/guide/evaluation.md)."""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from evals.datasets.collection import Aim, Collection, Question, Text
from evals.metrics import Measure
from stores.clock import utc_now
from stores.errors import EngrainError
from stores.language.moments import LONGEST_READ, span_of
from tools.records.entity_models import CONTENT_LIMIT, NAME_LIMIT
from tools.records.entity_types import EntityType
from tools.records.memory_models import RAW_CONTENT_LIMIT

Id = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Words = Annotated[str, StringConstraints(max_length=500)]
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
    content: Annotated[str, StringConstraints(min_length=1, max_length=RAW_CONTENT_LIMIT)]
    name: Annotated[str, StringConstraints(max_length=NAME_LIMIT)] = ""
    haystack: Words = ""
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
    haystack: Words = ""
    category: Words = ""
    cluster: Words = ""
    apart: bool = False


_LINE: TypeAdapter[SetLine | TextLine | QuestionLine] = TypeAdapter(
    Annotated[SetLine | TextLine | QuestionLine, Field(discriminator="kind")]
)


@dataclass(slots=True)
class Checked:
    file: Path
    head: SetLine | None = None
    texts: dict[tuple[str, str], TextLine] = field(default_factory=dict)
    questions: dict[str, QuestionLine] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def wrong(self, line: int, name: str, message: str) -> None:
        """Add a problem; line 0 is the whole file."""
        where = f"{self.file}, line {line}" if line else str(self.file)
        self.problems.append(f"{where}{f', field {name}' if name else ''}: {message}")


def check_file(path: Path) -> Checked:
    """Read a file and collect its problems; never raises for its contents."""
    found = Checked(path)
    numbers: dict[str, int] = {}
    for number, line in _lines(found):
        if isinstance(line, SetLine) != (number == 1):
            found.wrong(number, "kind", "the first line is of kind set, and no other")
        if isinstance(line, SetLine):
            found.head = line
            if line.goal is not None and (line.floor is None or line.floor > line.goal):
                found.wrong(number, "goal", "a goal needs a floor that is not above it")
        elif isinstance(line, TextLine):
            _check_text(found, number, line)
        else:
            if line.id in found.questions:
                found.wrong(number, "id", f"there is a question {line.id!r} already")
            found.questions[line.id] = line
            numbers[line.id] = number
    if not found.problems:
        _check_answers(found, numbers)
    return found


def read_own(path: Path) -> Collection:
    """Read a file, or raise EngrainError for its problems."""
    found = check_file(path)
    head = found.head
    if found.problems or head is None:
        raise EngrainError(f"{'; '.join(found.problems[:3])}. See `engrain eval validate`.")
    questions = [_as_question(line) for line in found.questions.values()]
    return Collection(
        name=head.name,
        unit=head.unit,
        door=head.door,
        texts=tuple(Text(**line.model_dump(exclude={"kind"})) for line in found.texts.values()),
        questions=tuple(question for question in questions if question.grades),
        aim=Aim(head.measure, head.floor, head.goal),
        entity_type=head.entity_type,
        unanswered=tuple(question for question in questions if not question.grades),
    )


def _lines(found: Checked) -> Iterator[tuple[int, SetLine | TextLine | QuestionLine]]:
    path, number = found.file, 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    yield number, _LINE.validate_json(raw)
                except ValidationError as error:
                    for each in error.errors(include_url=False):
                        found.wrong(number, _field(each["loc"]), each["msg"])
    except (OSError, EOFError, zlib.error) as error:
        found.wrong(0, "", f"it cannot be read after line {number}: {error}")


def _field(location: tuple[Any, ...]) -> str:
    return str(location[1]) if len(location) > 1 else "kind"


def _check_text(found: Checked, number: int, line: TextLine) -> None:
    key = (line.haystack, line.id)
    if key in found.texts:
        found.wrong(number, "id", f"there is a text {line.id!r} already")
    found.texts[key] = line
    if found.head is not None and found.head.door == "search":
        if not line.name.strip():
            found.wrong(number, "name", "a text that is searched for needs a name")
        if len(line.content) > CONTENT_LIMIT:
            found.wrong(number, "content", f"an entity holds {CONTENT_LIMIT} characters")
        if line.thread_id is not None or line.ordinal is not None:
            found.wrong(number, "thread_id", "only memories stand in threads: leave it out, or let the door be recall")


def _check_answers(found: Checked, numbers: dict[str, int]) -> None:
    haystacks = {haystack for haystack, _ in found.texts}
    for question in found.questions.values():
        if question.haystack not in haystacks:
            found.wrong(numbers[question.id], "haystack", f"there is no text in the haystack {question.haystack!r}")
        for text_id in question.answers:
            if (question.haystack, text_id) not in found.texts:
                found.wrong(numbers[question.id], "answers", f"there is no text {text_id!r} in its haystack")
    if not any(question.answers and not question.apart for question in found.questions.values()):
        found.wrong(0, "", "it needs at least one question with an answer that is not apart")


def _as_question(line: QuestionLine) -> Question:
    grades = line.answers if isinstance(line.answers, dict) else dict.fromkeys(line.answers, 1)
    return Question(line.id, line.haystack, line.text, grades, line.cluster, line.category, line.apart)
