"""Expanding the graph neighbours of several ids."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from auth.policy import may_read
from stores.errors import NotFound
from stores.graph import NeighbourQuery, Walk
from stores.ledger import SUPERSEDES, RecordStatus
from stores.records import Entity
from tools.app import App
from tools.entities.entities import with_entities
from tools.frame.operation import Call, Request, Result, Tool, entry
from tools.records.entity_models import EntityId
from tools.records.entity_types import EntityType
from tools.relations.explore import OtherRelation, other_relations, tells_of_supersession, walked
from tools.relations.relations import RelationName

SEEDS_LIMIT = 50


class ExpandRequest(Request):
    """Entities to start from, and the limits of the walk."""

    entity_ids: Annotated[list[EntityId], Field(min_length=1, max_length=SEEDS_LIMIT)] = Field(
        description="Ids to start from, as search returned them."
    )
    relationship_types: Annotated[list[RelationName], Field(max_length=50)] | None = Field(
        None, description="Only along these."
    )
    types: Annotated[list[EntityType], Field(max_length=50)] | None = Field(
        None, description="Only these entity types."
    )
    depth: int = Field(1, ge=1, le=3, description="Steps to go.")
    limit: int = Field(8, ge=1, le=50, description="Most neighbours of each id.")
    content_max_chars: int = Field(500, ge=0, le=50_000, description="Characters of content per neighbour.")
    include_incoming: bool = Field(True, description="Whether relations that point at the ids count.")
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
    capped: bool = Field(False, description="Whether not everything around it was looked at.")


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
    found = walked(app, call, list(made.values()), request.depth, query)
    walks = {id_: found[made[id_]] for id_ in known}
    reached = (step.id for walk in walks.values() for step in walk.entities)
    standings = app.ledger.records.statuses(caller.organization_id, reached, visibility=caller.visible)
    results = [_neighborhood(app, call, request, seeds[id_], walks[id_], standings) for id_ in known]
    return Expanded(results=results, total=sum(len(result.neighbors) for result in results))


def _neighborhood(
    app: App, call: Call, request: ExpandRequest, seed: Entity, walk: Walk, standings: Mapping[str, RecordStatus]
) -> Neighborhood:
    by_name = SUPERSEDES in (request.relationship_types or ())
    steps = [
        step
        for step in walk.entities
        if (standing := standings.get(step.id)) is not None
        and (not standing.superseded or tells_of_supersession(step, by_name))
        and may_read(call.caller, standing.visibility)
        and (not request.types or standing.entity_type in request.types)
        and request.project in (None, standing.facets.project_id)
    ][: request.limit]
    entities = app.ledger.records.entities(call.caller.organization_id, [step.id for step in steps])
    neighbors = [
        Neighbor.of(
            step,
            type=entity.entity_type,
            name=entity.name,
            content=entity.content[: request.content_max_chars],
            relationship=step.name,
            other_relations=other_relations(step),
        )
        for step in steps
        if (entity := entities.get(step.id)) is not None and may_read(call.caller, entity.visibility)
    ]
    return Neighborhood(entity_id=seed.id, name=seed.name, neighbors=neighbors, capped=walk.capped)
