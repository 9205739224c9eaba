"""Tables of records; those of people are in `account_tables`."""

from sqlalchemy import Column, ForeignKeyConstraint, Index, TextClause, text

from stores.jobs import Job
from stores.ledger.account_tables import organizations as organizations
from stores.ledger.account_tables import users as users
from stores.ledger.columns import KeyText, columns_for, key, keys, number, of_organization, of_user, refers, table
from stores.ledger.columns import metadata as metadata
from stores.records import Capture, Change, Chunk, Document, Entity, Relation
from stores.source_imports import SourceImport


def _belongs_to_entity(column: str) -> ForeignKeyConstraint:
    return refers("entities", "organization_id", f"{column} id")


def _partial_index(column: str, *counted: str) -> Index:
    present = text(f"{column} IS NOT NULL")
    return _index_where(present, f"ix_entities_{column.removesuffix('_id')}", column, *counted)


def _index_where(condition: TextClause, name: str, *columns: str) -> Index:
    return Index(name, "organization_id", *columns, sqlite_where=condition, postgresql_where=condition)


MAY_CONFLICT = text("(expired_at IS NOT NULL OR invalid_at IS NOT NULL OR name = 'SUPERSEDES')")
"""Condition of conflicting relations. Queries repeat it literally, or SQLite does not use the index."""

SUPERSEDING = text("name = 'SUPERSEDES'")
"""Superseding relations; repeated literally, without parameters."""

_NARROWING = ("visibility", "status_key", "source_id")
_WORKFLOW = ("priority_key", "complexity_key", "feature_key", "category_key")
"""In the indexes, so that matches are counted without reading records."""

meta = table("meta", *keys("name"), key("value"))

_KEYS = ("type_key", "name_key", "category_key", "status_key", "priority_key", "complexity_key", "feature_key")

_LAST = ("metadata", "description", "content", "search_text")
"""Long texts: SQLite walks their pages to reach later columns."""
_COLUMNS = columns_for(
    Entity, of_organization(primary_key=True), *map(key, _KEYS), key("epic_id", nullable=True), key("search_text")
)

entities = table(
    "entities",
    *sorted(_COLUMNS, key=lambda column: _LAST.index(column.name) if column.name in _LAST else -1),
    Index("ix_entities_updated", "organization_id", "updated_at", "id"),
    Index("ix_entities_created", "organization_id", "created_at", "id"),
    Index("ix_entities_name", "organization_id", "name_key", "id"),
    Index(
        "ix_entities_kept",
        "organization_id",
        "type_key",
        *_NARROWING,
        "project_id",
        "epic_id",
        *_WORKFLOW,
        "updated_at",
        "id",
    ),
    _partial_index("source_id"),
    _partial_index("project_id", "type_key", "status_key", "visibility", "source_id", "epic_id", "priority_key", "id"),
    _partial_index("epic_id", "type_key", "status_key", "visibility", "source_id", "project_id", "priority_key", "id"),
)

_FIELDS = {column.name for column in columns_for(Entity)} - {"organization_id", "id", "revision"}

entity_revisions = table(
    "entity_revisions",
    *keys("organization_id", "id"),
    number("revision", primary_key=True),
    number("valid_from"),
    number("valid_to"),
    *(Column(each.name, each.type, nullable=each.nullable) for each in entities.c if each.name in _FIELDS),
    _belongs_to_entity("id"),
)
"""Replaced revisions. The current one is in `entities`."""

entity_labels = table(
    "entity_labels",
    *keys("organization_id", "kind", "label", "entity_id"),
    Index("ix_entity_labels_entity", "organization_id", "entity_id"),
    _belongs_to_entity("entity_id"),
)

_SUPERSEDING_COLUMNS = (
    "target_id", "created_at", "source_id", "visibility", "valid_at", "invalid_at", "expired_at", "name", "id"
)  # fmt: skip

