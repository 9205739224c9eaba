"""Explore: lists and walks of the graph without semantic search."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from stores.errors import Unavailable, ValidationFailed
from stores.graph import NeighbourQuery
from stores.ledger import EntityQuery
from stores.records import Entity, JsonObject
from tools.app import App
from tools.entities import readable
from tools.entity_models import CommaSeparated, EntityId, Label, split_list
from tools.entity_types import EntityType
from tools.operation import Call, Operation, Request, Result, Route, Tool
from tools.threads import in_thread

WALK_LIMIT = 1000
"""Entities that a walk reaches at most; the answer's `total` cannot pass it."""
DEPENDENCY_NAMES = frozenset({"DEPENDS_ON", "REQUIRES", "BLOCKS"})


class ExploreRequest(Request):
    """What to list, or where to start."""

    mode: Literal["list", "related", "traverse", "dependencies"] = Field(
        "list",
        description="list: by filters; related: one step from entity_id; traverse: up to `depth` steps; "
        "dependencies: what it depends on and what depends on it.",
    )
    types: Annotated[list[EntityType], Field(max_length=50)] | None = Field(None, description="Only these types.")
    entity_id: EntityId | None = Field(None, description="Where related, traverse and dependencies start.")
    relationship_types: Annotated[list[Label], Field(max_length=50)] | None = Field(
        None, description="Only along these."
    )
    depth: int = Field(1, ge=1, le=3, description="Steps of a traverse.")
    language: Label | None = Field(None, description="Only this programming language.")
    category: Label | None = Field(None, description="Only this category.")
    project: EntityId | None = Field(None, description="Only this project (id).")
    project_ids: Annotated[list[EntityId], Field(max_length=100)] | None = Field(
        None, description="Only these projects."
    )
    epic: EntityId | None = Field(None, description="Only tasks of this epic (id).")
    no_epic: bool = Field(False, description="Only tasks without an epic; nothing of another type.")
    complexity: Label | None = Field(None, description="Only tasks of this complexity.")
    feature: Label | None = Field(None, description="Only tasks of this feature.")
    status: CommaSeparated | None = Field(None, description="Only these statuses, comma-separated.")
    priority: CommaSeparated | None = Field(None, description="Only these priorities, comma-separated.")
    tags: CommaSeparated | None = Field(None, description="Only with one of these tags, comma-separated.")
    include_archived: bool = Field(False, description="Whether archived ones are shown.")
    limit: int = Field(50, ge=1, le=200, description="Most entities.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Entities to skip.")


class ExploredEntity(Result):
    """One entity of a list or walk."""

    id: str
    type: str
    name: str
    description: str
    metadata: JsonObject
    relationship: str | None = None
    direction: Literal["outgoing", "incoming"] | None = None
    distance: int | None = None


class Explored(Result):
    """One page of a list or walk."""

    mode: str
    entities: list[ExploredEntity]
    total: int
    filters: JsonObject
    limit: int
    offset: int
    has_more: bool
    actual_total: int


async def explore(app: App, call: Call, request: ExploreRequest) -> Explored:
    """List entities by filters, or walk the graph from one entity: related, traverse, dependencies."""
    return await in_thread(_list if request.mode == "list" else _walk, app, call, request)


def _list(app: App, call: Call, request: ExploreRequest) -> Explored:
    query = replace(_query(call, request), limit=request.limit, offset=request.offset)
    entities, total = app.ledger.list_entities(call.caller.organization_id, query)
    return _page(request, [explored(entity) for entity in entities], total)


def _query(call: Call, request: ExploreRequest) -> EntityQuery:
    """What the filters let through, of a list and of a walk alike."""
    return EntityQuery(
        visibility=call.caller.visible,
        types=tuple(request.types or ()),
        statuses=split_list(request.status),
        priorities=split_list(request.priority),
        tags=split_list(request.tags),
        languages=(request.language,) if request.language else (),
        category=request.category,
        project_ids=(*(request.project_ids or ()), *((request.project,) if request.project else ())),
        epic=request.epic,
        no_epic=request.no_epic,
        complexity=request.complexity,
        feature=request.feature,
        include_archived=request.include_archived,
    )


