"""Tables of records; those of people are in `account_tables`."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    TextClause,
    text,
)

from stores.ledger.account_tables import memberships as memberships
from stores.ledger.account_tables import organizations as organizations
from stores.ledger.account_tables import sessions as sessions
from stores.ledger.account_tables import users as users
from stores.ledger.columns import KeyText, field_names, key, micros, words
from stores.ledger.columns import metadata as metadata
from stores.records import Entity


def _organization() -> Column[str]:
    return Column("organization_id", KeyText, primary_key=True)


def _belongs_to_entity(column: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["organization_id", column], ["entities.organization_id", "entities.id"])


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

meta = Table("meta", metadata, key("name", primary_key=True), words("value"))

entities = Table(
    "entities",
    metadata,
    Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True),
    key("id", primary_key=True),
    words("entity_type"),
    key("type_key"),
    words("name"),
    key("name_key"),
    words("category", nullable=True),
    key("category_key"),
    key("status_key"),
    key("priority_key"),
    key("complexity_key"),
    key("feature_key"),
    key("epic_id", nullable=True),
    key("visibility"),
    words("memory_scope"),
    words("scope_key", nullable=True),
    key("project_id", nullable=True),
    key("principal_id"),
    key("source_id", nullable=True),
    Column("revision", Integer, nullable=False),
    micros("created_at"),
    micros("updated_at"),
    words("source_file", nullable=True),
    words("languages"),
    words("tags"),
    words("metadata"),
    words("description"),
    words("content"),
    words("search_text"),
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
"""Long texts come last: SQLite walks their pages to reach later columns."""

_FIELDS = {*field_names(Entity)} - {"organization_id", "id", "revision"}
_REVISED = [column for column in entities.c if column.name in _FIELDS]

entity_revisions = Table(
    "entity_revisions",
    metadata,
    _organization(),
    key("id", primary_key=True),
    Column("revision", Integer, primary_key=True),
    micros("valid_from"),
    micros("valid_to"),
    *(Column(each.name, each.type, nullable=each.nullable) for each in _REVISED),
    _belongs_to_entity("id"),
)
"""Replaced revisions. The current one is in `entities`."""

entity_labels = Table(
    "entity_labels",
    metadata,
    _organization(),
    key("kind", primary_key=True),
    key("label", primary_key=True),
    key("entity_id", primary_key=True),
    Index("ix_entity_labels_entity", "organization_id", "entity_id"),
    _belongs_to_entity("entity_id"),
)

relations = Table(
    "relations",
    metadata,
    _organization(),
    key("id", primary_key=True),
    key("name"),
    key("source_id"),
    key("target_id"),
    words("fact"),
    micros("created_at"),
    micros("expired_at", nullable=True),
    micros("valid_at"),
    micros("invalid_at", nullable=True),
    key("visibility"),
    key("principal_id"),
    words("provenance"),
    Index("ix_relations_source", "organization_id", "source_id", "created_at", "id"),
    Index("ix_relations_target", "organization_id", "target_id", "created_at", "id"),
    Index("ix_relations_known", "organization_id", "created_at", "id"),
    _index_where(MAY_CONFLICT, "ix_relations_ended", "created_at", "id"),
    _index_where(MAY_CONFLICT, "ix_relations_ended_source", "source_id", "created_at", "id"),
    _index_where(MAY_CONFLICT, "ix_relations_ended_target", "target_id", "created_at", "id"),
    _index_where(
        SUPERSEDING,
        "ix_relations_superseding",
        "target_id",
        "created_at",
        "source_id",
        "visibility",
        "valid_at",
        "invalid_at",
        "expired_at",
        "name",
        "id",
    ),
    _belongs_to_entity("source_id"),
    _belongs_to_entity("target_id"),
)

relation_ends = Table(
    "relation_ends",
    metadata,
    _organization(),
    key("relation_id", primary_key=True),
    Column("known_from", BigInteger, primary_key=True, autoincrement=False),
    micros("known_to"),
    micros("known_invalid_at", nullable=True),
    micros("known_expired_at", nullable=True),
    words("why"),
    ForeignKeyConstraint(
        ["organization_id", "relation_id"], ["relations.organization_id", "relations.id"], ondelete="CASCADE"
    ),
)
"""Earlier ends of relations by transaction time."""

documents = Table(
    "documents",
    metadata,
    _organization(),
    key("id", primary_key=True),
    key("source_id"),
    words("url"),
    words("title"),
    words("content_hash"),
    words("fetched", nullable=True),
    Index("ix_documents_source", "organization_id", "source_id"),
    _belongs_to_entity("source_id"),
)

chunks = Table(
    "chunks",
    metadata,
    _organization(),
    key("id", primary_key=True),
    key("document_id"),
    key("source_id"),
    Column("chunk_index", Integer, nullable=False),
    words("chunk_type"),
    words("heading_path"),
    Index("ix_chunks_document", "organization_id", "document_id", "chunk_index"),
    Index("ix_chunks_source", "organization_id", "source_id"),
    _belongs_to_entity("id"),
    ForeignKeyConstraint(["organization_id", "document_id"], ["documents.organization_id", "documents.id"]),
)

citations = Table(
    "citations",
    metadata,
    _organization(),
    key("record_id", primary_key=True),
    Column("user_id", KeyText, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True),
    key("session_key", primary_key=True),
    key("visibility"),
    key("surface"),
    micros("cited_at"),
    _belongs_to_entity("record_id"),
)
"""`visibility` is that of the record when it was cited."""

raw_memories = Table(
    "raw_memories",
    metadata,
    _organization(),
    key("id", primary_key=True),
    key("source_id"),
    key("capture_surface"),
    micros("captured_at"),
    words("provenance"),
    key("agent_id", nullable=True),
    key("content_hash"),
    key("review_state"),
    key("entity_id", nullable=True),
    words("candidate", nullable=True),
    words("lifecycle", nullable=True),
    Index("ix_raw_memories_source", "organization_id", "source_id"),
    Index("ix_raw_memories_captured", "organization_id", "captured_at", "id"),
    Index("ix_raw_memories_review", "organization_id", "review_state", "captured_at", "id"),
    Index("ix_raw_memories_content", "organization_id", "content_hash"),
    Index("ix_raw_memories_entity", "organization_id", "entity_id"),
    _belongs_to_entity("id"),
)
"""The text is the entity with the same id."""

rejections = Table(
    "rejections",
    metadata,
    _organization(),
    key("scope", primary_key=True),
    key("text_hash", primary_key=True),
    key("memory_id", primary_key=True),
    Index("ix_rejections_memory", "organization_id", "memory_id"),
)
"""Words that were marked wrong, as hashes. `scope` is a memory scope with its key."""

payload_texts = Table(
    "payload_texts",
    metadata,
    _organization(),
    key("id", primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    words("content"),
    _belongs_to_entity("id"),
)
"""Long texts of a raw memory that no index holds, by their place in its payload."""

project_access = Table(
    "project_access",
    metadata,
    _organization(),
    key("project_id", primary_key=True),
    key("visibility"),
    key("creator_id"),
)
"""Outlives the project entity, because its tasks do."""

changes = Table(
    "changes",
    metadata,
    _organization(),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    key("kind"),
    key("record_id"),
    key("operation"),
    Column("revision", Integer, nullable=False),
    words("entity_type"),
    key("visibility"),
    key("actor"),
    key("batch"),
    Column("deferred", Boolean, nullable=False),
    words("fields"),
    micros("created_at"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    _organization(),
    key("slot", primary_key=True),
    key("claim_id"),
    words("body_hash"),
    key("holder"),
    key("state"),
    Column("status", Integer, nullable=True),
    words("body", nullable=True),
    Column("expires_at", BigInteger, nullable=False, index=True),
)
"""`slot` hashes principal, method, path and key, too long for an index."""

idempotency_records = Table(
    "idempotency_records",
    metadata,
    _organization(),
    key("slot", primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    key("record"),
    Index("ix_idempotency_records_record", "organization_id", "record"),
    ForeignKeyConstraint(
        ["organization_id", "slot"], ["idempotency_keys.organization_id", "idempotency_keys.slot"], ondelete="CASCADE"
    ),
)

leases = Table(
    "leases",
    metadata,
    _organization(),
    key("name", primary_key=True),
    key("holder"),
    micros("token"),
    micros("expires_at"),
)

jobs = Table(
    "jobs",
    metadata,
    _organization(),
    key("id", primary_key=True),
    key("function"),
    words("payload"),
    key("state"),
    key("visibility"),
    key("actor_id"),
    key("api_key_id", nullable=True),
    Column("attempts", Integer, nullable=False),
    micros("due_at", nullable=True),
    key("holder"),
    micros("token"),
    Column("again", Boolean, nullable=False),
    Column("done", Integer, nullable=True),
    Column("total", Integer, nullable=True),
    words("result", nullable=True),
    words("error", nullable=True),
    micros("created_at"),
    micros("started_at", nullable=True),
    micros("finished_at", nullable=True),
    Index("ix_jobs_due", "due_at"),
)
