"""Texts of a record that are indexed: fields and retrieval keys, but no tags."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stores.records import Entity

RETRIEVAL_KEYS = "retrieval_keys"
"""Metadata key of further words to find a record by."""


def indexed_parts(entity: "Entity") -> list[str]:
    """Return the distinct indexed texts, in the order of `searchable_text`."""
    parts = (entity.name, entity.description, entity.content, _keys(entity.metadata))
    return [part for part in dict.fromkeys(parts) if part]


def _keys(metadata: Mapping[str, object]) -> str:
    found = metadata.get(RETRIEVAL_KEYS)
    if not isinstance(found, list):
        return ""
    return "\n".join(dict.fromkeys(key.strip() for key in found if isinstance(key, str) and key.strip()))
