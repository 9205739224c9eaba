"""Which sources a search keeps to: documents by their source, raw memories by where they were kept from."""

from typing import Protocol

from tools.app import App
from tools.operation import Call


class NamesSources(Protocol):
    """What may name a source."""

    @property
    def source(self) -> str | None:
        """Its exact name."""

    @property
    def source_id(self) -> str | None:
        """Its id."""

    @property
    def source_name(self) -> str | None:
        """A part of its name."""


def said_by(app: App, call: Call, request: NamesSources, memories: str | None) -> frozenset[str] | None:
    """The raw memories of the source that is asked for; None where none is, or where it is one of documents."""
    if request.source_id is None or memories is None or request.source is not None or request.source_name is not None:
        return None
    found = app.ledger.memories_from(call.caller.organization_id, request.source_id)
    return frozenset(each.entity.id for each in found if each.entity.visibility == memories) or None


def sources_of(app: App, call: Call, request: NamesSources) -> tuple[str, ...] | None:
    """The ids of the readable sources that all given filters agree on; None when there is no such filter."""
    found: list[set[str]] = []
    organization, visible = call.caller.organization_id, call.caller.visible
    if request.source_id is not None:
        found.append({request.source_id})
    if request.source is not None:
        found.append(set(app.ledger.sources(organization, visibility=visible, name=request.source)))
    if request.source_name is not None:
        found.append(set(app.ledger.sources(organization, visibility=visible, name_contains=request.source_name)))
    return tuple(sorted(set.intersection(*found))) if found else None
