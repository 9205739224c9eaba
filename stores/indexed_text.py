"""What is searched of a record: its own words, and those by which it is to be found beside them; never its tags."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stores.records import Entity

RETRIEVAL_KEYS = "retrieval_keys"
"""The metadata key of further words by which a record is to be found, in a list."""


def indexed_parts(entity: "Entity") -> list[str]:
    """The texts of a record that are searched, each once, in the order in which they stand in `searchable_text`."""
    parts = (entity.name, entity.description, entity.content, _keys(entity.metadata))
    return [part for part in dict.fromkeys(parts) if part]


def _keys(metadata: Mapping[str, object]) -> str:
    found = metadata.get(RETRIEVAL_KEYS)
    if not isinstance(found, list):
        return ""
    return "\n".join(dict.fromkeys(key.strip() for key in found if isinstance(key, str) and key.strip()))
