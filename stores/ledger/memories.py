"""Raw memories: the verbatim text is an entity, its capture a row. Their payloads; citations; words marked wrong."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, func, literal, or_, select

from stores.errors import NotFound
from stores.ledger import schema
from stores.ledger.columns import DAMAGE, RecordTable, Rows, among, beside, damaged, here, json_list, reader, sound
from stores.ledger.encoding import Values, check_keys, check_text, fold, key_of, to_micros
from stores.ledger.entities import ENTITIES, SOURCE, EntityWrites, to_entity
from stores.ledger.store import AsJson, Entry, Store, Writes, Writing, insert_rows
from stores.records import RAW_MEMORY, Capture, ChangeOperation, Entity, EntityDraft, JsonObject, RawMemory, ReviewState

CANDIDATE = "reflection_candidate"

_table = schema.raw_memories
_entities = schema.entities
_made = schema.entities.alias("made")
_labels = schema.entity_labels
_captures = RecordTable(_table, Capture)
_read_capture = reader(Capture)
_WIDTH = len(ENTITIES.columns)
_of_organization = here(_table)
_joined = select(*ENTITIES.columns, *_captures.columns).join(_table, beside(_table.c.id, _entities.c.id))
_by_ids = _joined.where(_of_organization, among(_table.c.id))
_alike = _joined.where(
    _of_organization,
    _table.c.content_hash == bindparam("content_hash"),
    _table.c.candidate.is_(None),
    _entities.c.visibility == bindparam("visibility"),
)
_by_content = _alike.order_by(_table.c.captured_at, _table.c.id).limit(1)
_latest_by_content = _alike.order_by(_table.c.captured_at.desc(), _table.c.id.desc()).limit(bindparam("limit"))
_waiting = (
    _joined.where(
        _of_organization,
        among(_table.c.content_hash, "content_hashes"),
        _table.c.candidate.is_not(None),
        _table.c.review_state.in_(("pending", "deferred")),
        _entities.c.visibility == bindparam("visibility"),
    )
    .order_by(_table.c.captured_at, _table.c.id)
    .limit(bindparam("limit"))
)
_from_source = _joined.where(_of_organization, _table.c.source_id == bindparam("source")).order_by(
    _table.c.captured_at, _table.c.id
)
_made_of = select(*ENTITIES.columns).where(
    here(_entities),
    _entities.c.id.in_(
        select(_labels.c.entity_id).where(here(_labels), _labels.c.kind == SOURCE, among(_labels.c.label))
    ),
)
_of_entity = _joined.where(_of_organization, _table.c.entity_id == bindparam("entity")).order_by(_table.c.id)

_is_decided = or_(_table.c.entity_id.is_not(None), _table.c.review_state == "archived")

_outcomes = select(AsJson(_table.c.id, _table.c.entity_id, _table.c.review_state)).where(
    _of_organization, _is_decided, among(_table.c.id)
)


@dataclass(frozen=True, slots=True)
class CaptureQuery:
    readable: frozenset[str]
    """Visibility keys of the captures to show."""
    visible: frozenset[str]
    """Visibility keys of the entities made of them."""
    entity_type: str | None = None
    """`raw_memory`, `reflection_candidate`, or the type of the entity made of it, if readable."""
    capture_surface: str | None = None
    review_state: ReviewState | None = None
    is_contested: bool = False
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ListedCapture:
    memory: RawMemory
    entity_type: str


class Outcome(NamedTuple):
    entity_id: str | None
    is_archived: bool


def content_hash(text: str) -> str:
    """Return the SHA-256 of the UTF-8 text in hexadecimal; lone surrogates are allowed."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


_citations = schema.citations