relations = table(
    "relations",
    *keys("organization_id"),
    Index("ix_relations_source", "organization_id", "source_id", "created_at", "id"),
    Index("ix_relations_target", "organization_id", "target_id", "created_at", "id"),
    Index("ix_relations_known", "organization_id", "created_at", "id"),
    _index_where(MAY_CONFLICT, "ix_relations_ended", "created_at", "id"),
    _index_where(MAY_CONFLICT, "ix_relations_ended_source", "source_id", "created_at", "id"),
    _index_where(MAY_CONFLICT, "ix_relations_ended_target", "target_id", "created_at", "id"),
    _index_where(SUPERSEDING, "ix_relations_superseding", *_SUPERSEDING_COLUMNS),
    _belongs_to_entity("source_id"),
    _belongs_to_entity("target_id"),
    of=Relation,
)

relation_ends = table(
    "relation_ends",
    *keys("organization_id", "relation_id"),
    number("known_from", primary_key=True),
    number("known_to"),
    number("known_invalid_at", nullable=True),
    number("known_expired_at", nullable=True),
    key("why"),
    refers("relations", "organization_id", "relation_id id", cascade=True),
)
"""Earlier ends of relations by transaction time."""

documents = table(
    "documents",
    *keys("organization_id"),
    Index("ix_documents_source", "organization_id", "source_id"),
    _belongs_to_entity("source_id"),
    of=Document,
)

chunks = table(
    "chunks",
    *keys("organization_id"),
    Index("ix_chunks_document", "organization_id", "document_id", "chunk_index"),
    Index("ix_chunks_source", "organization_id", "source_id"),
    _belongs_to_entity("id"),
    refers("documents", "organization_id", "document_id id"),
    of=Chunk,
)

citations = table(
    "citations",
    *keys("organization_id", "record_id"),
    of_user(primary_key=True),
    *keys("session_key"),
    key("visibility"),
    key("surface"),
    number("cited_at"),
    _belongs_to_entity("record_id"),
)
"""`visibility` is that of the record when it was cited."""

raw_memories = table(
    "raw_memories",
    *keys("organization_id", "id"),
    # PostgreSQL indexes rows of at most 2,704 bytes.
    Column("source_id", KeyText, nullable=False, info={"most": 2_560}),
    Index("ix_raw_memories_source", "organization_id", "source_id"),
    Index("ix_raw_memories_captured", "organization_id", "captured_at", "id"),
    Index("ix_raw_memories_review", "organization_id", "review_state", "captured_at", "id"),
    Index("ix_raw_memories_content", "organization_id", "content_hash"),
    Index("ix_raw_memories_entity", "organization_id", "entity_id"),
    _belongs_to_entity("id"),
    of=Capture,
)
"""The text is the entity with the same id."""

rejections = table(
    "rejections",
    *keys("organization_id", "scope", "text_hash", "memory_id"),
    Index("ix_rejections_memory", "organization_id", "memory_id"),
)
"""Words that were marked wrong, as hashes. `scope` is a memory scope with its key."""

payload_texts = table(
    "payload_texts",
    *keys("organization_id", "id"),
    number("place", primary_key=True),
    key("content"),
    _belongs_to_entity("id"),
)
"""Long texts of a raw memory that no index holds, by their place in its payload."""

changes = table("changes", *keys("organization_id"), number("sequence", primary_key=True), of=Change)

idempotency_keys = table(
    "idempotency_keys",
    *keys("organization_id", "slot"),
    *map(key, ("claim_id", "body_hash", "holder", "state")),
    number("status", nullable=True),
    key("body", nullable=True),
    number("expires_at", index=True),
)
"""`slot` hashes principal, method, path and key, too long for an index."""

idempotency_records = table(
    "idempotency_records",
    *keys("organization_id", "slot"),
    number("ordinal", primary_key=True),
    key("record"),
    Index("ix_idempotency_records_record", "organization_id", "record"),
    refers("idempotency_keys", "organization_id", "slot", cascade=True),
)

jobs = table("jobs", *keys("organization_id"), key("holder"), Index("ix_jobs_due", "due_at"), of=Job)

source_imports = table("source_imports", *keys("organization_id"), of_user(), of=SourceImport)
