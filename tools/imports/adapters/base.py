"""Formats: the files of each, the reading of JSON, and the limits of a record."""

import hashlib
import json
import lzma
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from email.errors import MessageError
from io import TextIOWrapper
from itertools import chain, islice
from typing import Any

from pydantic import JsonValue

from stores.records import RAW_MEMORY, JsonObject
from tools.imports.adapters.values import Object, clean, first_line, labels, moment
from tools.imports.files import LINE_BYTES, SourceFile, SourceFiles, lines
from tools.imports.models import PlaceInSource, RecordToImport, RelationToImport, SkippedPart
from tools.records.entity_models import CONTENT_LIMIT, LABEL_LIMIT, NAME_LIMIT
from tools.records.entity_types import ENTITY_TYPES
from tools.records.memory_models import RAW_CONTENT_LIMIT

# Raised by readers of damaged files; the parser of mail headers fails in many ways.
READ_ERRORS = (
    OSError, ValueError, LookupError, TypeError, AttributeError, AssertionError, RuntimeError, EOFError, MemoryError,
    zlib.error, lzma.LZMAError, zipfile.BadZipFile, sqlite3.Error, MessageError,
)  # fmt: skip
KEY_LENGTH, TITLE_LENGTH, TEXT_LENGTH, LIST_LENGTH, DEPTH = 380, 300, 10_000, 1_000, 8
HEAD_BYTES = 64 * 2**10
KEYS = 1_000_000
"""Keys of a file that are remembered to find a second record of the same key."""
TYPES = frozenset(ENTITY_TYPES) - {"project", "task", "epic", "source", "document", "passage", "team", "community"}
"""Entity types that a source may choose: those without a workflow, and of which nothing else depends."""
_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant", "gemini": "assistant"}
_SCOPING = frozenset(("memory_scope", "scope_key", "project_id", "raw_memory_id", "imported"))
"""Metadata that says who may read a record: never taken from a source."""
_VALUE = re.compile(r"[^\s,]")
_DECODER = json.JSONDecoder()

Item = RecordToImport | RelationToImport | SkippedPart
Find = Callable[[SourceFiles], Iterable[SourceFile]]
Parse = Callable[[SourceFile], Iterator[Item]]


@dataclass(slots=True)
class Format:
    """Adapter made of two functions: one lists the files, one reads a file. Both are deterministic."""

    name: str
    """Stable, as users type it: `claude-code`, `mbox`."""
    summary: str
    find: Find
    parse: Parse
    is_global: bool = True
    """Its keys are unique everywhere (message ids, hashes), not just within one folder."""

    def files(self, source: SourceFiles) -> Iterator[SourceFile]:
        """Return the files of this format; a source that is one file is taken at the caller's word."""
        found = iter(self.find(source))
        first = next(found, None)
        if first is not None:
            yield from chain((first,), found, source.left_out)
        elif source.root.is_file() and source.root.suffix.lower() != ".zip":
            yield from source

    def read(self, file: SourceFile) -> Iterator[Item]:
        """Read one file in bounded memory, with records cut to the limits of the store. A key counts once."""
        if file.problem:
            yield SkippedPart(origin=place_in(file), reason=file.problem)
            return
        keys: set[int] = set()
        try:
            for item in self.parse(file):
                if not isinstance(item, RecordToImport):
                    yield item
                elif hash(item.key) in keys:
                    reason = f"A second record has the key {clean(item.key)[:TITLE_LENGTH]}."
                    yield SkippedPart(origin=item.origin, reason=reason)
                else:
                    if len(keys) >= KEYS:
                        keys.clear()
                    keys.add(hash(item.key))
                    yield from fitted(item) if item.exported is None else (item,)
        except READ_ERRORS as error:
            yield unread(place_in(file), error)


@dataclass(slots=True)
class Thread:
    """Conversation whose turns become raw memories."""

    id: str
    title: str = ""
    labels: tuple[str, ...] = ()
    turns: int = 0
    is_left_out: bool = False
    seen: set[str] = field(default_factory=set)

    def turn(self, origin: PlaceInSource, key: str, role: object, text: str, at: object) -> Iterator[RecordToImport]:
        """Return a turn of user or assistant; nothing for others and without text."""
        speaker = _SPEAKERS.get(role) if isinstance(role, str) else None
        if self.is_left_out or speaker is None or not text.strip():
            return
        self.turns += 1
        metadata: JsonObject = {
            "thread_id": self.id, "ordinal": self.turns, "speaker": speaker, "captured_at": moment(at),
            "participants": ["user", "assistant"], "labels": [*self.labels],
        }  # fmt: skip
        key = key or f"{self.id}:{origin.line or self.turns}"
        yield imported(key, self.title or first_line(text), text, origin, metadata=metadata)


def place_in(
    file: SourceFile, line: int | None = None, begin: int | None = None, end: int | None = None
) -> PlaceInSource:
    return PlaceInSource.model_construct(path=file.name, line=line, begin=begin, end=end)


def imported(key: str, name: str, content: str, origin: PlaceInSource, **more: Any) -> RecordToImport:
    """Make a record, which may exceed the limits of the store until it is `fitted`.

    Its key stays the same when the source is read again: a message id, a path.
    """
    return RecordToImport.model_construct(key=key, name=name, content=content, origin=origin, **more)


def relation(source: str, relationship: str, target: str) -> RelationToImport:
    return RelationToImport(source=_key(source), relationship=relationship, target=_key(target))


