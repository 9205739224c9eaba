"""Citations: which records were of use to whom."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
KEYS = ("organization_id", "record_id", "user_id", "session_key")


def upgrade() -> None:
    op.create_table(
        "citations",
        *(sa.Column(name, KEY, nullable=False) for name in (*KEYS, "visibility", "surface")),
        sa.Column("cited_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(*KEYS, name="pk_citations"),
        sa.ForeignKeyConstraint(
            ["organization_id", "record_id"],
            ["entities.organization_id", "entities.id"],
            name="fk_citations_organization_id_record_id",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_citations_user_id", ondelete="CASCADE"),
    )
    op.create_index("ix_citations_user_id", "citations", ["user_id"])
