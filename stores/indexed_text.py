"""Texts of a record that are indexed: fields and retrieval keys, but no tags."""

from collections.abc import Mapping
from typing import Protocol

RETRIEVAL_KEYS = "retrieval_keys"
"""Metadata key of further words to find a record by."""


class Indexed(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def metadata(self) -> Mapping[str, object]: ...


def indexed_parts(entity: Indexed) -> list[str]:
    """Return the distinct indexed texts, in the order of `searchable_text`."""
    parts = (entity.name, entity.description, entity.content, _keys(entity.metadata))
    return [part for part in dict.fromkeys(parts) if part]


def _keys(metadata: Mapping[str, object]) -> str:
    found = metadata.get(RETRIEVAL_KEYS)
    if not isinstance(found, list):
        return ""
    return "\n".join(dict.fromkeys(key.strip() for key in found if isinstance(key, str) and key.strip()))
