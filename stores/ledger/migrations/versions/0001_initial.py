"""The first schema of the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", KEY, nullable=False),
        sa.Column("record_id", KEY, nullable=False),
        sa.Column("operation", KEY, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("entity_type", sa.Text(), nullable=False),
        sa.Column("visibility", KEY, nullable=False),
        sa.Column("actor", KEY, nullable=False),
        sa.Column("batch", KEY, nullable=False),
        sa.Column("deferred", sa.Boolean(), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "sequence", name="pk_changes"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("slot", KEY, nullable=False),
        sa.Column("claim_id", KEY, nullable=False),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("holder", KEY, nullable=False),
        sa.Column("state", KEY, nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "slot", name="pk_idempotency_keys"),
    )
    op.create_index("ix_idempotency_keys_expires_at", "idempotency_keys", ["expires_at"])
    op.create_table(
        "leases",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("name", KEY, nullable=False),
        sa.Column("holder", KEY, nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "name", name="pk_leases"),
    )
    op.create_table(
        "meta",
        sa.Column("name", KEY, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )
    op.create_table(
        "organizations",
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", KEY, nullable=False),
        sa.Column("is_personal", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("batch", KEY, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_organizations"),
        sa.UniqueConstraint("slug", name="uq_organizations_slug"),
    )
    op.create_table(
        "project_access",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("project_id", KEY, nullable=False),
        sa.Column("visibility", KEY, nullable=False),
        sa.Column("creator_id", KEY, nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "project_id", name="pk_project_access"),
    )
    op.create_table(
        "users",
        sa.Column("id", KEY, nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_key", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("avatar_url", sa.Text(), nullable=True),
        sa.Column("codehost_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("codehost_id", name="uq_users_codehost_id"),
        sa.UniqueConstraint("email_key", name="uq_users_email_key"),
    )
    op.create_table(
        "entities",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("id", KEY, nullable=False),
        sa.Column("entity_type", sa.Text(), nullable=False),
        sa.Column("type_key", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", KEY, nullable=False),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("category_key", KEY, nullable=False),
        sa.Column("status_key", KEY, nullable=False),
        sa.Column("priority_key", KEY, nullable=False),
        sa.Column("complexity_key", KEY, nullable=False),
        sa.Column("feature_key", KEY, nullable=False),
        sa.Column("epic_id", KEY, nullable=True),
        sa.Column("visibility", KEY, nullable=False),
        sa.Column("memory_scope", sa.Text(), nullable=False),
        sa.Column("scope_key", sa.Text(), nullable=True),
        sa.Column("project_id", KEY, nullable=True),
        sa.Column("principal_id", KEY, nullable=False),
        sa.Column("source_id", KEY, nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("source_file", sa.Text(), nullable=True),
        sa.Column("languages", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("search_text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name="fk_entities_organization_id"),
        sa.PrimaryKeyConstraint("organization_id", "id", name="pk_entities"),
    )
    op.create_index("ix_entities_created", "entities", ["organization_id", "created_at", "id"])
    op.create_index(
        "ix_entities_kept", "entities", ["organization_id", "type_key", "visibility", "status_key", "source_id", "id"]
    )
    op.create_index("ix_entities_name", "entities", ["organization_id", "name_key", "id"])
    for column in ("source_id", "project_id", "epic_id"):
        present = sa.text(f"{column} IS NOT NULL")
        name = f"ix_entities_{column.removesuffix('_id')}"
        op.create_index(name, "entities", ["organization_id", column], sqlite_where=present, postgresql_where=present)
    op.create_index("ix_entities_updated", "entities", ["organization_id", "updated_at", "id"])
    op.create_table(
        "idempotency_records",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("slot", KEY, nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("record", KEY, nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id", "slot"],
            ["idempotency_keys.organization_id", "idempotency_keys.slot"],
            name="fk_idempotency_records_organization_id_slot",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("organization_id", "slot", "ordinal", name="pk_idempotency_records"),
    )
    op.create_index("ix_idempotency_records_record", "idempotency_records", ["organization_id", "record"])
    op.create_table(
        "memberships",
        sa.Column("user_id", KEY, nullable=False),
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("role", KEY, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name="fk_memberships_organization_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_memberships_user_id"),
        sa.PrimaryKeyConstraint("user_id", "organization_id", name="pk_memberships"),
    )
    op.create_index("ix_memberships_organization_id", "memberships", ["organization_id"])
    op.create_table(
        "sessions",
        sa.Column("id", KEY, nullable=False),
        sa.Column("user_id", KEY, nullable=False),
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("refresh_id", KEY, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name="fk_sessions_organization_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_sessions_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_table(
        "documents",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("id", KEY, nullable=False),
        sa.Column("source_id", KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id", "source_id"],
            ["entities.organization_id", "entities.id"],
            name="fk_documents_organization_id_source_id",
        ),
        sa.PrimaryKeyConstraint("organization_id", "id", name="pk_documents"),
    )
    op.create_index("ix_documents_source", "documents", ["organization_id", "source_id"])
    op.create_table(
        "entity_labels",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("kind", KEY, nullable=False),
        sa.Column("label", KEY, nullable=False),
        sa.Column("entity_id", KEY, nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id", "entity_id"],
            ["entities.organization_id", "entities.id"],
            name="fk_entity_labels_organization_id_entity_id",
        ),
        sa.PrimaryKeyConstraint("organization_id", "kind", "label", "entity_id", name="pk_entity_labels"),
    )
    op.create_index("ix_entity_labels_entity", "entity_labels", ["organization_id", "entity_id"])
    op.create_table(
        "entity_revisions",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("id", KEY, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("valid_from", sa.BigInteger(), nullable=False),
        sa.Column("valid_to", sa.BigInteger(), nullable=False),
        sa.Column("entity_type", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("visibility", KEY, nullable=False),
        sa.Column("memory_scope", sa.Text(), nullable=False),
        sa.Column("scope_key", sa.Text(), nullable=True),
        sa.Column("project_id", KEY, nullable=True),
        sa.Column("principal_id", KEY, nullable=False),
        sa.Column("source_id", KEY, nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("source_file", sa.Text(), nullable=True),
        sa.Column("languages", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id", "id"],
            ["entities.organization_id", "entities.id"],
            name="fk_entity_revisions_organization_id_id",
        ),
        sa.PrimaryKeyConstraint("organization_id", "id", "revision", name="pk_entity_revisions"),
    )
    op.create_table(
        "relations",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("id", KEY, nullable=False),
        sa.Column("name", KEY, nullable=False),
        sa.Column("source_id", KEY, nullable=False),
        sa.Column("target_id", KEY, nullable=False),
        sa.Column("fact", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expired_at", sa.BigInteger(), nullable=True),
        sa.Column("valid_at", sa.BigInteger(), nullable=False),
        sa.Column("invalid_at", sa.BigInteger(), nullable=True),
        sa.Column("visibility", KEY, nullable=False),
        sa.Column("principal_id", KEY, nullable=False),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id", "source_id"],
            ["entities.organization_id", "entities.id"],
            name="fk_relations_organization_id_source_id",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id", "target_id"],
            ["entities.organization_id", "entities.id"],
            name="fk_relations_organization_id_target_id",
        ),
        sa.PrimaryKeyConstraint("organization_id", "id", name="pk_relations"),
    )
    op.create_index("ix_relations_source", "relations", ["organization_id", "source_id"])
    op.create_index("ix_relations_target", "relations", ["organization_id", "target_id"])
    op.create_table(
        "chunks",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("id", KEY, nullable=False),
        sa.Column("document_id", KEY, nullable=False),
        sa.Column("source_id", KEY, nullable=False),
        sa.Column("chunk_index", sa.Integer(), nullable=False),
        sa.Column("chunk_type", sa.Text(), nullable=False),
        sa.Column("heading_path", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["organization_id", "document_id"],
            ["documents.organization_id", "documents.id"],
            name="fk_chunks_organization_id_document_id",
        ),
        sa.ForeignKeyConstraint(
            ["organization_id", "id"], ["entities.organization_id", "entities.id"], name="fk_chunks_organization_id_id"
        ),
        sa.PrimaryKeyConstraint("organization_id", "id", name="pk_chunks"),
    )
    op.create_index("ix_chunks_document", "chunks", ["organization_id", "document_id", "chunk_index"])
    op.create_index("ix_chunks_source", "chunks", ["organization_id", "source_id"])