def explored(entity: Entity, step: tuple[str, Literal["outgoing", "incoming"], int] | None = None) -> ExploredEntity:
    """Show an entity of a list, or as the last step of a walk: relationship, direction and distance."""
    relationship, direction, distance = step or (None, None, None)
    workflow: JsonObject = {
        "category": entity.category,
        "languages": list(entity.languages),
        "tags": list(entity.tags),
        "project_id": entity.project_id,
    }
    return ExploredEntity(
        id=entity.id,
        type=entity.entity_type,
        name=entity.name,
        description=entity.description,
        metadata={**workflow, **entity.metadata},
        relationship=relationship,
        direction=direction,
        distance=distance,
    )


def _page(request: ExploreRequest, shown: list[ExploredEntity], total: int) -> Explored:
    given = request.model_dump(mode="json", exclude_none=True, exclude={"mode", "limit", "offset"})
    return Explored(
        mode=request.mode,
        entities=shown,
        total=len(shown),
        filters=given,
        limit=request.limit,
        offset=request.offset,
        has_more=request.offset + len(shown) < total,
        actual_total=total,
    )


def _walk(app: App, call: Call, request: ExploreRequest) -> Explored:
    if request.entity_id is None:
        raise ValidationFailed(
            f"entity_id is required for mode {request.mode}.",
            details={"field": "body.entity_id", "expected": "a value: it is required"},
        )
    start = readable(app, call.caller, request.entity_id)
    names = frozenset(name.upper() for name in request.relationship_types or ()) or None
    if request.mode == "dependencies":
        names = DEPENDENCY_NAMES if names is None else names & DEPENDENCY_NAMES
    organization = call.caller.organization_id
    with app.indexer.indexes(organization) as indexes:
        if indexes.graph is None:
            raise Unavailable("The graph is not ready: it is being built, or cannot be opened.")
        query = NeighbourQuery(visibility=call.caller.visible, names=names, limit_per_id=WALK_LIMIT)
        depth = request.depth if request.mode == "traverse" else 1
        reached = indexes.graph.walk(start.id, depth=depth, query=query, cap=WALK_LIMIT)
    entities = _kept(app, call, request, [step.id for step in reached.entities])
    superseded = app.ledger.superseded(organization, list(entities), visibility=call.caller.visible)
    shown = [
        explored(entities[step.id], (step.name, step.direction, step.distance))
        for step in reached.entities
        if step.id in entities and step.id not in superseded
    ]
    return _page(request, shown[request.offset : request.offset + request.limit], len(shown))


def _kept(app: App, call: Call, request: ExploreRequest, reached: Sequence[str]) -> dict[str, Entity]:
    """Read those of the entities that a walk reached which the caller may see and the filters let through, by id."""
    if not reached:
        return {}
    query = replace(_query(call, request), ids=tuple(reached), include_chunks=True, limit=len(reached))
    entities, _ = app.ledger.list_entities(call.caller.organization_id, query)
    return {entity.id: entity for entity in entities}


def explored_text(page: Explored) -> str:
    """Say a page in a text that an agent reads."""
    lines = [f"{page.total} of {page.actual_total} ({page.mode})"]
    for entity in page.entities:
        how = f" — {entity.relationship} {entity.direction}, distance {entity.distance}" if entity.relationship else ""
        status = f" ({entity.metadata['status']})" if entity.metadata.get("status") else ""
        lines.append(f"{entity.id} [{entity.type}]{status} {entity.name}{how}")
    return "\n".join(lines)


AGENT_OMITS = frozenset({
    "epic", "no_epic", "complexity", "feature", "priority", "tags", "include_archived", "offset", "project_ids",
})  # fmt: skip

OPERATIONS = (
    Operation(
        name="explore",
        request=ExploreRequest,
        result=Explored,
        run=explore,
        route=Route("POST", "/api/search/explore", tag="search", errors=frozenset({400, 404, 503})),
        tool=Tool("Explore the graph", read_only=True, omit=AGENT_OMITS, render=explored_text),
    ),
)
