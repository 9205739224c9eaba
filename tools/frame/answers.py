"""Answers for agents: the structure of a tool's answer, and the text made from it.

Clients hand their model either the structure or the text, so both say the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from stores.records import JsonObject
from tools.frame.arguments import FOR_AGENTS
from tools.text.plain import one_line

_STAMPED = frozenset({"organization_id", "principal_id"})
FOR_PROGRAMS = _STAMPED | {"mutation_receipt", "message_key", "revision"}
"""Fields of records and answers that no model needs."""
RENAMED = {**FOR_AGENTS, "entity_id": "id"}
_HEAD = ("score", "id", "type", "name")
_LONG = ("content", "description")
"""Only these and Markdown keep their lines: one in a title would pass for another record."""
_WORDS = {True: "yes", False: "no", None: "none"}
_SHORT = 120


def answer_of(result: BaseModel | Mapping[str, Any], omit: frozenset[str] = frozenset()) -> JsonObject:
    """Return the fields of a result that say something, at any depth, without `omit`.

    Empty lists that were chosen for the answer stay: they say that there is nothing.
    """
    given = result.model_dump() if isinstance(result, BaseModel) else dict(result)
    chosen: JsonObject = {} if isinstance(result, BaseModel) else {key: [] for key in given if given[key] == []}
    said: JsonObject = _said(given, FOR_PROGRAMS | omit)
    return chosen | said


def text_of(answer: Mapping[str, Any]) -> str:
    """Write an answer as text: one line for each record, longer texts indented below it."""
    return "\n".join(_lines(answer, ""))


def _said(value: Any, omit: frozenset[str]) -> Any:
    if isinstance(value, Mapping):
        found = {
            str(key): _own(item) if key == "metadata" else _said(item, omit)
            for key, item in value.items()
            if key not in omit
        }
        return {
            RENAMED.get(key, key) if RENAMED.get(key, key) not in found else key: item
            for key, item in found.items()
            if item is not None and item not in ("", [], {})
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_said(item, omit) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return round(value, 3) if isinstance(value, float) else to_jsonable_python(value)


def _own(metadata: Any) -> Any:
    # Names and numbers in it are the caller's.
    said = to_jsonable_python(metadata)
    if not isinstance(said, dict):
        return said
    return {key: value for key, value in said.items() if key not in _STAMPED and (key, value) != ("scope_key", None)}


def _lines(answer: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in answer.items():
        key = one_line(name)
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            # Rows of fields alone name each of them, as the structure does.
            has_text = any(name in item for item in value if isinstance(item, Mapping) for name in _LONG)
            yield f"{indent}{key}:"
            for item in value:
                if isinstance(item, Mapping):
                    yield from _record(item, indent, _HEAD if has_text else ())
                else:
                    yield f"{indent}- {one_line(str(item))}"
        elif key == "markdown" and not indent:
            yield str(value)
        elif key in _LONG and (not indent or len(str(value).splitlines()) > 1):
            yield f"{indent}{key}:"
            yield from (f"{indent}  {line}".rstrip() for line in str(value).splitlines())
        else:
            yield f"{indent}{key}: {_inline(value)}"


def _record(record: Mapping[str, Any], indent: str, headed: Sequence[str]) -> Iterator[str]:
    head = [_headed(key, record[key]) for key in headed if key in record]
    rest = {key: record[key] for key in (*_HEAD, *record) if key in record and key not in headed}
    short = {key: value for key, value in rest.items() if key == "name" or _is_short(value)}
    marks = ", ".join(f"{one_line(key)}: {_inline(value)}" for key, value in short.items())
    line = f"{' '.join(head)} ({marks})" if head and marks else " ".join(head) or marks
    yield f"{indent}- {line}"
    yield from _lines({key: value for key, value in rest.items() if key not in short}, f"{indent}  ")


def _headed(key: str, value: Any) -> str:
    if key == "score" and isinstance(value, float):
        return f"{value:.2f}"
    return f"[{_inline(value)}]" if key == "type" else _inline(value)


def _is_short(value: Any) -> bool:
    if isinstance(value, list):
        return not any(isinstance(item, Mapping | list) for item in value) and len(_inline(value)) <= _SHORT
    return not isinstance(value, Mapping) and len(str(value)) <= _SHORT and len(str(value).splitlines()) <= 1


def _inline(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_inline, value)) or "none"
    return _WORDS[value] if value is None or isinstance(value, bool) else one_line(str(value))
