"""Erasure: deleted records leave no text behind in any table."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BindParameter, bindparam, delete, or_, select, update

from stores.errors import NotFound
from stores.ledger import schema
from stores.ledger.documents import DocumentWrites
from stores.ledger.engine import in_chunks
from stores.ledger.rows import Values
from stores.ledger.writing import Entry
from stores.records import Entity, JsonObject

_organization: BindParameter[str] = bindparam("organization")
_ids: BindParameter[str] = bindparam("ids", expanding=True)
_entities = schema.entities
_relations = schema.relations
_documents = schema.documents
_answers = schema.idempotency_keys
_records = schema.idempotency_records


def _delete_by(table: Any, *columns: str) -> Any:  # noqa: ANN401, RUF100  (a Delete of any table)
    found = or_(*(table.c[column].in_(_ids) for column in columns))
    return delete(table).where(table.c.organization_id == _organization, found)


_touching = select(_relations.c.id, _relations.c.name, _relations.c.visibility, _relations.c.expired_at).where(
    _relations.c.organization_id == _organization,
    or_(_relations.c.source_id.in_(_ids), _relations.c.target_id.in_(_ids)),
)
_erased = select(_entities.c.id, _entities.c.revision, _entities.c.entity_type, _entities.c.visibility).where(
    _entities.c.organization_id == _organization, _entities.c.id.in_(_ids)
)
_deletions = (
    _delete_by(_relations, "source_id", "target_id"),
    _delete_by(schema.entity_labels, "entity_id"),
    _delete_by(schema.entity_revisions, "id"),
    _delete_by(schema.chunks, "id"),
    _delete_by(schema.citations, "record_id"),
    _delete_by(schema.raw_memories, "id"),
    _delete_by(_entities, "id"),
)
_forget_derived = (
    update(schema.raw_memories)
    .where(schema.raw_memories.c.organization_id == _organization, schema.raw_memories.c.entity_id.in_(_ids))
    .values(entity_id=None)
)
_forget_answers = (
    update(_answers)
    .where(
        _answers.c.organization_id == _organization,
        _answers.c.state.in_(("applied", "finished", "lost")),
        _answers.c.slot.in_(
            select(_records.c.slot).where(_records.c.organization_id == _organization, _records.c.record.in_(_ids))
        ),
    )
    .values(state="erased", status=None, body=None)
)
_chunks_of_document = select(schema.chunks.c.id).where(
    schema.chunks.c.organization_id == _organization, schema.chunks.c.document_id == bindparam("document")
)
_chunks_of_source = select(_entities.c.id).where(
    _entities.c.organization_id == _organization, _entities.c.source_id == bindparam("source")
)
_drop_document = delete(_documents).where(
    _documents.c.organization_id == _organization, _documents.c.id == bindparam("document")
)
_drop_documents = delete(_documents).where(
    _documents.c.organization_id == _organization, _documents.c.source_id == bindparam("source")
)


class Erasure(DocumentWrites):
    def delete_entity(
        self, entity_id: str, *, expected_revision: int | None = None, fields: JsonObject | None = None
    ) -> Entity:
        """Erase an entity: revisions, labels, relations, stored answers, and a source's documents."""
        entity = self._expected(entity_id, self.remains(entity_id), expected_revision)
        source: Values = {"organization": self.organization_id, "source": entity_id}
        self._erase([row[0] for row in self._run(_chunks_of_source, source)], {})
        self._run(_drop_documents, source)
        self._erase([entity_id], fields or {})
        return entity

    def remove_document(self, document_id: str) -> None:
        if self._document(document_id) is None:
            raise NotFound(f"Document {document_id} does not exist.")
        document: Values = {"organization": self.organization_id, "document": document_id}
        self._erase([row[0] for row in self._run(_chunks_of_document, document)], {})
        self._run(_drop_document, document)

    def _erase(self, entity_ids: Iterable[str], fields: JsonObject) -> None:
        for ids in in_chunks(entity_ids):
            values: Values = {"organization": self.organization_id, "ids": ids}
            for row in self._run(_touching, values):
                revision = 1 if row.expired_at is None else 2
                self._record(Entry("relation", row.id, "delete", revision, row.name, row.visibility))
            for row in self._run(_erased, values):
                self._record(Entry("entity", row.id, "delete", row.revision, row.entity_type, row.visibility, fields))
            for statement in (_forget_derived, *_deletions):
                self._run(statement, values)
            self._run(_forget_answers, values | {"ids": [f"entity:{entity_id}" for entity_id in ids]})
