"""Our own form of a labelled set: one file of JSON Lines, checked line by line (docs/evaluation.md)."""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
)
from pydantic_core import PydanticCustomError

from evals.datasets.collection import Aim, Collection, Question, Text
from stores.clock import utc_now
from stores.errors import EngrainError, ValidationFailed
from stores.language.moments import LONGEST_READ, span_of
from tools.entity_models import CONTENT_LIMIT, NAME_LIMIT
from tools.entity_types import EntityType
from tools.memory_models import RAW_CONTENT_LIMIT
from tools.parsing import refuse_unstorable

Measure = Literal[
    "recall@5", "recall@10", "any-hit@5", "any-hit@10", "all-hit@5", "all-hit@10", "nDCG@10", "MRR@10"
]  # fmt: skip
Id = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Words = Annotated[str, StringConstraints(max_length=500)]
Share = Annotated[float, Field(ge=0, le=1)]
Grade = Annotated[int, Field(ge=1, le=1_000)]
_DAY_OR_TIME = re.compile(r"\d{4}-\d{2}-\d{2}(?:\Z|[Tt ])", re.ASCII)
SHOWN = 20
"""Problems that a refusal names; a file that has more is not what its writer thinks it is."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _as_ordinal(given: object) -> int | float:
    if isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < 2**63:
        return given
    raise PydanticCustomError("no_ordinal", "it is no number between -2^63 and 2^63, as a count or a time is")


Ordinal = Annotated[int | float, PlainValidator(_as_ordinal)]
"""A place in a thread, as the server takes it."""


class SetLine(_Line):
    """The first line: what the set is."""

    kind: Literal["set"]
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,49}$")]
    unit: Literal["turn", "session", "document"]
    door: Literal["recall", "search"]
    entity_type: EntityType = "note"
    measure: Measure = "recall@10"
    floor: Share | None = None
    goal: Share | None = None


class TextLine(_Line):
    """Something that can be found."""

    kind: Literal["text"]
    id: Id
    content: Annotated[str, StringConstraints(min_length=1, max_length=RAW_CONTENT_LIMIT)]
    name: Annotated[str, StringConstraints(max_length=NAME_LIMIT)] = ""
    haystack: Words = ""
    thread_id: Id | None = None
    ordinal: Ordinal | None = None
    captured_at: str | None = None

    @field_validator("captured_at")
    @classmethod
    def _is_a_moment(cls, text: str | None) -> str | None:
        """Narrower than the server, which also takes weeks and `7d`: a set says the same on every day it is read."""
        if text is None:
            return None
        if len(text) <= LONGEST_READ and _DAY_OR_TIME.match(text) and span_of(text, now=utc_now()) is not None:
            return text
        raise PydanticCustomError("no_moment", "it is no day and no time: write 2026-05-04 or 2026-05-04T09:00:00Z")


class QuestionLine(_Line):
    """A question with the texts that answer it: a list of ids, or ids with grades above 0; none where nothing does."""

    kind: Literal["question"]
    id: Id
    text: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
    answers: list[Id] | dict[Id, Grade]
    haystack: Words = ""
    category: Words = ""
    cluster: Words = ""
    apart: bool = False


_LINE: TypeAdapter[SetLine | TextLine | QuestionLine] = TypeAdapter(
    Annotated[SetLine | TextLine | QuestionLine, Field(discriminator="kind")]
)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and where."""

    file: Path
    line: int
    """From 1; 0 for the file as a whole."""
    field: str
    message: str

    def __str__(self) -> str:
        """Say it in one line."""
        where = f"{self.file}, line {self.line}" if self.line else str(self.file)
        return f"{where}{f', field {_shown(self.field)}' if self.field else ''}: {self.message}"


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)


@dataclass(slots=True)
class Checked:
    """What a file holds, and what is wrong with it."""

    file: Path
    head: SetLine | None = None
    texts: dict[tuple[str, str], TextLine] = field(default_factory=dict)
    questions: dict[str, QuestionLine] = field(default_factory=dict)
    unread: set[tuple[str, str]] = field(default_factory=set)
    """Texts that are there, but wrong: what they answer is not what is wrong with a question."""
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, line: int, name: str, message: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(self.file, line, name, message))


