"""Files of cases that a repository can hold: a header with what they were measured on, then a case a line."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from evals.results import Case
from evals.runs.journal import json_rows
from stores.errors import EngrainError

KIND: Final = "baseline"
_LARGEST = 1e12
_TEXTS = ("question", "best", "missed")


@dataclass(frozen=True, slots=True)
class Header:
    """What is known of cases without their run; files of earlier versions have none."""

    kind: Literal["baseline"] = KIND
    data: Mapping[str, str] = field(default_factory=dict)
    """A hash of each set, as it was asked."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """By which each set is judged."""
    instructions: str | None = None
    """Of the processor, those that figures hang on; None where they are not known."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What such a file holds."""

    header: Header
    cases: list[Case]


def as_lines(cases: Iterable[Case], header: Header) -> str:
    """Lay cases out as JSON Lines, without texts."""
    known = {} if header.instructions is None else {"instructions": header.instructions}
    lines = [_line({"kind": header.kind, "data": dict(header.data), "measures": dict(header.measures), **known})]
    for case in cases:
        row = {name: value for name, value in case.plain().items() if name not in _TEXTS}
        if case.took_ms is not None:
            row["took_ms"] = round(case.took_ms, 2)
        lines.append(_line(row))
    return "".join(lines)


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"


def read_baseline(path: Path) -> Baseline:
    """Read such a file, with a header or without.

    Raises:
        EngrainError: It is none.
    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - files of others alone are checked so closely

    try:
        rows = list(json_rows(path))
        headed = bool(rows) and isinstance(rows[0], dict) and rows[0].get("kind") == KIND
        header = TypeAdapter(Header).validate_python(rows[0]) if headed else Header()
        found = [Case.of(row.plain()) for row in TypeAdapter(list[Case]).validate_python(rows[headed:])]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place, *where = first["loc"]
        which = f"case {place}, {'.'.join(map(str, where))}" if isinstance(place, int) else f"the header, {place}"
        raise EngrainError(f"{path} holds no cases of a run: {which}: {first['msg']}.") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise EngrainError(f"{path} holds no cases of a run: {error}.") from error
    if not found:
        raise EngrainError(f"{path} holds no cases of a run.")
    _require_sound(path, header, found)
    return Baseline(header, found)


def _require_sound(path: Path, header: Header, cases: Sequence[Case]) -> None:
    """Refuse what no run can have written, as a file that was edited or merged may hold it."""
    wrong = next(_unsound(header, cases), "")
    if wrong:
        raise EngrainError(f"{path} holds no cases of a run: {wrong}.")


def _unsound(header: Header, cases: Sequence[Case]) -> Iterator[str]:
    for case in cases:
        for measure, value in {**case.values, "score": case.score or 0.0, "took_ms": case.took_ms or 0.0}.items():
            # What is far beyond any measure would make sums and intervals that are no numbers.
            if not 0 <= value <= _LARGEST:
                yield f"{measure} of {case.id!r} ({case.set}, {case.arm}) is {value:g}"
    key, count = Counter(case.key for case in cases).most_common(1)[0]
    if count > 1:
        yield f"the case {key[2]!r} ({key[0]}, {key[1]}) is there {count} times"
    for name, measure in header.measures.items():
        values = [case.values for case in cases if case.set == name]
        if values and not any(measure in each for each in values):
            yield f"{name} is said to be judged by {measure}, which no case of it has"
