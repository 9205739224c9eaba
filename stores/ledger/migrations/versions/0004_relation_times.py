"""Indexes: relations in the order in which they became known, what supersedes, and lists that are counted by them."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ENDED = "(expired_at IS NOT NULL OR invalid_at IS NOT NULL OR name = 'SUPERSEDES')"
SUPERSEDING = "name = 'SUPERSEDES'"
KEPT = ("type_key", "visibility", "status_key", "source_id", "project_id", "epic_id")
WORKFLOW = ("priority_key", "complexity_key", "feature_key", "category_key", "id")
COUNTED = ("type_key", "status_key", "visibility", "source_id")


def upgrade() -> None:
    for end in ("source", "target"):
        op.drop_index(f"ix_relations_{end}", "relations")
        _index(f"ix_relations_{end}", f"{end}_id", "created_at", "id")
    _index("ix_relations_known", "created_at", "id")
    _index("ix_relations_ended", "created_at", "id", where=ENDED)
    for end in ("source", "target"):
        _index(f"ix_relations_ended_{end}", f"{end}_id", "created_at", "id", where=ENDED)
    _index("ix_relations_superseding", "target_id", "created_at", where=SUPERSEDING)
    for name in ("kept", "project", "epic"):
        op.drop_index(f"ix_entities_{name}", "entities")
    _index("ix_entities_kept", *KEPT, *WORKFLOW)
    for place, other in (("project", "epic"), ("epic", "project")):
        columns = (f"{place}_id", *COUNTED, f"{other}_id", "priority_key", "id")
        _index(f"ix_entities_{place}", *columns, where=f"{place}_id IS NOT NULL")


def _index(name: str, *columns: str, where: str | None = None) -> None:
    table = name.split("_")[1]
    condition = None if where is None else sa.text(where)
    op.create_index(name, table, ["organization_id", *columns], sqlite_where=condition, postgresql_where=condition)
