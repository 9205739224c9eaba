"""Ledger reads of context packs: related records, and current tasks. Blocks."""

from collections.abc import Collection, Mapping, Sequence

from auth.policy import may_read
from auth.principal import Principal
from stores.ledger import EntityQuery
from stores.ledger.links import Link
from stores.records import Entity
from tools.app import App
from tools.packs.context_models import RelatedItem
from tools.packs.facets import GONE, Option
from tools.text.plain import one_line

READ = 12
"""Per direction, latest first."""
CONTENT_LIMIT = 200
UNDER_WAY = ("doing", "blocked", "review")
LEADING = 5
LOOKED_AT = 50
STRUCTURE = frozenset({"BELONGS_TO", "CONTAINS", "PART_OF", "CHILD_OF"})
"""Listed after the others."""


def related_items(
    app: App, caller: Principal, ids: Sequence[str], *, limit: int, project_id: str | None
) -> Mapping[str, list[RelatedItem]]:
    """Return the current, readable neighbours of each item, without the project."""
    organization = caller.organization_id
    linked = app.ledger.relations.links_around(organization, ids, visibility=caller.visible, limit=READ)
    others = {link.id for links in linked.values() for link in links} - {project_id}
    usable = in_force(app, caller, others)
    shown = {each: _first(links, usable, limit) for each, links in linked.items()}
    entities = app.ledger.records.entities(organization, {link.id for links in shown.values() for link in links})
    readable = {each: entity for each, entity in entities.items() if may_read(caller, entity.visibility)}
    return {
        each: [_related(link, readable[link.id]) for link in links if link.id in readable]
        for each, links in shown.items()
    }


def in_force(app: App, caller: Principal, ids: Collection[str]) -> set[str]:
    """Return the visible entities that are neither superseded nor archived."""
    standings = app.ledger.records.statuses(caller.organization_id, ids, visibility=caller.visible)
    return {
        each
        for each, standing in standings.items()
        if not standing.superseded and standing.facets.status not in GONE and standing.visibility in caller.visible
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
        content=one_line((other.content or other.description)[: 2 * CONTENT_LIMIT], CONTENT_LIMIT) or None,
        metadata={"status": status} if isinstance(status, str) else {},
    )


def leading_tasks(app: App, caller: Principal, project_id: str, scores: Mapping[str, float]) -> list[Option]:
    """Return tasks under way by score, state and last change."""
    organization, visible = caller.organization_id, caller.visible
    query = EntityQuery(
        visibility=visible, types=("task",), statuses=UNDER_WAY, project_ids=(project_id,), limit=LOOKED_AT
    )
    tasks, _ = app.ledger.records.list_entities(organization, query)
    retired = app.ledger.records.superseded(organization, [task.id for task in tasks], visibility=visible)
    options = [
        Option(task.id, task.entity_type, str(task.metadata.get("status")), scores.get(task.id, 0.0), is_under_way=True)
        for task in tasks
        if task.id not in retired
    ]
    # Stable sort: equal ones stay in the order of their last change.
    return sorted(options, key=lambda option: (-option.score, UNDER_WAY.index(option.status)))[:LEADING]
