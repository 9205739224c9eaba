"""Sources, their documents, and the place of each chunk."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import bindparam, select

from stores.errors import Conflict, NotFound, ValidationFailed
from stores.language.wording import plain
from stores.ledger import schema
from stores.ledger.columns import DAMAGE, RecordTable, among, beside, damaged, here, json_list, sound
from stores.ledger.encoding import KEY_BYTES, Values, cut, fold, key_of, load_object
from stores.ledger.entities import ENTITIES, EntityWrites, to_entity
from stores.ledger.store import Store
from stores.records import Chunk, Document, Entity, EntityDraft

SOURCE = "source"


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    chunk: Chunk
    document_url: str
    document_title: str
    source_name: str
    source_url: str
    document_hash: str


_chunks = schema.chunks
_documents = schema.documents
_sources = schema.entities
_CHUNKS, DOCUMENTS = RecordTable(_chunks, Chunk), RecordTable(_documents, Document, "id")

_told = (_documents.c.url, _documents.c.title, _sources.c.name, _sources.c.metadata, _documents.c.content_hash)
_places = (
    select(*_CHUNKS.columns, *_told)
    .join(_documents, beside(_documents.c.id, _chunks.c.document_id))
    .join(_sources, beside(_sources.c.id, _chunks.c.source_id))
    .where(here(_chunks), among(_chunks.c.id))
)
_slice = (
    select(*_CHUNKS.columns, *ENTITIES.columns)
    .join(schema.entities, beside(schema.entities.c.id, _chunks.c.id))
    .where(
        here(_chunks),
        _chunks.c.document_id == bindparam("document"),
        _chunks.c.chunk_index.between(bindparam("first"), bindparam("last")),
    )
    .order_by(_chunks.c.chunk_index, _chunks.c.id)
)
_all_sources = (
    select(_sources.c.id, _sources.c.name)
    .where(here(_sources), _sources.c.type_key == SOURCE)
    .order_by(_sources.c.name_key, _sources.c.id)
)


class DocumentReads(Store):
    def chunks(self, organization_id: str, chunk_ids: Iterable[str]) -> dict[str, ChunkPlace]:
        rows = self._all(_places, {"organization": organization_id, "ids": json_list(chunk_ids)})
        return {place.chunk.id: place for place in sound(rows, _to_place)}

    def document_chunks(
        self, organization_id: str, document_id: str, first_index: int, last_index: int
    ) -> list[tuple[Chunk, Entity]]:
        """Return a document's chunks from one index to another, inclusive."""
        values = {"organization": organization_id, "document": document_id, "first": first_index, "last": last_index}
        return sound(self._all(_slice, values), lambda row: (_CHUNKS.read(row), to_entity(row[6:])))

    def sources(
        self,
        organization_id: str,
        *,
        visibility: frozenset[str],
        name: str | None = None,
        name_contains: str | None = None,
    ) -> list[str]:
        """Return the ids of visible sources by name; case is ignored."""
        statement = _all_sources.where(_sources.c.visibility.in_(sorted(visibility)))
        if name is not None:
            statement = statement.where(_sources.c.name_key == key_of(name))
        if name_contains:
            statement = statement.where(
                _sources.c.search_text.contains(cut(plain(name_contains), KEY_BYTES), autoescape=True)
            )
        rows = self._all(statement, {"organization": organization_id})
        return [row[0] for row in rows if _is_named(row[1], name, name_contains)]

    def documents(self, organization_id: str, source_id: str) -> list[Document]:
        statement = DOCUMENTS.select(organization_id=organization_id, source_id=source_id)
        return sound(self._all(statement), DOCUMENTS.read)


class DocumentWrites(EntityWrites):
    def add_document(self, document: Document) -> None:
        source = self.entity(document.source_id)
        if source is None or source.entity_type.lower() != SOURCE:
            raise NotFound(f"Source {document.source_id} does not exist.")
        if not self._insert_new(_documents, DOCUMENTS.values(document, organization_id=self.organization_id)):
            raise Conflict(f"Document {document.id} exists already.")

    def change_document(self, document: Document) -> None:
        """Store the title, content hash and fetching of a document; its chunks stay."""
        values = DOCUMENTS.values(document)
        changed = {name: values[name] for name in ("title", "content_hash", "fetched")}
        DOCUMENTS.change(self._connection, changed, organization_id=self.organization_id, id=document.id)

    def move_chunk(self, chunk_id: str, index: int) -> None:
        """Change the place of a chunk within its document, which no index knows."""
        _CHUNKS.change(self._connection, {"chunk_index": index}, organization_id=self.organization_id, id=chunk_id)

    def chunk_ids(self, source_id: str) -> list[str]:
        """Return the ids of a source's chunks, ordered."""
        of_source = _CHUNKS.where(organization_id=self.organization_id, source_id=source_id)
        return sorted(self._connection.execute(select(_chunks.c.id).where(*of_source)).scalars())

    def outdate_document(self, chunk_id: str) -> None:
        """Mark the document of a changed chunk as outdated: ingesting it restores the chunk."""
        here: Values = {"organization_id": self.organization_id}
        document_id = _CHUNKS.cell(self._connection, "document_id", **here, id=chunk_id)
        DOCUMENTS.change(self._connection, {"content_hash": ""}, **here, id=document_id)

    def add_chunk(self, chunk: Chunk, draft: EntityDraft) -> Entity:
        """Store a chunk's place and the entity with its text, under one id."""
        if draft.id != chunk.id:
            raise ValidationFailed(f"Chunk {chunk.id} cannot have the entity {draft.id}.")
        document = self._document(chunk.document_id)
        if document is None or document.source_id != chunk.source_id:
            raise NotFound(f"Source {chunk.source_id} has no document {chunk.document_id}.")
        entity = self.create_entity(replace(draft, source_id=chunk.source_id))
        _CHUNKS.insert(self._connection, chunk, organization_id=self.organization_id)
        return entity

    def _document(self, document_id: str) -> Document | None:
        return DOCUMENTS.one(self._connection, organization_id=self.organization_id, id=document_id)


def _is_named(found: str, name: str | None, name_contains: str | None) -> bool:
    return (name is None or fold(name) == fold(found)) and plain(name_contains or "") in plain(found)


def _to_place(row: Sequence[Any]) -> ChunkPlace:
    try:
        url = load_object(row[9]).get("url")
    except DAMAGE as error:
        raise damaged("source", row[2], "", error) from error
    return ChunkPlace(_CHUNKS.read(row), row[6], row[7], row[8], url if isinstance(url, str) else "", row[10])
