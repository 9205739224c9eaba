"""Records as indexes are given them."""

from datetime import UTC, datetime
from typing import Any

from stores.records import ORGANIZATION, Entity

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def entity(entity_id: str, **changes: Any) -> Entity:
    values: dict[str, Any] = {
        "organization_id": "o", "id": entity_id, "entity_type": "pattern", "name": "", "description": "",
        "content": "", "category": None, "languages": (), "tags": (), "metadata": {}, "source_file": None,
        "visibility": ORGANIZATION, "memory_scope": "organization", "scope_key": None, "project_id": None,
        "principal_id": "u", "revision": 1, "created_at": NOW, "updated_at": NOW,
    }  # fmt: skip
    return Entity(**values | changes)
