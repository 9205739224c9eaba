"""How a record lies in the lexical index."""

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

FORMAT = 15
"""Raised whenever an index written before can no longer be read or no longer says the same: it is then rebuilt."""

FACETS: tuple[Facet, ...] = get_args(Facet)
HEADINGS = " > "
"""What stands between the headings above a chunk in its description."""
RESERVED = "reserved"
POSITION_KEY = "position"
RECORD = "record"
"""What is reserved in every record."""
THREADED = "threaded"
"""What is reserved in a record that stands in a thread."""
CODE = "code"
"""What is reserved in a record whose content is code."""

Field = Literal["text", "exact"]
"""A field that is searched: words, or identifiers as they are written."""
LENGTHS: Mapping[Field, str] = {"text": "text_length", "exact": "exact_length"}
"""The columns with how many terms each searched field of a record has."""
HAPPENED = ("happened_from", "happened_until")
"""The columns with the first and the last microsecond of when it happened what a record tells of."""


def open_index(path: str) -> Index:
    """Open or create an index in a folder that exists."""
    index = Index(build_schema(), path)
    index.config_reader("manual")
    index.register_tokenizer("words", word_analyser())
    index.register_tokenizer("tokens", token_analyser())
    return index


def build_schema() -> Schema:
    """Every field is stored in its prepared form, because an index without deleted text is copied from itself."""
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
    """Lay a record out; what is searched of it are values of one field, so that no phrase runs on."""
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
    """What a record is called, as questions are compared with it: its name, and for a chunk its heading as well."""
    called = [entity.name]
    if entity.source_id is not None:
        called += [entity.description, entity.description.rpartition(HEADINGS)[2]]
    return {key for name in called if (key := name_key(name))}


@lru_cache(maxsize=65_536)
def key_of(record_id: str) -> int:
    """A number of 64 bits that stands for an id: reading it for a hit takes a fiftieth of reading the stored id."""
    return hash64(record_id)


def layout() -> str:
    """Return the label of the index format; an index with another one is rebuilt."""
    return str(FORMAT)


class Progress(NamedTuple):
    """What an index says of itself."""

    position: Position | None
    """How far it has come; None for a fresh one."""
    erasable: int
    """Removed or replaced records whose text may still be on disk."""
    scattered: int
    """Records that were written since it was last written as one."""


def progress_document(position: Position, *, erasable: int, scattered: int) -> Document:
    """The reserved record of an index's progress; it has no visibility, so no search finds it."""
    document = Document()
    document.add_text(RESERVED, POSITION_KEY)
    numbers = (erasable, scattered)
    document.add_text("payload", json.dumps([position.epoch, position.sequence, position.batch, *numbers]))
    return document


def read_progress(document: Document, *, count: int) -> Progress:
    """What the reserved record says; where nobody noted what was scattered, everything was: so many records."""
    epoch, sequence, batch, erasable, *scattered = json.loads(document.get_first("payload") or "")
    return Progress(Position(epoch, sequence, batch), erasable, *(scattered or [count]))


def microseconds(moment: datetime) -> int:
    """A time as an integer that keeps its order."""
    return int(moment.timestamp() * 1_000_000)