def check_file(path: Path) -> Checked:
    """Read a file and find everything that is wrong with it; nothing is raised for what stands in it."""
    found = Checked(path)
    answers: list[tuple[int, QuestionLine]] = []
    places: dict[tuple[str, str, float], int] = {}
    for number, line in _lines(found):
        if number == 1 and not isinstance(line, SetLine):
            found.wrong(number, "kind", "the first line has to be of kind set")
        if isinstance(line, SetLine):
            _head(found, number, line)
        elif isinstance(line, TextLine):
            _text(found, number, line, places)
        else:
            _question(found, number, line)
            answers.append((number, line))
    _point_somewhere(found, answers)
    if not found.problems and not (found.texts and any(question.answers for question in found.questions.values())):
        found.wrong(0, "", "it needs at least one text and one question that it answers")
    elif not found.problems and not all(question.answers for question in found.questions.values()):
        _held_against(found)
    return found


def _point_somewhere(found: Checked, questions: Iterable[tuple[int, QuestionLine]]) -> None:
    """Answers are texts of the question's haystack, and it has some where nothing there answers it."""
    there = found.texts.keys() | found.unread
    haystacks = {haystack for haystack, _ in there}
    for number, question in questions:
        if not question.answers and question.haystack not in haystacks:
            found.wrong(number, "haystack", f"there is no text in the haystack {question.haystack!r}")
        for text_id in question.answers:
            if (question.haystack, text_id) not in there:
                where = f" in the haystack {question.haystack!r}" if question.haystack else ""
                found.wrong(number, "answers", f"there is no text {text_id!r}{where}")


def _held_against(found: Checked) -> None:
    """Questions that nothing answers are held against the others of the headline."""
    if not any(question.answers and not question.apart for question in found.questions.values()):
        found.wrong(0, "", "all questions with an answer are apart: those without one need some to be held against")


def read_own(path: Path) -> Collection:
    """Read a file of our own form.

    Raises:
        EngrainError: It has problems; the message names the first of them with line and field.
    """
    found = check_file(path)
    head = found.head
    if found.problems or head is None:
        shown = "; ".join(str(problem) for problem in found.problems[:3])
        raise EngrainError(f"{len(found.problems)} problems: {shown}. See `engrain eval validate`.")
    return Collection(
        name=head.name,
        unit=head.unit,
        door=head.door,
        texts=tuple(_as_text(line) for line in found.texts.values()),
        questions=tuple(_as_question(line) for line in found.questions.values() if line.answers),
        aim=Aim(head.measure, head.floor, head.goal),
        entity_type=head.entity_type,
        unanswered=tuple(_as_question(line) for line in found.questions.values() if not line.answers),
    )


def _lines(found: Checked) -> Iterator[tuple[int, SetLine | TextLine | QuestionLine]]:
    number = 0
    try:
        for number, raw in enumerate(_raw(found.file), start=1):
            read: object = None
            try:
                read = json.loads(raw, object_pairs_hook=_Object)
                if _is_unsound(found, number, read):
                    _unread(found, read)
                else:
                    yield number, _LINE.validate_python(read)
            except ValidationError as error:
                _unread(found, read)
                for each in error.errors(include_url=False):
                    found.wrong(number, _field(each["loc"]), each["msg"])
            except json.JSONDecodeError as error:
                # Lines are read one by one, so that the place within the line is told by its column.
                flaw = f"no JSON: {error.msg}, column {error.pos + 1}" if raw.strip() else "empty: remove it"
                found.wrong(number, "", f"it is {flaw}")
            except (ValueError, RecursionError) as error:
                found.wrong(number, "", f"it is no JSON: {error}")
    except (OSError, EOFError, zlib.error) as error:
        after = f" after line {number}" if number else ""
        reason = error.strerror if isinstance(error, OSError) else None
        found.wrong(0, "", f"it cannot be read{after}: {reason or error}")


