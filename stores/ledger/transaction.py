"""One transaction: its repositories share a connection and commit together; erasure leaves no text behind."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Column, Connection, Table, delete, select, union, update

from stores.clock import Clock
from stores.errors import NotFound
from stores.ledger import schema
from stores.ledger.account_tables import PROJECTS
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.columns import Rows, among, here, json_list
from stores.ledger.documents import DOCUMENTS, DocumentWrites
from stores.ledger.encoding import Values
from stores.ledger.exporting import SourceImportWrites
from stores.ledger.facts import RelationWrites
from stores.ledger.idempotency import Claim, apply_claim
from stores.ledger.identities import access_of, identity_of
from stores.ledger.jobs import JobWrites
from stores.ledger.memories import MemoryWrites, PayloadWrites, RejectionWrites
from stores.ledger.store import Entry, Writes, Writing
from stores.ledger.workflow import WorkflowReads
from stores.records import Access, Entity, Identity, JsonObject, ProjectAccess

_entities = schema.entities
_relations = schema.relations
_answers = schema.idempotency_keys
_records = schema.idempotency_records


def _delete_by(column: Column[Any]) -> Any:  # noqa: ANN401, RUF100  (a Delete of any table)
    return delete(column.table).where(here(column.table), among(column))


# A union reads one index for each end; OR would read the relations of the whole organization.
_touching = union(
    *(
        select(_relations.c.id, _relations.c.name, _relations.c.visibility, _relations.c.expired_at).where(
            here(_relations), among(end)
        )
        for end in (_relations.c.source_id, _relations.c.target_id)
    )
)
_erased = select(_entities.c.id, _entities.c.revision, _entities.c.entity_type, _entities.c.visibility).where(
    here(_entities), among(_entities.c.id)
)
_erase_revisions = _delete_by(schema.entity_revisions.c.id)
_deletions = (
    update(schema.raw_memories)
    .where(here(schema.raw_memories), among(schema.raw_memories.c.entity_id))
    .values(entity_id=None),
    *map(_delete_by, (_relations.c.source_id, _relations.c.target_id, schema.entity_labels.c.entity_id)),
    _erase_revisions,
    *map(_delete_by, (schema.chunks.c.id, schema.citations.c.record_id, schema.payload_texts.c.id)),
    *map(_delete_by, (schema.raw_memories.c.id, _entities.c.id)),
)
_forget_answers = (
    update(_answers)
    .where(
        here(_answers),
        _answers.c.state.in_(("applied", "finished", "lost")),
        _answers.c.slot.in_(select(_records.c.slot).where(here(_records), among(_records.c.record))),
    )
    .values(state="erased", status=None, body=None)
)


class Erasure(DocumentWrites):
    def delete_entity(
        self, entity_id: str, *, expected_revision: int | None = None, fields: JsonObject | None = None
    ) -> Entity:
        """Erase an entity: revisions, labels, relations, stored answers, and a source's documents."""
        entity = self._expected(entity_id, self.remains(entity_id), expected_revision)
        self._erase(self._chunks(_entities, source_id=entity_id), {})
        DOCUMENTS.remove(self._connection, organization_id=self.organization_id, source_id=entity_id)
        self._erase([entity_id], fields or {})
        return entity

    def erase_past(self, entity_id: str) -> None:
        """Erase the replaced revisions of an entity, and the stored answers that name it."""
        values: Values = self._here | {"ids": json_list([entity_id])}
        self._run(_erase_revisions, values)
        self._run(_forget_answers, values | {"ids": json_list([f"entity:{entity_id}"])})

    def remove_document(self, document_id: str) -> None:
        self.remove_chunks(document_id, ())
        DOCUMENTS.remove(self._connection, organization_id=self.organization_id, id=document_id)

    def remove_chunks(self, document_id: str, kept: Collection[str]) -> None:
        """Erase the chunks of a document but for those that are kept."""
        if self._document(document_id) is None:
            raise NotFound(f"Document {document_id} does not exist.")
        chunks = self._chunks(schema.chunks, document_id=document_id)
        self._erase([each for each in chunks if each not in kept], {})

    def _chunks(self, table: Table, **equal: str) -> Sequence[str]:
        of_one = Rows(table).where(organization_id=self.organization_id, **equal)
        return self._connection.execute(select(table.c.id).where(*of_one)).scalars().all()

    def _erase(self, entity_ids: Iterable[str], fields: JsonObject) -> None:
        ids = list(entity_ids)
        values: Values = self._here | {"ids": json_list(ids)}
        for row in self._run(_touching, values):
            revision = 1 if row.expired_at is None else 2
            self._record(Entry("relation", row.id, "delete", revision, row.name, row.visibility))
        for row in self._run(_erased, values):
            self._record(Entry("entity", row.id, "delete", row.revision, row.entity_type, row.visibility, fields))
        for statement in _deletions:
            self._run(statement, values)
        self._run(_forget_answers, values | {"ids": json_list(f"entity:{entity_id}" for entity_id in ids)})


