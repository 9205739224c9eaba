"""Relations are found in the order in which they became known: of an entity, of an organization, and what ended."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ENDED = "(expired_at IS NOT NULL OR invalid_at IS NOT NULL OR name = 'SUPERSEDES')"


def upgrade() -> None:
    for end in ("source", "target"):
        op.drop_index(f"ix_relations_{end}", "relations")
        op.create_index(f"ix_relations_{end}", "relations", ["organization_id", f"{end}_id", "created_at", "id"])
    known = ["organization_id", "created_at", "id"]
    op.create_index("ix_relations_known", "relations", known)
    where = sa.text(ENDED)
    op.create_index("ix_relations_ended", "relations", known, sqlite_where=where, postgresql_where=where)
