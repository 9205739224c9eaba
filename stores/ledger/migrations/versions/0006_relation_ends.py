"""Ends of relations that were replaced by others: announced, put off, taken back or taken over.

There is nothing to take over from the relations that exist: the end that they carry is the one that is known now, and
which others were announced before was not kept until today.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
RELATION = ["organization_id", "relation_id"]


def upgrade() -> None:
    op.create_table(
        "relation_ends",
        sa.Column("organization_id", KEY, nullable=False),
        sa.Column("relation_id", KEY, nullable=False),
        sa.Column("known_from", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("known_to", sa.BigInteger(), nullable=False),
        sa.Column("known_invalid_at", sa.BigInteger(), nullable=True),
        sa.Column("known_expired_at", sa.BigInteger(), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            RELATION,
            ["relations.organization_id", "relations.id"],
            name="fk_relation_ends_organization_id_relation_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(*RELATION, "known_from", name="pk_relation_ends"),
    )
