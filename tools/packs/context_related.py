"""Relations of the items of a context pack: one step, read from the ledger. Blocks."""

from collections.abc import Collection, Mapping, Sequence

from auth.policy import may_read
from auth.principal import Principal
from stores.ledger.links import Link
from stores.records import Entity
from tools.app import App
from tools.packs.context_models import RelatedItem
from tools.packs.markdown import on_one_line
from tools.packs.selection import GONE

READ = 12
"""Per direction, latest first."""
CONTENT_LIMIT = 200
STRUCTURE = frozenset({"BELONGS_TO", "CONTAINS", "PART_OF", "CHILD_OF"})
"""Listed after the others."""


def related_items(
    app: App, caller: Principal, ids: Sequence[str], *, limit: int, project_id: str | None
) -> Mapping[str, list[RelatedItem]]:
    """Return the current, readable neighbours of each item, without the project."""
    organization = caller.organization_id
    linked = app.ledger.relations.links_around(organization, ids, visibility=caller.visible, limit=READ)
    others = {link.id for links in linked.values() for link in links} - {project_id}
    standings = app.ledger.records.statuses(organization, others, visibility=caller.visible)
    usable = {
        each
        for each, standing in standings.items()
        if not standing.superseded and standing.facets.status not in GONE and may_read(caller, standing.visibility)
    }
    shown = {each: _first(links, usable, limit) for each, links in linked.items()}
    entities = app.ledger.records.entities(organization, {link.id for links in shown.values() for link in links})
    readable = {each: entity for each, entity in entities.items() if may_read(caller, entity.visibility)}
    return {
        each: [_related(link, readable[link.id]) for link in links if link.id in readable]
        for each, links in shown.items()
    }


def _first(links: Sequence[Link], usable: Collection[str], limit: int) -> list[Link]:
    once: dict[str, Link] = {}
    for link in sorted(links, key=lambda link: link.name in STRUCTURE):
        if link.id in usable:
            once.setdefault(link.id, link)
    return list(once.values())[:limit]


def _related(link: Link, other: Entity) -> RelatedItem:
    status = other.metadata.get("status")
    return RelatedItem(
        id=other.id,
        type=other.entity_type,
        name=other.name,
        relationship=link.name,
        direction=link.way,
        content=on_one_line((other.content or other.description)[: 2 * CONTENT_LIMIT], CONTENT_LIMIT) or None,
        metadata={"status": status} if isinstance(status, str) else {},
    )
