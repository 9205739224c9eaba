"""Shared parts of adapters: the reading of JSON, and the limits of a record."""

import hashlib
import json
import lzma
import math
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, BinaryIO, cast

import ijson
from pydantic import JsonValue

from stores.language.moments import read_span
from stores.records import RAW_MEMORY, JsonObject
from tools.imports.files import SourceFile, SourceFiles, Utf8, is_binary, lines
from tools.imports.records import ImportedRecord, ImportedRelation, Item, Origin, SkippedRecord
from tools.records.entity_models import CONTENT_LIMIT, LABEL_LIMIT, LABELS_LIMIT, NAME_LIMIT
from tools.records.entity_types import ENTITY_TYPES
from tools.records.memory_models import RAW_CONTENT_LIMIT

READ_ERRORS = (
    OSError, ValueError, LookupError, TypeError, RuntimeError, EOFError, MemoryError, zlib.error, lzma.LZMAError,
    zipfile.BadZipFile, sqlite3.Error, ijson.JSONError,
)  # fmt: skip
KEY_LENGTH, TITLE_LENGTH, TEXT_LENGTH, LIST_LENGTH, DEPTH, NESTED = 380, 300, 10_000, 1_000, 8, 200
TYPES = frozenset(ENTITY_TYPES) - {"project", "task", "epic", "source", "document", "passage", "team", "community"}
"""Entity types that a source may choose: those without a workflow, and of which nothing else depends."""
_SCOPING = frozenset(("memory_scope", "scope_key", "project_id", "raw_memory_id", "imported"))
"""Metadata that says who may read a record: never taken from a source."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

Object = dict[str, Any]
Find = Callable[[SourceFiles], Iterable[SourceFile]]
Parse = Callable[[SourceFile, Mapping[str, str]], Iterator[Item]]


@dataclass(slots=True)
class Format:
    """Adapter made of two functions: which files, and what is in one."""

    name: str
    summary: str
    find: Find
    parse: Parse
    is_global: bool = True

    def files(self, source: SourceFiles) -> Iterator[SourceFile]:
        """Return the files of this format; a source that is one file is taken at the caller's word."""
        is_empty = True
        for file in self.find(source):
            is_empty = False
            yield file
        if not is_empty:
            yield from source.left_out
        elif source.root.is_file() and source.root.suffix.lower() != ".zip":
            yield from source

    def read(self, file: SourceFile, options: Mapping[str, str]) -> Iterator[Item]:
        """Read one file, with records cut to the limits of the store. A key counts once."""
        if file.problem:
            yield SkippedRecord(Origin(file.name), file.problem)
            return
        keys: set[int] = set()
        try:
            for item in self.parse(file, options):
                if isinstance(item, ImportedRelation):
                    yield replace(item, source=_key(item.source), target=_key(item.target))
                elif isinstance(item, SkippedRecord):
                    yield item
                elif hash(item.key) in keys:
                    yield SkippedRecord(item.origin, f"A second record has the key {clean(item.key)[:TITLE_LENGTH]}.")
                else:
                    keys.add(hash(item.key))
                    yield from fitted(item)
        except READ_ERRORS as error:
            yield SkippedRecord(Origin(file.name), unread(error))


