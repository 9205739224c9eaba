"""What is linked to the items of a context pack: one step along present relations, read from the ledger. Blocks."""

from collections.abc import Mapping, Sequence

from auth.policy import may_read
from auth.principal import Principal
from stores.records import Entity, Relation
from tools.app import App
from tools.context_models import RelatedItem
from tools.packs.excerpts import excerpt
from tools.packs.selection import GONE

READ = 12
"""Relations of an item that are read, the latest first; what is out of use is dropped from them."""
CONTENT_LIMIT = 200
STRUCTURE = frozenset({"BELONGS_TO", "CONTAINS", "PART_OF", "CHILD_OF"})
"""Relations that say where a record is filed; the others say more of it and come first."""

Linked = tuple[Relation, str]
"""A relation, and its end that is not the item."""


def related_items(
    app: App, caller: Principal, ids: Sequence[str], *, limit: int, project_id: str | None
) -> Mapping[str, list[RelatedItem]]:
    """Return what the caller may read around each item, by its id: what says most first, then the latest.

    What was superseded or archived is left out, and so is the project that the pack is for.
    """
    organization = caller.organization_id
    linked = {each: _links(app, caller, each) for each in app.ledger.linked(organization, ids)}
    others = {other for links in linked.values() for _, other in links} - {project_id}
    standings = app.ledger.standings(organization, others, visibility=caller.visible)
    usable = {
        each
        for each, standing in standings.items()
        if not standing.superseded and standing.facets.status not in GONE and may_read(caller, standing.visibility)
    }
    shown = {each: _first(links, usable, limit) for each, links in linked.items()}
    entities = app.ledger.entities(organization, {other for links in shown.values() for _, other in links})
    readable = {each: entity for each, entity in entities.items() if may_read(caller, entity.visibility)}
    return {
        each: [_related(each, relation, readable[other]) for relation, other in links if other in readable]
        for each, links in shown.items()
    }


def _links(app: App, caller: Principal, entity_id: str) -> list[Linked]:
    relations = app.ledger.readable_relations_of(
        caller.organization_id, entity_id, visibility=caller.visible, limit=READ
    )
    return [(each, each.target_id if each.source_id == entity_id else each.source_id) for each in relations]


def _first(links: Sequence[Linked], usable: set[str], limit: int) -> list[Linked]:
    once: dict[str, Linked] = {}
    for link in sorted(links, key=lambda link: link[0].name in STRUCTURE):
        if link[1] in usable:
            once.setdefault(link[1], link)
    return list(once.values())[:limit]


def _related(item_id: str, relation: Relation, other: Entity) -> RelatedItem:
    status = other.metadata.get("status")
    return RelatedItem(
        id=other.id,
        type=other.entity_type,
        name=other.name,
        relationship=relation.name,
        direction="outgoing" if relation.source_id == item_id else "incoming",
        content=excerpt(other.content or other.description, CONTENT_LIMIT) or None,
        metadata={"status": status} if isinstance(status, str) else {},
    )
