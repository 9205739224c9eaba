"""Filters of entity lists and walks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from stores.ledger.encoding import key_of
from stores.ledger.row_cache import Facets

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


def test_of(query: EntityQuery) -> Callable[[Facets], bool]:
    """Compile a query to a predicate on facets, without the epic's visibility."""
    types, statuses, priorities = (
        {key_of(word) for word in words} for words in (query.types, query.statuses, query.priorities)
    )
    words = {
        name: key_of(word)
        for name, word in (("category", query.category), ("complexity", query.complexity), ("feature", query.feature))
        if word is not None
    }
    shows_archived = query.include_archived or "archived" in statuses
    shows_chunks = query.include_chunks or "document" in types

    def passes(facets: Facets) -> bool:
        return (
            (not types or facets.type in types)
            and (not statuses or facets.status in statuses)
            and (not priorities or facets.priority in priorities)
            and all(getattr(facets, name) == word for name, word in words.items())
            and (not query.project_ids or facets.project_id in query.project_ids)
            and (query.epic is None or facets.epic_id == query.epic)
            and (not query.no_epic or facets.type == "task")
            and (shows_archived or facets.status != "archived")
            and (shows_chunks or facets.source_id is None)
        )

    return passes
