"""Memory spaces: scopes of raw memory that have members of their own, or are switched off."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "memory_spaces",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("id", KEY, nullable=False),
        sa.Column("memory_scope", KEY, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("state", KEY, nullable=False),
        sa.Column("disabled_reason", KEY, nullable=True),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.Column("created_by_user_id", KEY, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "id", name="pk_memory_spaces"),
        sa.UniqueConstraint(
            "organization_id",
            "memory_scope",
            "scope_key",
            name="uq_memory_spaces_organization_id_memory_scope_scope_key",
        ),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name="fk_memory_spaces_organization_id"),
    )
    op.create_table(
        "memory_space_members",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("space_id", KEY, nullable=False),
        sa.Column("principal_type", KEY, nullable=False),
        sa.Column("principal_id", KEY, nullable=False),
        sa.Column("id", KEY, nullable=False),
        sa.Column("role", KEY, nullable=False),
        sa.Column("permissions", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_by_user_id", KEY, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "organization_id", "space_id", "principal_type", "principal_id", name="pk_memory_space_members"
        ),
        sa.ForeignKeyConstraint(
            ["organization_id", "space_id"],
            ["memory_spaces.organization_id", "memory_spaces.id"],
            name="fk_memory_space_members_organization_id_space_id",
            ondelete="CASCADE",
        ),
    )
    op.create_index(
        "ix_memory_space_members_principal",
        "memory_space_members",
        ["organization_id", "principal_type", "principal_id"],
    )
