"""Raw memories: how each was captured and what became of it. Their texts are entities."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
INDEXES = {
    "source": ("source_id",),
    "captured": ("captured_at", "id"),
    "review": ("review_state", "captured_at", "id"),
    "content": ("content_hash",),
    "entity": ("entity_id",),
}


def upgrade() -> None:
    op.create_table(
        "raw_memories",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("id", KEY, nullable=False),
        sa.Column("source_id", KEY, nullable=False),
        sa.Column("capture_surface", KEY, nullable=False),
        sa.Column("captured_at", sa.BigInteger(), nullable=False),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.Column("agent_id", KEY, nullable=True),
        sa.Column("content_hash", KEY, nullable=False),
        sa.Column("review_state", KEY, nullable=False),
        sa.Column("entity_id", KEY, nullable=True),
        sa.Column("candidate", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("organization_id", "id", name="pk_raw_memories"),
        sa.ForeignKeyConstraint(
            ["organization_id", "id"],
            ["entities.organization_id", "entities.id"],
            name="fk_raw_memories_organization_id_id",
        ),
    )
    for name, columns in INDEXES.items():
        op.create_index(f"ix_raw_memories_{name}", "raw_memories", ["organization_id", *columns])
