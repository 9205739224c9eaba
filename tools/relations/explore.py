"""Listing entities by filters, walking the graph, and expanding neighbours, without semantic search."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from auth.policy import may_read
from stores.errors import NotFound, Unavailable, ValidationFailed
from stores.graph import Direction, NeighbourQuery, Reached, Walk
from stores.ledger import DEPENDS, PRECEDES, SUPERSEDES, Brief, EntityQuery, RecordStatus
from stores.records import Entity, JsonObject
from tools.app import App
from tools.entities.entities import visible_id, with_entities
from tools.frame.json_values import StoredJson
from tools.frame.operation import Call, Filters, Request, Result, Route, Tool, entry
from tools.records.containment import without_hidden
from tools.records.entity_models import CommaSeparated, EntityId, Label, split_list
from tools.records.entity_types import EntityType
from tools.relations.relations import RelationName

WALK_LIMIT = 1000
SAME = ("category", "epic", "no_epic", "complexity", "feature", "include_archived")
"""Filters that the ledger has under the same names."""
WIDE = 5
"""Factor on the limit of a walk whose filters drop some entities."""
SEEDS_LIMIT = 50

Dependency = Literal["needs", "needed_by"]


class ExploreRequest(Filters):
    """Filters of a list, or the start of a walk."""

    mode: Literal["list", "related", "traverse", "dependencies"] = Field(
        "list",
        description="list: by filters; related: one step from entity_id; traverse: `depth` steps; "
        "dependencies: what it needs and what needs it.",
    )
    types: Annotated[list[EntityType], Field(max_length=50)] | None = Field(None, description="Types as in `add`.")
    entity_id: EntityId | None = Field(None, description="Start of related, traverse and dependencies.")
    relationship_types: Annotated[list[RelationName], Field(max_length=50)] | None = Field(
        None, description="Only along these, such as SUPERSEDES."
    )
    depth: int = Field(1, ge=1, le=3, description="Steps of traverse and dependencies.")
    language: Label | None = Field(None, description="Only this programming language.")
    category: Label | None = Field(None, description="Only this category.")
    project: EntityId | None = Field(None, description="Only this project (id).")
    project_ids: Annotated[list[EntityId], Field(max_length=100)] | None = Field(
        None, description="Only these projects."
    )
    epic: EntityId | None = Field(None, description="Only tasks of this epic (id).")
    no_epic: bool = Field(False, description="Only tasks without an epic, or whose epic is gone; nothing else.")
    complexity: Label | None = Field(None, description="Only tasks of this complexity.")
    feature: Label | None = Field(None, description="Only tasks of this feature.")
    status: CommaSeparated | None = Field(None, description="Only these statuses, comma-separated.")
    priority: CommaSeparated | None = Field(None, description="Only these priorities, comma-separated.")
    tags: CommaSeparated | None = Field(None, description="Only with one of these tags, comma-separated.")
    include_archived: bool = Field(False, description="Show archived ones.")
    limit: int = Field(50, ge=1, le=200, description="Most entities.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Entities to skip.")


class OtherRelation(Result):
    """A further relation between two entities."""

    relationship: str
    direction: Direction


class ExploredEntity(Result):
    """One entity of a list or walk."""

    id: str
    type: str
    name: str
    description: str
    metadata: StoredJson
    relationship: str | None = None
    direction: Direction | None = None
    distance: int | None = None
    other_relations: list[OtherRelation] = Field(
        default_factory=list,
        description="In a walk: what else relates it to the record from which it was reached; `relationship` is what "
        "has been true since last.",
    )
    dependency: Dependency | None = Field(
        None,
        description="In dependencies: whether the start needs it, or it needs the start. In a cycle it has both rows.",
    )


class Explored(Result):
    """One page of a list or walk."""

    mode: str
    entities: list[ExploredEntity]
    total: int
    filters: StoredJson
    limit: int
    offset: int
    has_more: bool
    actual_total: int
    capped: bool = Field(
        False,
        description=f"True if the walk stopped at a bound, such as {WALK_LIMIT} records that pass the filters, of "
        "dependencies in each direction: then there may be more than actual_total.",
    )


def _for_agents(page: Explored) -> dict[str, Any]:
    shown = [{**entity.model_dump(), "status": entity.metadata.get("status")} for entity in page.entities]
    return {"entities": shown, "total": page.actual_total, "has_more": page.has_more, "capped": page.capped or None}


AGENT_OMITS = frozenset({
    "epic", "no_epic", "complexity", "feature", "priority", "include_archived", "project_ids",
})  # fmt: skip


@entry(
    Route("POST", "/api/search/explore", tag="search", errors=(400, 404, 503)),
    tool=Tool(
        "Explore the graph",
        read_only=True,
        omit=AGENT_OMITS,
        omit_result=frozenset({"metadata", "description"}),
        answer=_for_agents,
    ),
)
def explore(app: App, call: Call, request: ExploreRequest) -> Explored:
    """List entities by filters, or walk the graph from one entity: related, traverse, dependencies.

    `total` counts the entities of this page, `actual_total` those of all pages.
    """
    query = _query(call, request)
    if request.mode != "list":
        return _walk(app, call, request, replace(query, include_chunks=True))
    query = replace(query, limit=request.limit, offset=request.offset)
    found, total = app.ledger.records.list_briefs(call.caller.organization_id, query)
    shown = without_hidden(app, call.caller, found)
    return _page(request, [_explored(brief) for brief in shown], total)


def _query(call: Call, request: ExploreRequest) -> EntityQuery:
    if request.epic is not None and request.no_epic:
        raise ValidationFailed(
            "no_epic asks for tasks without an epic, and epic for those of one.",
            remediation="Send one of them.",
            details={"field": "body.no_epic", "expected": "false, or nothing, together with epic"},
        )
    return EntityQuery(
        visibility=call.caller.visible,
        types=tuple(request.types or ()),
        statuses=split_list(request.status),
        priorities=split_list(request.priority),
        # A tag may hold a comma.
        tags=tuple({*split_list(request.tags), *([request.tags] if request.tags else [])}),
        languages=(request.language,) if request.language else (),
        project_ids=(*(request.project_ids or ()), *((request.project,) if request.project else ())),
        **{name: getattr(request, name) for name in SAME},
    )


def _explored(entity: Brief, step: Reached | None = None, side: Dependency | None = None) -> ExploredEntity:
    workflow: JsonObject = {
        "category": entity.category,
        "languages": list(entity.languages),
        "tags": list(entity.tags),
        "project_id": entity.project_id,
    }
    metadata = {**workflow, **entity.metadata}
    if entity.entity_type == "task":
        metadata["assignees"] = metadata.get("assignees") or []
    return ExploredEntity.of(
        entity,
        type=entity.entity_type,
        metadata=metadata,
        relationship=step and step.name,
        direction=step and step.direction,
        distance=step and step.distance,
        other_relations=_other_relations(step) if step else [],
        dependency=side,
    )


def _page(request: ExploreRequest, shown: list[ExploredEntity], total: int, *, capped: bool = False) -> Explored:
    given = request.model_dump(mode="json", exclude_none=True, exclude={"mode", "limit", "offset"})
    return Explored.of(
        request,
        entities=shown,
        total=len(shown),
        filters=given,
        has_more=request.offset + len(shown) < total,
        actual_total=total,
        capped=capped,
    )


def _walk(app: App, call: Call, request: ExploreRequest, wanted: EntityQuery) -> Explored:
    if request.entity_id is None:
        raise ValidationFailed(
            f"entity_id is required for mode {request.mode}.",
            details={"field": "body.entity_id", "expected": "a value: it is required"},
        )
    request = request.model_copy(update={"entity_id": (start := visible_id(app, call.caller, request.entity_id))})
    depth = 1 if request.mode == "related" else request.depth
    queries = _queries(request, wanted, depth)
    walks = {
        side: _walked(app, call, [start], depth, query, cap=query.limit_per_id, most_around=WALK_LIMIT)[start]
        for side, query in queries.items()
    }
    ids = (step.id for walk in walks.values() for step in walk.entities)
    kept = app.ledger.records.matching_ids(call.caller.organization_id, wanted, ids)
    retired = app.ledger.records.superseded(call.caller.organization_id, kept, visibility=call.caller.visible)
    by_name = SUPERSEDES in (request.relationship_types or ())
    rows: list[tuple[Reached, Dependency | None]] = []
    capped = any(walk.capped for walk in walks.values())
    for side, walk in walks.items():
        found = [
            step
            for step in walk.entities
            if step.id in kept
            and (step.id not in retired or _tells_of_supersession(step, by_name or step.distance == 1))
        ]
        capped = capped or len(found) > WALK_LIMIT
        rows += [(step, side) for step in found[:WALK_LIMIT]]
    rows.sort(key=lambda row: row[0].distance)
    shown = _shown(app, call, rows[request.offset : request.offset + request.limit])
    return _page(request, shown, len(rows), capped=capped)


def _tells_of_supersession(step: Reached, is_asked_for: bool) -> bool:
    return is_asked_for and SUPERSEDES in {step.name, *(each.name for each in step.others)}


def _queries(request: ExploreRequest, wanted: EntityQuery, depth: int) -> dict[Dependency | None, NeighbourQuery]:
    names = frozenset(request.relationship_types or ()) or None
    bare = EntityQuery(wanted.visibility, include_archived=wanted.include_archived, include_chunks=True)
    most = WIDE * WALK_LIMIT if depth == 1 or wanted != bare else WALK_LIMIT
    query = NeighbourQuery(visibility=wanted.visibility, names=names, limit_per_id=most)
    if depth == 1:
        types, projects = frozenset(wanted.types) or None, frozenset(wanted.project_ids) or None
        query = replace(query, entity_types=types, project_ids=projects)
    if request.mode != "dependencies":
        return {None: query}
    depends, precedes = (each if names is None else each & names for each in (DEPENDS, PRECEDES))
    return {
        "needs": replace(query, names=depends, incoming_names=precedes),
        "needed_by": replace(query, names=precedes, incoming_names=depends),
    }


def _walked(
    app: App, call: Call, start_ids: Sequence[str], depth: int, query: NeighbourQuery, **bounds: int
) -> dict[str, Walk]:
    with app.indexer.indexes(call.caller.organization_id) as indexes:
        if indexes.graph is None:
            raise Unavailable("The graph is not ready: it is being built, or cannot be opened.")
        return indexes.graph.walks(start_ids, depth=depth, query=query, **bounds)


def _shown(app: App, call: Call, rows: Sequence[tuple[Reached, Dependency | None]]) -> list[ExploredEntity]:
    briefs = app.ledger.records.briefs(call.caller.organization_id, (step.id for step, _ in rows))
    found = {each.id: each for each in without_hidden(app, call.caller, briefs.values())}
    return [
        _explored(found[step.id], step, side)
        for step, side in rows
        if step.id in found and may_read(call.caller, found[step.id].visibility)
    ]


def _other_relations(step: Reached) -> list[OtherRelation]:
    return [OtherRelation(relationship=each.name, direction=each.direction) for each in step.others]


class ExpandRequest(Request):
    """Entities to start from, and the limits of the walk."""

    entity_ids: Annotated[list[EntityId], Field(min_length=1, max_length=SEEDS_LIMIT)] = Field(
        description="Ids to start from, as search returned them."
    )
    relationship_types: Annotated[list[RelationName], Field(max_length=50)] | None = Field(
        None, description="Only along these."
    )
    types: Annotated[list[EntityType], Field(max_length=50)] | None = Field(None, description="Only these types.")
    depth: int = Field(1, ge=1, le=3, description="Steps to go.")
    limit: int = Field(8, ge=1, le=50, description="Most neighbours of each id.")
    content_max_chars: int = Field(500, ge=0, le=50_000, description="Characters of content per neighbour.")
    include_incoming: bool = Field(True, description="Count relations that point at the ids.")
    project: EntityId | None = Field(None, description="Only neighbours in this project.")


class Neighbor(Result):
    """One entity that was reached."""

    id: str
    type: str
    name: str
    content: str
    relationship: str
    direction: str
    distance: int
    other_relations: list[OtherRelation] = Field(default_factory=list)


class Neighborhood(Result):
    """Neighbours of one of the given ids."""

    entity_id: str
    name: str
    neighbors: list[Neighbor]
    capped: bool = Field(False, description="True if some of its neighbourhood was not read.")


class Expanded(Result):
    """The neighbourhoods, in the order of the request."""

    results: list[Neighborhood]
    total: int


@entry(tool=Tool("Expand neighbours", read_only=True, omit_result=frozenset({"total"})))
def expand_neighbors(app: App, call: Call, request: ExpandRequest) -> Expanded:
    """Show the graph neighbours of entities, with relationship and direction."""
    caller = call.caller
    there, readable = app.ledger.records.entities(caller.organization_id, request.entity_ids), caller.readable
    seeds = {id_: seed for id_, seed in there.items() if seed.visibility in readable}
    known = [id_ for id_ in dict.fromkeys(request.entity_ids) if id_ in seeds]
    if not known:
        raise NotFound("None of these entities exist.", remediation="Use ids that search or explore returned.")
    # A memory has the neighbours of the entity made of it.
    made = with_entities(app, caller, known)
    query = NeighbourQuery(
        visibility=caller.visible,
        names=frozenset(request.relationship_types or ()) or None,
        include_incoming=request.include_incoming,
        limit_per_id=200,
    )
    if request.depth == 1:
        # Filter inside the index, so that unwanted neighbours do not use up the limit.
        projects = None if request.project is None else frozenset({request.project})
        query = replace(query, entity_types=frozenset(request.types or ()) or None, project_ids=projects)
    found = _walked(app, call, list(made.values()), request.depth, query)
    walks = {id_: found[made[id_]] for id_ in known}
    reached = (step.id for walk in walks.values() for step in walk.entities)
    statuses = app.ledger.records.statuses(caller.organization_id, reached, visibility=caller.visible)
    results = [_neighborhood(app, call, request, seeds[id_], walks[id_], statuses) for id_ in known]
    return Expanded(results=results, total=sum(len(result.neighbors) for result in results))


def _neighborhood(
    app: App, call: Call, request: ExpandRequest, seed: Entity, walk: Walk, statuses: Mapping[str, RecordStatus]
) -> Neighborhood:
    by_name = SUPERSEDES in (request.relationship_types or ())
    steps = [
        step
        for step in walk.entities
        if (status := statuses.get(step.id)) is not None
        and (not status.superseded or _tells_of_supersession(step, by_name))
        and may_read(call.caller, status.visibility)
        and (not request.types or status.entity_type in request.types)
        and request.project in (None, status.facets.project_id)
    ][: request.limit]
    entities = app.ledger.records.entities(call.caller.organization_id, [step.id for step in steps])
    neighbors = [
        Neighbor.of(
            step,
            type=entity.entity_type,
            name=entity.name,
            content=entity.content[: request.content_max_chars],
            relationship=step.name,
            other_relations=_other_relations(step),
        )
        for step in steps
        if (entity := entities.get(step.id)) is not None and may_read(call.caller, entity.visibility)
    ]
    return Neighborhood(entity_id=seed.id, name=seed.name, neighbors=neighbors, capped=walk.capped)