def beginning(pattern: bytes, name: str = "") -> Find:
    head, path = re.compile(pattern, re.DOTALL), re.compile(name, re.IGNORECASE)

    def holds(file: SourceFile) -> bool:
        try:
            with file.open() as stream:
                return head.search(stream.read(HEAD_BYTES)) is not None
        except READ_ERRORS:
            return False

    return lambda source: (file for file in source if path.search(file.name) and holds(file))


def by_line(turns: Callable[[Thread, Object, PlaceInSource], Iterator[Item]]) -> Parse:
    """Read JSON Lines object by object; the thread is the same for all of a file."""

    def parse(file: SourceFile) -> Iterator[Item]:
        thread = Thread(file.stem)
        for item in json_lines(file):
            if isinstance(item, SkippedPart):
                yield item
            else:
                yield from turns(thread, item[1], item[0])

    return parse


def unread(origin: PlaceInSource, error: BaseException) -> SkippedPart:
    reason = clean(str(error))[:TITLE_LENGTH].rstrip(".") or type(error).__name__
    return SkippedPart(origin=origin, reason=f"It cannot be read any further: {reason}.")


def fitted(record: RecordToImport) -> Iterator[RecordToImport]:
    """Cut name and tags to the limits of the store, and split longer contents into parts `key#2`, … ."""
    is_memory = record.entity_type == RAW_MEMORY
    limit, longest = (RAW_CONTENT_LIMIT, TITLE_LENGTH) if is_memory else (CONTENT_LIMIT, NAME_LIMIT)
    key = _key(record.key)
    name = " ".join(clean(record.name)[: 4 * longest].split())[:longest] or record.origin.path[-longest:]
    metadata = {name: each for name, each in record.metadata.items() if name not in _SCOPING}
    whole = record.model_copy(update={"tags": [*labels(record.tags)], "metadata": _plain(metadata)})
    for number, part in enumerate(split(clean(record.content) or name, limit), start=1):
        suffix = f" ({number})" if number > 1 else ""
        part_key = f"{key}#{number}" if number > 1 else key
        part_name = name[: longest - len(suffix)] + suffix
        yield whole.model_copy(update={"key": part_key, "name": part_name, "content": part})


def _key(key: str) -> str:
    key = clean(key)
    is_long = len(key) > KEY_LENGTH
    return f"{key[: KEY_LENGTH - 33]}~{hashlib.sha256(key.encode()).hexdigest()[:32]}" if is_long else key


def split(text: str, limit: int) -> Iterator[str]:
    """Split after paragraphs, lines or words. The parts joined are the text."""
    while len(text) > limit:
        cuts = (text.rfind(mark, limit // 2, limit) + len(mark) for mark in ("\n\n", "\n", " "))
        end = next((cut for cut in cuts if cut > limit // 2), limit)
        yield text[:end]
        text = text[end:]
    yield text


def json_object(data: object) -> Object:
    with suppress(ValueError, RecursionError):
        value = json.loads(data.decode("utf-8-sig", "replace") if isinstance(data, bytes) else str(data))
        if isinstance(value, dict):
            return value
    raise ValueError("It is not a JSON object.")


def json_lines(file: SourceFile) -> Iterator[tuple[PlaceInSource, Object] | SkippedPart]:
    with file.open() as stream:
        for number, begin, end, data in lines(stream):
            origin = place_in(file, number, begin, end)
            if data is None:
                yield SkippedPart(origin=origin, reason="The line is too long.")
            elif data.strip():
                try:
                    yield origin, json_object(data)
                except ValueError:
                    yield SkippedPart(origin=origin, reason="The line is no JSON object.")


def json_array(file: SourceFile) -> Iterator[Any]:
    """Stream the values of a JSON array, each of at most `LINE_BYTES` characters.

    Raises:
        ValueError: It is no array, cut off, or damaged from here on.
    """
    with TextIOWrapper(file.open(), "utf-8-sig", "replace") as stream:
        text, at = stream.read(2**20).lstrip(), 1
        if not text.startswith("["):
            raise ValueError("It is not a JSON array.")
        while True:
            found = _VALUE.search(text, at)
            at = found.start() if found else len(text)
            try:
                value, end = _DECODER.raw_decode(text, at)
            except ValueError:
                end = len(text)
            if end < len(text):  # A number at the end may go on.
                yield value
                at = end
                continue
            waiting = len(text) - at
            if text.startswith("]", at):
                return
            more = stream.read(min(max(waiting, 2**20), 2**22))
            if not more or waiting > LINE_BYTES:
                raise ValueError("A value of the array is too long, damaged or cut off.")
            text, at = text[at:] + more, 0


def _plain(value: object, depth: int = DEPTH) -> JsonValue:
    if isinstance(value, str):
        return clean(value[:TEXT_LENGTH])
    if isinstance(value, (int, float)):
        return value if abs(value) < 2**53 else str(value)[:LABEL_LIMIT]
    if depth and isinstance(value, dict):
        first = islice(value.items(), LIST_LENGTH)
        plain = {clean(str(name))[:LABEL_LIMIT]: _plain(each, depth - 1) for name, each in first}
        return {name: each for name, each in plain.items() if each or each == 0}
    if depth and isinstance(value, (list, tuple)):
        return [_plain(each, depth - 1) for each in value[:LIST_LENGTH]]
    return None
