"""Source filters of a search."""

from typing import Protocol

from tools.app import App
from tools.operation import Call


class NamesSources(Protocol):
    """A request with source filters."""

    @property
    def source(self) -> str | None: ...

    @property
    def source_id(self) -> str | None: ...

    @property
    def source_name(self) -> str | None: ...


def said_by(app: App, call: Call, request: NamesSources, memories: str | None) -> frozenset[str] | None:
    """Return the raw memories of the wanted source; None if it is not one of memories."""
    if request.source_id is None or memories is None or request.source is not None or request.source_name is not None:
        return None
    found = app.ledger.memories.memories_from(call.caller.organization_id, request.source_id)
    return frozenset(each.entity.id for each in found if each.entity.visibility == memories) or None


def sources_of(app: App, call: Call, request: NamesSources) -> tuple[str, ...] | None:
    """Return the ids of the readable sources that match all filters; None without a filter."""
    found: list[set[str]] = []
    organization, visible = call.caller.organization_id, call.caller.visible
    if request.source_id is not None:
        found.append({request.source_id})
    if request.source is not None:
        found.append(set(app.ledger.records.sources(organization, visibility=visible, name=request.source)))
    if request.source_name is not None:
        found.append(
            set(app.ledger.records.sources(organization, visibility=visible, name_contains=request.source_name))
        )
    return tuple(sorted(set.intersection(*found))) if found else None
