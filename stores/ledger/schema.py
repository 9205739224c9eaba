"""The tables of the ledger. Instants are microseconds since 1970, JSON is text: both are the same on every database."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

KeyText = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that is compared: by code point on every database, whatever the locale of the server."""


def _key(name: str, *, primary_key: bool = False, nullable: bool = False) -> Column[str]:
    return Column(name, KeyText, primary_key=primary_key, nullable=nullable)


def _text(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


def _micros(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _organization() -> Column[str]:
    return Column("organization_id", KeyText, primary_key=True)


def _belongs_to_entity(column: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["organization_id", column], ["entities.organization_id", "entities.id"])


def _partial_index(column: str) -> Index:
    """Leave out the rows without a value: SQLite would read all of them by such an index, instead of a better one."""
    present = text(f"{column} IS NOT NULL")
    name = f"ix_entities_{column.removesuffix('_id')}"
    return Index(name, "organization_id", column, sqlite_where=present, postgresql_where=present)


meta = Table("meta", metadata, _key("name", primary_key=True), _text("value"))

organizations = Table(
    "organizations",
    metadata,
    _key("id", primary_key=True),
    _text("name"),
    Column("slug", KeyText, nullable=False, unique=True),
    Column("is_personal", Boolean, nullable=False),
    _micros("created_at"),
    _micros("seq"),
    _key("batch"),
)
"""`seq` is the head of the change feed and `batch` that of its last row, which outlives pruning."""

users = Table(
    "users",
    metadata,
    _key("id", primary_key=True),
    _text("email"),
    Column("email_key", KeyText, nullable=False, unique=True),
    _text("name"),
    _text("password_hash", nullable=True),
    Column("is_admin", Boolean, nullable=False),
    _text("avatar_url", nullable=True),
    Column("codehost_id", BigInteger, nullable=True, unique=True),
    _micros("created_at"),
)

memberships = Table(
    "memberships",
    metadata,
    Column("user_id", KeyText, ForeignKey("users.id"), primary_key=True),
    Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True, index=True),
    _key("role"),
    _micros("created_at"),
)

sessions = Table(
    "sessions",
    metadata,
    _key("id", primary_key=True),
    Column("user_id", KeyText, ForeignKey("users.id"), nullable=False, index=True),
    Column("organization_id", KeyText, ForeignKey("organizations.id"), nullable=False),
    _key("refresh_id"),
    _micros("created_at"),
    _micros("expires_at"),
    _micros("revoked_at", nullable=True),
)

entities = Table(
    "entities",
    metadata,
    Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True),
    _key("id", primary_key=True),
    _text("entity_type"),
    _key("type_key"),
    _text("name"),
    _key("name_key"),
    _text("category", nullable=True),
    _key("category_key"),
    _key("status_key"),
    _key("priority_key"),
    _key("complexity_key"),
    _key("feature_key"),
    _key("epic_id", nullable=True),
    _key("visibility"),
    _text("memory_scope"),
    _text("scope_key", nullable=True),
    _key("project_id", nullable=True),
    _key("principal_id"),
    _key("source_id", nullable=True),
    Column("revision", Integer, nullable=False),
    _micros("created_at"),
    _micros("updated_at"),
    _text("source_file", nullable=True),
    _text("languages"),
    _text("tags"),
    _text("metadata"),
    _text("description"),
    _text("content"),
    _text("search_text"),
    Index("ix_entities_updated", "organization_id", "updated_at", "id"),
    Index("ix_entities_created", "organization_id", "created_at", "id"),
    Index("ix_entities_name", "organization_id", "name_key", "id"),
    Index("ix_entities_kept", "organization_id", "type_key", "visibility", "status_key", "source_id", "id"),
    _partial_index("source_id"),
    _partial_index("project_id"),
    _partial_index("epic_id"),
)
"""The current revision of each entity. Long texts come last: SQLite walks their pages to reach what follows."""