class RecordWrites(Erasure, WorkflowReads):
    pass


class PeopleWrites(Writes):
    def member(self, user_id: str) -> tuple[Identity, Access] | None:
        """Return a member's identity and access; None for anybody else."""
        identity = identity_of(self._connection, user_id, self.organization_id)
        if identity is None:
            return None
        return identity, access_of(self._connection, user_id, self.organization_id, self.now)

    def set_project_access(self, access: ProjectAccess, *, keep_creator: bool = False) -> None:
        """Store who may read a project; `keep_creator` keeps the creator of an existing row."""
        place = {"organization_id": self.organization_id, "project_id": access.project_id}
        changes = {"visibility": access.visibility} | ({} if keep_creator else {"creator_id": access.creator_id})
        if not PROJECTS.change(self._connection, changes, **place):
            PROJECTS.insert(self._connection, access, organization_id=self.organization_id)

    def is_open_project(self, project_id: str) -> bool:
        place: Values = {"organization_id": self.organization_id, "project_id": project_id}
        return bool(PROJECTS.cell(self._connection, "visibility", **place) == "org")


class Transaction(Writing):
    def __init__(
        self, connection: Connection, organization_id: str, actor_id: str, clock: Clock, *, deferred: bool
    ) -> None:
        super().__init__(connection, organization_id, actor_id, clock, deferred=deferred)
        self._begin = partial(Transaction, connection, actor_id=actor_id, clock=clock, deferred=deferred)
        self.elsewhere: dict[str, Transaction] = {}
        self.records = RecordWrites(self)
        self.relations = RelationWrites(self, self.records)
        self.memories = MemoryWrites(self, self.records)
        self.payloads = PayloadWrites(self)
        self.rejections = RejectionWrites(self)
        self.people = PeopleWrites(self)
        self.jobs = JobWrites(self)
        self.source_imports = SourceImportWrites(self)

    def in_organization(self, organization_id: str) -> "Transaction":
        """Return the part of the transaction that writes into an organization; all parts commit, or none."""
        if organization_id == self.organization_id:
            return self
        if organization_id not in self.elsewhere:
            self.elsewhere[organization_id] = self._begin(organization_id)
        return self.elsewhere[organization_id]

    def audit(self, draft: AuditDraft) -> str:
        return append_audit(self.connection, self.now, draft)

    def show_in_answer(self, entity_ids: Iterable[str]) -> None:
        """Name unwritten records in the answer: deleting or hiding them erases the stored answer."""
        self.shown.extend(entity_ids)

    def seal(self, claim: Claim | None) -> None:
        """Mark the claim, then write the feed: the last statements before the commit."""
        if claim is not None:
            apply_claim(self, claim)
        self.append_feed()
        for each in self.elsewhere.values():
            each.seal(None)