class CitedBy(NamedTuple):
    record_id: str
    visibility: str
    """As it was when the record was cited."""
    sessions: int
    """Distinct."""
    last_us: int
    """Microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Citing:
    visible: frozenset[str]
    """Keys of everything that the citing user may read."""
    session_key: str
    """A record counts once per user and session."""
    surface: str


@dataclass(frozen=True, slots=True)
class Cited:
    """Outcome of `cite`: each id is in one of the three, in order."""

    counted: Mapping[str, str]
    """Visibility key of each newly counted record."""
    replayed: tuple[str, ...]
    """Cited before in this session."""
    unknown: tuple[str, ...]
    """Absent or invisible."""


_cited_by = (
    select(
        _citations.c.record_id,
        _citations.c.visibility,
        func.count().label("sessions"),
        func.max(_citations.c.cited_at).label("last_us"),
    )
    .where(here(_citations), among(_citations.c.record_id))
    .group_by(_citations.c.record_id, _citations.c.user_id, _citations.c.visibility)
    .subquery()
)
_packed_cited_by = select(AsJson(*_cited_by.c))


class MemoryReads(Store):
    """The caller checks permissions where no visibility keys are given."""

    def outcomes(self, organization_id: str, memory_ids: Iterable[str]) -> dict[str, Outcome]:
        found = self._packed(_outcomes, {"organization": organization_id, "ids": json_list(memory_ids)})
        return {memory_id: Outcome(made, state == "archived") for memory_id, made, state in found}

    def memory(self, organization_id: str, memory_id: str) -> RawMemory | None:
        return self._one(_by_ids, {"organization": organization_id, "ids": json_list([memory_id])}, _to_memory)

    def by_ids(self, organization_id: str, memory_ids: Iterable[str]) -> dict[str, RawMemory]:
        rows = self._all(_by_ids, {"organization": organization_id, "ids": json_list(memory_ids)})
        return {memory.entity.id: memory for memory in sound(rows, _to_memory)}

    def memories_from(self, organization_id: str, source_id: str) -> list[RawMemory]:
        return sound(self._all(_from_source, {"organization": organization_id, "source": source_id}), _to_memory)

    def list_captures(self, organization_id: str, query: CaptureQuery) -> tuple[list[ListedCapture], int]:
        """Return one page, latest first, and the total."""
        listed = _listed(organization_id, query)
        page = listed.order_by(_table.c.captured_at.desc(), _table.c.id.desc())
        with self._database.read() as connection:
            total = connection.execute(listed.with_only_columns(func.count(), maintain_column_froms=True)).scalar_one()
            rows = connection.execute(page.limit(query.limit).offset(query.offset)).all()
        return sound(rows, lambda row: ListedCapture(_to_memory(row), row[-1])), total

    def citations(self, organization_id: str, record_ids: Iterable[str]) -> list[CitedBy]:
        """Count by record, citing user and visibility key."""
        values = {"organization": organization_id, "ids": json_list(record_ids)}
        return [CitedBy._make(row) for row in self._packed(_packed_cited_by, values)]


class MemoryWrites(Writes):
    def __init__(self, writing: Writing, records: EntityWrites) -> None:
        super().__init__(writing)
        self._records = records

    def memory(self, memory_id: str) -> RawMemory | None:
        return self._one(_by_ids, self._here | {"ids": json_list([memory_id])}, _to_memory)

    def by_ids(self, memory_ids: Iterable[str]) -> dict[str, RawMemory]:
        rows = self._run(_by_ids, self._here | {"ids": json_list(memory_ids)})
        return {memory.entity.id: memory for memory in sound(rows, _to_memory)}

    def same_memory(self, visibility: str, text: str) -> RawMemory | None:
        """Return the first raw memory with this exact text."""
        values = self._here | {"visibility": visibility, "content_hash": content_hash(text)}
        return next(iter(sound(self._run(_by_content, values), _to_memory)), None)

    def same_memories(self, visibility: str, text: str, *, limit: int) -> list[RawMemory]:
        """Return equal raw memories, latest first."""
        values = self._here | {"visibility": visibility, "content_hash": content_hash(text)}
        return sound(self._run(_latest_by_content, values | {"limit": limit}), _to_memory)

    def waiting_candidates(self, visibility: str, texts: Iterable[str], *, limit: int) -> list[RawMemory]:
        """Return waiting candidates with one of the texts, earliest first."""
        hashes = json_list(content_hash(text) for text in texts)
        values = self._here | {"visibility": visibility, "content_hashes": hashes}
        return sound(self._run(_waiting, values | {"limit": limit}), _to_memory)

    def made_of(self, record_ids: Iterable[str]) -> list[Entity]:
        return sound(self._run(_made_of, self._here | {"ids": json_list(map(key_of, record_ids))}), to_entity)

    def memories_of(self, entity_id: str) -> list[RawMemory]:
        values = self._here | {"entity": entity_id}
        return [_to_memory(row) for row in self._run(_of_entity, values)]

    def memories_from(self, source_id: str) -> list[RawMemory]:
        values = self._here | {"source": source_id}
        return sound(self._run(_from_source, values), _to_memory)

    def create_memory(self, draft: EntityDraft, capture: Capture) -> RawMemory:
        return self.create_memories([(draft, capture)])[0]

    def create_memories(self, drafts: Sequence[tuple[EntityDraft, Capture]]) -> list[RawMemory]:
        here = {"organization_id": self.organization_id}
        rows = [_captures.values(capture, id=draft.id, **here) for draft, capture in drafts]
        entities = self._records.create_entities([(replace(each, entity_type=RAW_MEMORY), None) for each, _ in drafts])
        insert_rows(self._connection, _table, rows)
        made = [RawMemory(entity, capture) for entity, (_, capture) in zip(entities, drafts, strict=True)]
        for memory in made:
            self._record_capture(memory, "create")
        return made

    def revise_memory(self, changed: Entity, **said: Any) -> RawMemory:
        """Store the next revision of a raw memory, with fields of its capture."""
        entity = self._records.update_entity(changed.id, lambda _: changed)
        return self._store(RawMemory(entity, replace(self._present(changed.id).capture, **said)), [*said])

    def correct_memory(self, changed: Entity, **said: Any) -> RawMemory:
        """Store the next revision of a raw memory whose words may be others, with fields of its capture."""
        return self.revise_memory(changed, content_hash=content_hash(changed.content), **said)

    def settle_memory(self, memory_id: str, **said: Any) -> RawMemory:
        """Change fields of the capture of a raw memory, such as its review state."""
        memory = self._present(memory_id)
        return self._store(RawMemory(memory.entity, replace(memory.capture, **said)), [*said])

    def cite(self, record_ids: Iterable[str], citing: Citing) -> Cited:
        """Count each visible record once per user and session."""
        check_keys((citing.session_key, citing.surface))
        distinct = list(dict.fromkeys(record_ids))
        there = self._records.outlines(distinct).values()
        readable = {each.id: each.visibility for each in there if each.visibility in citing.visible}
        known = [each for each in distinct if each in readable]
        shared: Values = {"user_id": self.actor_id, "session_key": citing.session_key, "surface": citing.surface}
        shared |= {"organization_id": self.organization_id, "cited_at": to_micros(self.now)}
        rows = [shared | {"record_id": each, "visibility": readable[each]} for each in known]
        counted = {row["record_id"]: row["visibility"] for row in rows if self._insert_new(_citations, row)}
        return Cited(
            counted,
            tuple(each for each in known if each not in counted),
            tuple(each for each in distinct if each not in readable),
        )

    def _present(self, memory_id: str) -> RawMemory:
        memory = self.memory(memory_id)
        if memory is None:
            raise NotFound(f"Raw memory {memory_id} does not exist.")
        return memory

    def _store(self, memory: RawMemory, columns: Sequence[str]) -> RawMemory:
        values = _captures.values(memory.capture)
        changed = {name: values[name] for name in columns}
        _captures.change(self._connection, changed, organization_id=self.organization_id, id=memory.entity.id)
        self._record_capture(memory, "update")
        return memory

    def _record_capture(self, memory: RawMemory, operation: ChangeOperation) -> None:
        entity, capture = memory.entity, memory.capture
        fields: JsonObject = {
            "capture_surface": capture.capture_surface,
            "review_state": capture.review_state,
            "action": "captured" if operation == "create" else "reviewed",
        }
        self._record(
            Entry("capture", entity.id, operation, entity.revision, entity.entity_type, entity.visibility, fields)
        )


def _to_memory(row: Sequence[Any]) -> RawMemory:
    entity = to_entity(row)
    try:
        return RawMemory(entity, _read_capture(row[_WIDTH:]))
    except DAMAGE as error:
        raise damaged("raw memory", entity.id, entity.visibility, error) from error


def _listed(organization_id: str, query: CaptureQuery) -> Select[Any]:
    made = and_(
        _made.c.organization_id == _table.c.organization_id,
        _made.c.id == _table.c.entity_id,
        _made.c.visibility.in_(sorted(query.visible)),
    )
    kind: ColumnElement[str] = case(
        (_made.c.id.is_not(None), _made.c.entity_type),
        (_table.c.candidate.is_not(None), literal(CANDIDATE)),
        else_=literal(RAW_MEMORY),
    )
    listed = (
        _joined.outerjoin(_made, made)
        .add_columns(kind.label("kind"))
        .where(_table.c.organization_id == organization_id, _entities.c.visibility.in_(sorted(query.readable)))
    )
    if query.entity_type is not None:
        listed = listed.where(func.lower(kind) == key_of(query.entity_type))
    if query.capture_surface is not None:
        listed = listed.where(_table.c.capture_surface == query.capture_surface)
    if query.review_state is not None:
        listed = listed.where(_table.c.review_state == query.review_state)
    if query.is_contested:
        # A quotation mark in a reason is escaped, and the state before is named otherwise.
        listed = listed.where(_table.c.lifecycle.contains('"state":"contested"'))
    return listed


_payloads = Rows(schema.payload_texts)


class PayloadReads(Store):
    def text(self, organization_id: str, memory_id: str, place: int) -> str | None:
        text: str | None = self._cell(_payloads, "content", organization_id=organization_id, id=memory_id, place=place)
        return text


class PayloadWrites(Writes):
    """Adds nothing to the feed. Erasing the raw memory erases its payload."""

    def text(self, memory_id: str, place: int) -> str | None:
        of_memory: Values = {"organization_id": self.organization_id, "id": memory_id}
        text: str | None = _payloads.cell(self._connection, "content", **of_memory, place=place)
        return text

    def replace_text(self, memory_id: str, place: int, text: str) -> None:
        self._replace(memory_id, [(place, text)], place=place)

    def replace_texts(self, memory_id: str, texts: Iterable[str]) -> None:
        """Store the texts from place 0 on, instead of all that were there."""
        self._replace(memory_id, enumerate(texts))

    def _replace(self, memory_id: str, texts: Iterable[tuple[int, str]], **where: int) -> None:
        of_memory = {"organization_id": self.organization_id, "id": memory_id}
        _payloads.remove(self._connection, **of_memory, **where)
        rows = [of_memory | {"place": place, "content": text} for place, text in texts]
        check_text(str(row["content"]) for row in rows)
        insert_rows(self._connection, _payloads.table, rows)


_rejections = schema.rejections
_rejected = select(_rejections.c.text_hash, _rejections.c.memory_id).where(
    here(_rejections), _rejections.c.scope == bindparam("scope"), among(_rejections.c.text_hash, "hashes")
)


class RejectionWrites(Writes):
    """A scope is a memory scope with its key. Case and blanks of the words do not count."""

    def reject(self, scope: str, texts: Iterable[str], memory_id: str) -> None:
        """Keep hashes of words that a marked memory, or a record made of it, stated."""
        for text_hash in sorted({_hash(text) for text in texts if text.strip()}):
            row = {"scope": scope, "text_hash": text_hash, "memory_id": memory_id}
            self._insert_new(_rejections, row | {"organization_id": self.organization_id})

    def admit(self, memory_id: str) -> None:
        Rows(_rejections).remove(self._connection, organization_id=self.organization_id, memory_id=memory_id)

    def rejected(self, scope: str, texts: Iterable[str]) -> dict[str, str]:
        """Return the rejected ones of these texts, each with the id of the memory that was marked wrong."""
        hashes = {text: _hash(text) for text in texts if text.strip()}
        rows = self._run(_rejected, self._here | {"scope": scope, "hashes": json_list(hashes.values())})
        found = {row.text_hash: row.memory_id for row in rows}
        return {text: found[text_hash] for text, text_hash in hashes.items() if text_hash in found}


def _hash(text: str) -> str:
    return hashlib.sha256(" ".join(fold(text).split()).encode(errors="surrogatepass")).hexdigest()
