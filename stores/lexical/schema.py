"""Schema of the lexical index."""

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple, get_args

from tantivy import Document, Index, Schema, SchemaBuilder

from stores.clock import microseconds
from stores.event_times import event_span
from stores.hashing import hash64
from stores.indexed_text import indexed_parts
from stores.language.code import is_code
from stores.lexical.analysis import (
    analysed,
    identifiers,
    name_key,
    prepare,
    token_analyser,
    with_figures,
    word_analyser,
)
from stores.records import Entity, Facet, Position, facets
from stores.threads import SEPARATES, ThreadPlace

FORMAT = 20
"""Increment when older indexes cannot be read or would answer differently."""

FACETS: tuple[Facet, ...] = get_args(Facet)
HEADINGS = " > "
"""Between the headings in a chunk's description."""
RESERVED = "reserved"
POSITION_KEY = "position"
RECORD = "record"
THREADED, SEPARATING = "threaded", "separating"
CODE = "code"

Field = Literal["text", "exact"]
"""Words, and identifiers as written."""
LENGTHS: Mapping[Field, str] = {"text": "text_length", "exact": "exact_length"}
HAPPENED = ("happened_from", "happened_until")
"""First and last microsecond of the event."""


def open_index(path: str) -> Index:
    index = Index(build_schema(), path)
    index.config_reader("manual")
    index.register_tokenizer("words", word_analyser())
    index.register_tokenizer("tokens", token_analyser())
    return index


@cache
def build_schema() -> Schema:
    """Every field is stored as prepared: compaction copies the index from itself."""
    builder = SchemaBuilder()
    for name in ("id", "name", "visibility", *FACETS, RESERVED, "payload"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("key", stored=True, indexed=True, fast=True)
    builder.add_integer_field("revision", stored=True)
    builder.add_integer_field("updated_at", stored=True, indexed=True, fast=True)
    for name in (*LENGTHS.values(), *HAPPENED, "thread", "place", "speaker"):
        builder.add_integer_field(name, stored=True, fast=True)
    builder.add_text_field("text", stored=True, tokenizer_name="words", index_option="position")
    builder.add_text_field("exact", stored=True, tokenizer_name="tokens", index_option="freq")
    return builder.build()


def to_document(entity: Entity, place: ThreadPlace | None) -> Document:
    """Each searched part is a value of its own: no phrase spans two."""
    parts, marks = indexed_parts(entity), [RECORD]
    words = [prepare(part) for part in with_figures(parts)]
    tokens = identifiers("\n".join(parts))
    values: dict[str, str | int | Sequence[str]] = {
        "id": entity.id,
        "key": key_of(entity.id),
        "name": sorted(names(entity)),
        "visibility": entity.visibility,
        "revision": entity.revision,
        "updated_at": microseconds(entity.updated_at),
        **{facet: list(values) for facet, values in facets(entity).items()},
        "text": words,
        "exact": " ".join(tokens),
        LENGTHS["text"]: sum(len(analysed(each)) for each in words),
        LENGTHS["exact"]: len(tokens),
    }
    if (occasion := event_span(entity)) is not None:
        values |= zip(HAPPENED, map(microseconds, (occasion.start, occasion.last)), strict=True)
    if place is not None:
        marks.append(SEPARATING if place.speaker == SEPARATES else THREADED)
        values |= {"thread": place.thread, "place": place.order, "speaker": place.speaker}
    if is_code(entity.content):
        marks.append(CODE)
    return Document.from_dict({RESERVED: marks, **values}, build_schema())


def names(entity: Entity) -> set[str]:
    """Return the normalised names of a record; of a chunk also its heading."""
    called = [entity.name]
    if entity.source_id is not None:
        called += [entity.description, entity.description.rpartition(HEADINGS)[2]]
    return {key for name in called if (key := name_key(name))}


@lru_cache(maxsize=65_536)
def key_of(record_id: str) -> int:
    """Return a 64-bit key: reading it takes a fiftieth of reading the stored id."""
    return hash64(record_id)


def layout() -> str:
    """Return the format name; a different one means a rebuild."""
    return str(FORMAT)


class Progress(NamedTuple):
    position: Position | None
    erasable: int
    """Removed or replaced records that may still be on disk."""
    scattered: int
    """Records written since the last rewrite."""


def progress_document(position: Position, *, erasable: int, scattered: int) -> Document:
    """Build the document of the progress; without visibility no search finds it."""
    payload = [position.epoch, position.sequence, position.batch, erasable, scattered]
    return Document.from_dict({RESERVED: POSITION_KEY, "payload": json.dumps(payload)}, build_schema())


def read_progress(document: Document) -> Progress:
    epoch, sequence, batch, erasable, scattered = json.loads(document.get_first("payload") or "")
    return Progress(Position(epoch, sequence, batch), erasable, scattered)