class _Object(dict[str, Any]):
    """An object of JSON that remembers which of its keys came more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counted = Counter(name for name, _ in pairs) if len(self) < len(pairs) else {}
        self.twice = [name for name, count in counted.items() if count > 1]


def _is_unsound(found: Checked, number: int, line: object) -> bool:
    """Note what JSON allows and no set may hold: one key twice, and characters that no server keeps."""
    if not isinstance(line, _Object):
        return False
    before = len(found.problems)
    for name in line.twice:
        found.wrong(number, name, "it is there more than once: keep one of them")
    for name, value in line.items():
        for key in value.twice if isinstance(value, _Object) else ():
            found.wrong(number, name, f"it holds {key!r} more than once: keep one of them")
        try:
            refuse_unstorable(value, name)
        except ValidationFailed as error:
            found.wrong(number, name, f"{error.message} Remove or replace it.")
    return len(found.problems) > before


def _unread(found: Checked, line: object) -> None:
    if isinstance(line, _Object) and line.get("kind") == "text" and isinstance(name := line.get("id"), str):
        haystack = line.get("haystack", "")
        found.unread.add((haystack if isinstance(haystack, str) else "", name))


def _raw(path: Path) -> Iterable[bytes]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        yield from file


def _field(location: tuple[Any, ...]) -> str:
    """The field as its writer knows it, between the kind of the line and the branch of a union."""
    return str(location[1]) if len(location) > 1 else "kind"


def _head(found: Checked, number: int, line: SetLine) -> None:
    if found.head is not None or number > 1:
        found.wrong(number, "kind", "a line of kind set is the first, and there is one of them")
        return
    found.head = line
    if line.goal is not None and line.floor is None:
        found.wrong(number, "goal", "a goal alone is held against nothing: add the floor, or leave the goal out")
    elif line.goal is not None and line.floor is not None and line.floor > line.goal:
        found.wrong(number, "floor", f"it is above the goal, {line.floor:g} above {line.goal:g}")


def _text(found: Checked, number: int, line: TextLine, places: dict[tuple[str, str, float], int]) -> None:
    key = (line.haystack, line.id)
    if key in found.texts:
        found.wrong(number, "id", f"there is a text {line.id!r} already")
    found.texts[key] = line
    if line.thread_id is not None and line.ordinal is not None:
        first = places.setdefault((line.haystack, line.thread_id, line.ordinal), number)
        if first != number:
            found.wrong(number, "ordinal", f"line {first} has this place in the thread")
    if found.head is not None and found.head.door == "search":
        if not line.name.strip():
            found.wrong(number, "name", "what is searched for needs a name")
        if len(line.content) > CONTENT_LIMIT:
            found.wrong(number, "content", f"an entity holds {CONTENT_LIMIT} characters")
        for name in ("thread_id", "ordinal"):
            if getattr(line, name) is not None:
                found.wrong(number, name, "only memories stand in threads: leave it out, or let the door be recall")


def _question(found: Checked, number: int, line: QuestionLine) -> None:
    if line.id in found.questions:
        found.wrong(number, "id", f"there is a question {line.id!r} already")
    found.questions[line.id] = line
    if not line.text.strip():
        found.wrong(number, "text", "it holds nothing but spaces: write what is asked")
    for text_id, times in Counter(line.answers if isinstance(line.answers, list) else ()).items():
        if times > 1:
            found.wrong(number, "answers", f"it names {text_id!r} more than once: keep one of them")


def _as_text(line: TextLine) -> Text:
    return Text(line.id, line.haystack, line.content, line.name, line.thread_id, line.ordinal, line.captured_at)


def _as_question(line: QuestionLine) -> Question:
    grades = line.answers if isinstance(line.answers, dict) else dict.fromkeys(line.answers, 1)
    return Question(line.id, line.haystack, line.text, grades, line.cluster, line.category, line.apart)