@dataclass(slots=True)
class Thread:
    """Conversation whose turns become raw memories."""

    id: str
    title: str = ""
    labels: tuple[str, ...] = ()
    participants: tuple[str, ...] = ("user", "assistant")
    turns: int = 0

    def turn(self, key: str, speaker: str, text: str, at: object, origin: Origin) -> ImportedRecord:
        self.turns += 1
        metadata: JsonObject = {
            "thread_id": self.id, "ordinal": self.turns, "speaker": speaker, "captured_at": moment(at),
            "participants": [*self.participants], "labels": [*self.labels],
        }  # fmt: skip
        return ImportedRecord(key, self.title or first_line(text), text, origin, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Sniffed:
    """Files of which a test holds, at their first bytes."""

    holds: Callable[[SourceFile], bool]
    suffixes: tuple[str, ...] = ("",)

    def __call__(self, source: SourceFiles) -> Iterator[SourceFile]:
        return (file for file in source if file.name.lower().endswith(self.suffixes) and tried(self.holds, file))


def unread(error: BaseException) -> str:
    return f"The rest cannot be read: {clean(str(error))[:TITLE_LENGTH] or type(error).__name__}."


def tried(holds: Callable[[SourceFile], bool], file: SourceFile) -> bool:
    try:
        return holds(file)
    except READ_ERRORS:
        return False


def fitted(record: ImportedRecord) -> Iterator[ImportedRecord]:
    """Cut name and tags to the limits of the store, and split longer contents into parts `key#2`, … ."""
    is_memory = record.entity_type == RAW_MEMORY
    limit, longest = (RAW_CONTENT_LIMIT, TITLE_LENGTH) if is_memory else (CONTENT_LIMIT, NAME_LIMIT)
    key = _key(record.key)
    name = " ".join(clean(record.name)[: 4 * longest].split())[:longest] or record.origin.path[-longest:]
    metadata = cast(
        "JsonObject", _plain({name: each for name, each in record.metadata.items() if name not in _SCOPING})
    )
    tags = labels(record.tags)
    for number, part in enumerate(split(clean(record.content) or name, limit), start=1):
        suffix = f" ({number})" if number > 1 else ""
        named = name[: longest - len(suffix)] + suffix
        part_key = f"{key}#{number}" if number > 1 else key
        yield replace(record, key=part_key, name=named, content=part, tags=tags, metadata=metadata)


def _key(key: str) -> str:
    key = clean(key)
    is_long = len(key) > KEY_LENGTH
    return f"{key[: KEY_LENGTH - 33]}~{hashlib.sha256(key.encode()).hexdigest()[:32]}" if is_long else key


def split(text: str, limit: int) -> Iterator[str]:
    """Split before headings, else after paragraphs, lines or words. The parts joined are the text."""
    begin = 0
    while len(text) - begin > limit:
        middle, most = begin + limit // 2, begin + limit
        cuts = ((text.rfind(mark, middle, most), kept) for mark, kept in (("\n#", 1), ("\n\n", 2), ("\n", 1), (" ", 1)))
        end = next((at + kept for at, kept in cuts if at >= 0), most)
        yield text[begin:end]
        begin = end
    yield text[begin:]


def clean(text: str) -> str:
    """Replace U+0000 and lone surrogates by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def labels(values: Iterable[object]) -> tuple[str, ...]:
    """Return distinct labels within the limits of the store."""
    found = (clean(value)[: LABEL_LIMIT * 4].strip()[:LABEL_LIMIT] for value in values if isinstance(value, str))
    return tuple(islice(dict.fromkeys(each for each in found if each), LABELS_LIMIT))


def first_line(text: str) -> str:
    return next((line.strip("# \t") for line in text[:2_000].splitlines() if line.strip("# \t")), "")[:100]


def moment(value: object) -> str | None:
    """Return a time as ISO 8601, a text as it is written; None if it is no time. Large numbers are milliseconds."""
    try:
        if isinstance(value, str) and value[:4].isdigit():
            read_span(value, now=datetime.now(UTC))
            return value.strip()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1_000 if abs(value) > 1e11 else value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
    return None


def at(value: object, *path: str) -> Any:
    """Return what lies at a path of nested objects; None if one is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_at(value: object, *path: str) -> str:
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def listed(value: object, *path: str) -> list[Any]:
    found = at(value, *path)
    return found if isinstance(found, list) else []


def said(content: object, noise: re.Pattern[str] | None = None) -> str:
    """Return the text of a message's parts, without tools, thinking, pictures and parts that begin with noise."""
    parts = content if isinstance(content, list) else [content]
    kinds = (None, "text", "input_text", "output_text")
    texts = (
        each if isinstance(each, str) else text_at(each, "text")
        for each in parts
        if isinstance(each, str) or (at(each, "type") in kinds and at(each, "thought") is not True)
    )
    return "\n\n".join(text for text in texts if text.strip() and not (noise and noise.match(text)))


def json_lines(file: SourceFile) -> Iterator[tuple[Origin, Object] | SkippedRecord]:
    """Read one JSON object a line."""
    if is_binary(file):
        yield SkippedRecord(Origin(file.name), "It is no text.")
        return
    with file.open() as stream:
        for number, begin, end, data in lines(stream):
            origin = Origin(file.name, number, begin, end)
            if data is None:
                yield SkippedRecord(origin, "The line is too long.")
            elif stripped := data.removeprefix(b"\xef\xbb\xbf").strip():
                try:
                    value = json.loads(stripped.decode("utf-8", "replace"))
                except (ValueError, RecursionError):
                    value = None
                yield (
                    (origin, value) if isinstance(value, dict) else SkippedRecord(origin, "The line is no JSON object.")
                )


def json_head(file: SourceFile, most: int = 20) -> list[Object]:
    """Return the first objects of a file with JSON lines."""
    found = islice(json_lines(file), most)
    return [item[1] for item in found if not isinstance(item, SkippedRecord)]


def json_items(file: SourceFile, prefix: str) -> Iterator[Any]:
    """Stream the values at a place in a JSON document, such as `item` or `messages.item`."""
    wanted, builder = prefix.split("."), None
    with file.open() as stream:
        for place, event, value in _json_events(stream):
            if builder is not None:
                builder.event(event, value)
                if event.startswith("end_") and place == wanted:
                    yield builder.value
                    builder = None
            elif place == wanted and event.startswith("start_"):
                builder = ijson.ObjectBuilder()
                builder.event(event, value)
            elif place == wanted and event not in ("map_key", "end_map", "end_array"):
                yield value


def json_keys(file: SourceFile, prefix: str = "") -> set[str]:
    """Return names of members at a place, from the first thousand tokens."""
    wanted = prefix.split(".") if prefix else []
    with file.open() as stream:
        events = islice(_json_events(stream), 1_000)
        return {value for place, event, value in events if event == "map_key" and place == wanted}


def _json_events(stream: BinaryIO) -> Iterator[tuple[list[str], str, Any]]:
    # Like `ijson.parse`, whose places are texts, which take quadratic time and memory in a deeply nested document.
    place: list[str] = []
    for event, value in ijson.basic_parse(Utf8(stream), use_float=True):
        if event == "map_key":
            yield place[:-1], event, value
            place[-1] = value
        elif event.startswith("end_"):
            place.pop()
            yield place, event, value
        else:
            yield place, event, value
            if event.startswith("start_"):
                place.append("item")
        if len(place) > NESTED:
            raise ValueError("It is nested too deeply.")


def _plain(value: object, depth: int = 0) -> JsonValue:
    if isinstance(value, str):
        return clean(value[:TEXT_LENGTH])
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return value if abs(value) < 2**53 and math.isfinite(value) else str(value)[:LABEL_LIMIT]
    if depth >= DEPTH:
        return "\u2026"
    if isinstance(value, dict):
        inner = {
            clean(str(name))[:LABEL_LIMIT]: _plain(each, depth + 1) for name, each in islice(value.items(), LIST_LENGTH)
        }
        return {name: each for name, each in inner.items() if each not in (None, "", [], {})}
    return (
        [_plain(each, depth + 1) for each in islice(value, LIST_LENGTH)]
        if isinstance(value, (list, tuple))
        else str(value)[:LABEL_LIMIT]
    )
