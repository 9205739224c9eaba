"""Schema of the lexical index."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from tantivy import Document, Index, Schema, SchemaBuilder

from stores.event_times import event_span
from stores.hashing import hash64
from stores.indexed_text import indexed_parts
from stores.language.code import is_code
from stores.lexical.analysis import analysed, identifiers, name_key, prepare, token_analyser, word_analyser
from stores.records import Entity, Facet, Position, facets
from stores.threads import ThreadPlace

FORMAT = 17
"""Increment when older indexes cannot be read or would answer differently: they are rebuilt."""

FACETS: tuple[Facet, ...] = get_args(Facet)
HEADINGS = " > "
"""Separator of the headings in a chunk's description."""
RESERVED = "reserved"
POSITION_KEY = "position"
RECORD = "record"
"""Mark of every record."""
THREADED = "threaded"
"""Mark of records in threads."""
CODE = "code"
"""Mark of records whose content is code."""

Field = Literal["text", "exact"]
"""Searched fields: words, and identifiers as they are written."""
LENGTHS: Mapping[Field, str] = {"text": "text_length", "exact": "exact_length"}
"""Columns with the number of terms in each searched field."""
HAPPENED = ("happened_from", "happened_until")
"""Columns with the first and last microsecond of the event that a record tells of."""


def open_index(path: str) -> Index:
    """Open or create an index in an existing folder."""
    index = Index(build_schema(), path)
    index.config_reader("manual")
    index.register_tokenizer("words", word_analyser())
    index.register_tokenizer("tokens", token_analyser())
    return index


def build_schema() -> Schema:
    """Build the schema. Every field is stored as prepared, because compaction copies the index from itself."""
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
    """Convert a record; each searched part is a value of its own, so that no phrase spans two."""
    document = Document()
    document.add_text(RESERVED, RECORD)
    document.add_text("id", entity.id)
    document.add_integer("key", key_of(entity.id))
    for name in names(entity):
        document.add_text("name", name)
    document.add_text("visibility", entity.visibility)
    document.add_integer("revision", entity.revision)
    document.add_integer("updated_at", microseconds(entity.updated_at))
    occasion = event_span(entity)
    if occasion is not None:
        for name, moment in zip(HAPPENED, (occasion.start, occasion.last), strict=True):
            document.add_integer(name, microseconds(moment))
    for facet, values in facets(entity).items():
        for value in values:
            document.add_text(facet, value)
    if place is not None:
        document.add_text(RESERVED, THREADED)
        document.add_integer("thread", place.thread)
        document.add_integer("place", place.order)
        document.add_integer("speaker", place.speaker)
    if is_code(entity.content):
        document.add_text(RESERVED, CODE)
    _add_searched(document, indexed_parts(entity))
    return document


def _add_searched(document: Document, parts: Sequence[str]) -> None:
    words = [prepare(part) for part in parts]
    for each in words:
        document.add_text("text", each)
    tokens = identifiers("\n".join(parts))
    document.add_text("exact", " ".join(tokens))
    document.add_integer(LENGTHS["text"], sum(len(analysed(each)) for each in words))
    document.add_integer(LENGTHS["exact"], len(tokens))


def names(entity: Entity) -> set[str]:
    """Return the normalised names of a record; of a chunk also its heading."""
    called = [entity.name]
    if entity.source_id is not None:
        called += [entity.description, entity.description.rpartition(HEADINGS)[2]]
    return {key for name in called if (key := name_key(name))}


@lru_cache(maxsize=65_536)
def key_of(record_id: str) -> int:
    """Return the 64-bit key of an id: reading it for a hit takes a fiftieth of reading the stored id."""
    return hash64(record_id)


def layout() -> str:
    """Return the format name of an index; a different one means a rebuild."""
    return str(FORMAT)


class Progress(NamedTuple):
    """Progress of an index."""

    position: Position | None
    """None for a fresh index."""
    erasable: int
    """Removed or replaced records whose text may still be on disk."""
    scattered: int
    """Records written since the last rewrite."""


def progress_document(position: Position, *, erasable: int, scattered: int) -> Document:
    """Build the document that stores the progress; without visibility, so that no search finds it."""
    document = Document()
    document.add_text(RESERVED, POSITION_KEY)
    numbers = (erasable, scattered)
    document.add_text("payload", json.dumps([position.epoch, position.sequence, position.batch, *numbers]))
    return document


def read_progress(document: Document, *, count: int) -> Progress:
    """Parse the progress document; `count` stands for `scattered` where that is missing."""
    epoch, sequence, batch, erasable, *scattered = json.loads(document.get_first("payload") or "")
    return Progress(Position(epoch, sequence, batch), erasable, *(scattered or [count]))


def microseconds(moment: datetime) -> int:
    """Convert a time to microseconds since 1970."""
    return int(moment.timestamp() * 1_000_000)
