"""Filters of entity lists and walks."""

from dataclasses import dataclass
from typing import Literal

SortKey = Literal["name", "created_at", "updated_at", "entity_type"]


@dataclass(frozen=True, slots=True)
class EntityQuery:
    """Filter, order and page of an entity list. An empty tuple filters nothing; case is ignored."""

    visibility: frozenset[str]
    types: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    priorities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Any of them suffices, as in every tuple."""
    languages: tuple[str, ...] = ()
    category: str | None = None
    project_ids: tuple[str, ...] = ()
    epic: str | None = None
    no_epic: bool = False
    """Only tasks without a visible epic."""
    complexity: str | None = None
    feature: str | None = None
    search: str | None = None
    """Part of the name or the description."""
    include_archived: bool = False
    """Implied by a status `archived`."""
    include_chunks: bool = False
    """Implied by a type `document`."""
    sort_by: SortKey = "updated_at"
    sort_order: Literal["asc", "desc"] = "desc"
    limit: int = 50
    offset: int = 0