entity_revisions = Table(
    "entity_revisions",
    metadata,
    _organization(),
    _key("id", primary_key=True),
    Column("revision", Integer, primary_key=True),
    _micros("valid_from"),
    _micros("valid_to"),
    _text("entity_type"),
    _text("name"),
    _text("category", nullable=True),
    _key("visibility"),
    _text("memory_scope"),
    _text("scope_key", nullable=True),
    _key("project_id", nullable=True),
    _key("principal_id"),
    _key("source_id", nullable=True),
    _micros("created_at"),
    _micros("updated_at"),
    _text("source_file", nullable=True),
    _text("languages"),
    _text("tags"),
    _text("metadata"),
    _text("description"),
    _text("content"),
    _belongs_to_entity("id"),
)
"""Each revision that is no longer current, complete. The current one is in `entities`, valid from its `updated_at`."""

entity_labels = Table(
    "entity_labels",
    metadata,
    _organization(),
    _key("kind", primary_key=True),
    _key("label", primary_key=True),
    _key("entity_id", primary_key=True),
    Index("ix_entity_labels_entity", "organization_id", "entity_id"),
    _belongs_to_entity("entity_id"),
)

relations = Table(
    "relations",
    metadata,
    _organization(),
    _key("id", primary_key=True),
    _key("name"),
    _key("source_id"),
    _key("target_id"),
    _text("fact"),
    _micros("created_at"),
    _micros("expired_at", nullable=True),
    _micros("valid_at"),
    _micros("invalid_at", nullable=True),
    _key("visibility"),
    _key("principal_id"),
    _text("provenance"),
    Index("ix_relations_source", "organization_id", "source_id"),
    Index("ix_relations_target", "organization_id", "target_id"),
    _belongs_to_entity("source_id"),
    _belongs_to_entity("target_id"),
)

documents = Table(
    "documents",
    metadata,
    _organization(),
    _key("id", primary_key=True),
    _key("source_id"),
    _text("url"),
    _text("title"),
    _text("content_hash"),
    Index("ix_documents_source", "organization_id", "source_id"),
    _belongs_to_entity("source_id"),
)

chunks = Table(
    "chunks",
    metadata,
    _organization(),
    _key("id", primary_key=True),
    _key("document_id"),
    _key("source_id"),
    Column("chunk_index", Integer, nullable=False),
    _text("chunk_type"),
    _text("heading_path"),
    Index("ix_chunks_document", "organization_id", "document_id", "chunk_index"),
    Index("ix_chunks_source", "organization_id", "source_id"),
    _belongs_to_entity("id"),
    ForeignKeyConstraint(["organization_id", "document_id"], ["documents.organization_id", "documents.id"]),
)

project_access = Table(
    "project_access",
    metadata,
    _organization(),
    _key("project_id", primary_key=True),
    _key("visibility"),
    _key("creator_id"),
)
"""Outlives the project entity, because its tasks do."""

changes = Table(
    "changes",
    metadata,
    _organization(),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    _key("kind"),
    _key("record_id"),
    _key("operation"),
    Column("revision", Integer, nullable=False),
    _text("entity_type"),
    _key("visibility"),
    _key("actor"),
    _key("batch"),
    Column("deferred", Boolean, nullable=False),
    _text("fields"),
    _micros("created_at"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    _organization(),
    _key("slot", primary_key=True),
    _key("claim_id"),
    _text("body_hash"),
    _key("holder"),
    _key("state"),
    Column("status", Integer, nullable=True),
    _text("body", nullable=True),
    Column("expires_at", BigInteger, nullable=False, index=True),
)
"""`slot` is the hash of principal, method, path and key: together they may be longer than an index row."""

idempotency_records = Table(
    "idempotency_records",
    metadata,
    _organization(),
    _key("slot", primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    _key("record"),
    Index("ix_idempotency_records_record", "organization_id", "record"),
    ForeignKeyConstraint(
        ["organization_id", "slot"],
        ["idempotency_keys.organization_id", "idempotency_keys.slot"],
        ondelete="CASCADE",
    ),
)

leases = Table(
    "leases",
    metadata,
    _organization(),
    _key("name", primary_key=True),
    _key("holder"),
    _micros("token"),
    _micros("expires_at"),
)
