"""Options of a pack: related records, current tasks, strong hits besides, and why each is in it. Blocks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from operator import attrgetter

from auth.policy import may_read
from auth.principal import Principal
from stores.ledger import EntityQuery
from stores.ledger.links import DirectedLink
from stores.records import RAW_MEMORY, Entity, matches
from tools.app import App
from tools.packs.context_models import AlsoKnown, ContextRequest, RelatedItem
from tools.packs.facets import STRONG, Facet, Option, types_of
from tools.records.entity_types import ENTITY_TYPES, GONE
from tools.retrieval.pipeline import retrieve
from tools.retrieval.plan import NEAREST, Plan
from tools.retrieval.pool import Candidate, Ranking
from tools.retrieval.scoring import HELD_WHOLLY
from tools.search.answers import identities_of
from tools.text.plain import one_line

LINKS_PER_DIRECTION = 12
CONTENT_LIMIT = 200
UNDER_WAY = {
    "doing": "The project is at work on it",
    "blocked": "It is work of the project that is blocked",
    "review": "It is work of the project that waits for review",
}
LEADING = 5
LOOKED_AT = 50
STRUCTURE = frozenset({"BELONGS_TO", "CONTAINS", "PART_OF", "CHILD_OF"})


def related_items(
    app: App, caller: Principal, ids: Sequence[str], *, limit: int, project_id: str | None
) -> Mapping[str, list[RelatedItem]]:
    """Return the current, readable neighbours of each item, without the project."""
    linked = links_of(app, caller, ids)
    others = {link.id for links in linked.values() for link in links} - {project_id}
    usable = in_force(app, caller, others)
    shown = {each: _first(links, usable, limit) for each, links in linked.items()}
    readable = readable_records(app, caller, {link.id for links in shown.values() for link in links})
    return {
        each: [_related(link, readable[link.id]) for link in links if link.id in readable]
        for each, links in shown.items()
    }


def links_of(app: App, caller: Principal, ids: Sequence[str]) -> Mapping[str, Sequence[DirectedLink]]:
    """Return the current, visible links of each record, the latest first. Blocks."""
    links_around, visible = app.ledger.relations.links_around, caller.visible
    return links_around(caller.organization_id, ids, visibility=visible, limit=LINKS_PER_DIRECTION)


def readable_records(app: App, caller: Principal, ids: Collection[str]) -> Mapping[str, Entity]:
    found = app.ledger.records.entities(caller.organization_id, ids)
    return {each: entity for each, entity in found.items() if may_read(caller, entity.visibility)}


def in_force(app: App, caller: Principal, ids: Collection[str], readable: Collection[str] | None = None) -> set[str]:
    """Return the `readable` records, else visible entities, that are neither superseded nor archived."""
    allowed = caller.visible if readable is None else readable
    statuses = app.ledger.records.statuses(caller.organization_id, ids, visibility=caller.visible)
    return {
        each
        for each, found in statuses.items()
        if not found.superseded and found.facets.status not in GONE and found.visibility in allowed
    }


def _first(links: Sequence[DirectedLink], usable: Collection[str], limit: int) -> list[DirectedLink]:
    once: dict[str, DirectedLink] = {}
    for link in sorted(links, key=lambda link: link.name in STRUCTURE):
        if link.id in usable:
            once.setdefault(link.id, link)
    return list(once.values())[:limit]


def _related(link: DirectedLink, other: Entity) -> RelatedItem:
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
        visibility=visible, types=("task",), statuses=tuple(UNDER_WAY), project_ids=(project_id,), limit=LOOKED_AT
    )
    tasks, _ = app.ledger.records.list_entities(organization, query)
    retired = app.ledger.records.superseded(organization, [task.id for task in tasks], visibility=visible)
    options = [
        Option(task.id, task.entity_type, str(task.metadata.get("status")), scores.get(task.id, 0.0), is_under_way=True)
        for task in tasks
        if task.id not in retired
    ]
    # Stable sort: equal ones stay in the order of their last change.
    return sorted(options, key=lambda option: (-option.score, [*UNDER_WAY].index(option.status)))[:LEADING]


MOST_ALSO_KNOWN = 3
ALL_WORDS = 0.999
NEAR, AKIN = 0.5, 0.3
"""Cosines of the built-in model; unrelated texts stay below the second."""


def options_of(request: ContextRequest, ranking: Ranking, leading: set[str]) -> Iterable[Option]:
    """Return the candidates for a pack, without its leading ones."""
    for each in ranking.best:
        found = ranking.statuses[each.id]
        if each.id not in leading and (request.project is None or found.facets.project_id in (None, request.project)):
            near, status = _nearness(each, ranking), found.facets.status
            yield Option(each.id, found.entity_type, status, each.score, near, shares_words=each.coverage > 0)


def _nearness(candidate: Candidate, ranking: Ranking) -> float:
    holds_all = candidate.coverage >= ALL_WORDS
    linked = candidate.cosine is None and "graph" in candidate.ranks
    if holds_all or linked or not ranking.counts["vector"]:
        return 1.0
    return candidate.cosine or 0.0


def nearest(options: Iterable[Option]) -> list[Option]:
    """Return the leading candidates, and the few best others."""
    leading = [each for each in options if each.is_under_way]
    others = [each for each in options if not each.is_under_way]
    return [*leading, *nlargest(NEAREST, others, key=attrgetter("score"))]


@dataclass(frozen=True, slots=True)
class Ranked:
    plan: Plan
    ranking: Ranking
    options: Sequence[Option]


def also_known(
    app: App, caller: Principal, request: ContextRequest, ranked: Ranked, shown: Mapping[str, Entity]
) -> list[AlsoKnown]:
    """Return the best records that no section shows, raw memories included, so that no intent hides a strong hit."""
    others = frozenset((*ENTITY_TYPES, RAW_MEMORY)) - types_of(request.facets)
    plan = ranked.plan
    if plan.is_naive:
        return []
    wanted = replace(plan.filter, any_of={}, visibility=plan.filter.visibility | caller.own_memories)
    among = replace(wanted, any_of={"entity_type": others})
    most = MOST_ALSO_KNOWN + len(shown)  # Each of the shown ones may have a copy.
    outside = retrieve(app, replace(plan, filter=among, wanted=most, expand=False))
    options = [*ranked.options, *options_of(request, outside, set())]
    strong = (each for each in options if each.score >= STRONG and each.id not in shown and each.status not in GONE)
    best = nlargest(most, strong, key=attrgetter("score"))
    read = app.ledger.records.entities(plan.organization_id, [each.id for each in best])
    told, known = {said for entity in shown.values() for said in identities_of(entity)}, list[AlsoKnown]()
    for each in best:
        entity = read.get(each.id)
        if entity is None or not matches(entity, wanted) or not told.isdisjoint(identities_of(entity)):
            continue
        told.update(identities_of(entity))
        known.append(AlsoKnown.of(entity, type=entity.entity_type, score=each.score))
    return known[:MOST_ALSO_KNOWN]


def reason(found: Candidate | None, facet: Facet, *, status: str = "", is_under_way: bool = False) -> str:
    """Say in a sentence why an item is in a pack; `found` is None if only current work led to it."""
    evidence = _evidence(found) if found is not None else ""
    if is_under_way:
        said = UNDER_WAY.get(status, UNDER_WAY["doing"])
        return f"{said}, and it {evidence}." if evidence else f"{said}."
    evidence = evidence or "is among the nearest records of its kind, though not near to the goal"
    return f"It was done before and {evidence}." if facet == "prior_art" else f"It {evidence}."


def _evidence(found: Candidate) -> str:
    words, meaning = "", ""
    if "lexical" in found.ranks and found.coverage > 0:
        words = "holds most of the goal's words" if found.coverage >= 0.5 else "shares words with the goal"
        words = "holds every word of the goal" if found.coverage >= HELD_WHOLLY else words
    if found.cosine is not None and found.cosine >= AKIN:
        meaning = "near" if found.cosine >= NEAR else "akin"
    if meaning:
        return f"{words} and is {meaning} to it in meaning" if words else f"is {meaning} to the goal in meaning"
    if not words and found.matches_dates:
        return "is of the days that the goal names"
    return words or ("is linked to a record that matches the goal" if "graph" in found.ranks else "")
