"""Reading entities: list, get, and resolve a prefix of an id."""

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from auth.memory_policy import may_read_memory
from auth.policy import may_read
from auth.principal import Principal
from stores.errors import Conflict, NotFound
from stores.event_times import CAPTURED_AT
from stores.ledger import EntityQuery, HistoryQuery
from stores.records import RAW_MEMORY, Entity, RawMemory
from tools.app import App
from tools.frame.dates import Date, optional_moment
from tools.frame.operation import Call, Filters, Request, Result, Route, Tool, entry
from tools.records.containment import without_hidden
from tools.records.entity_models import (
    CommaSeparated,
    EntityId,
    EntityView,
    RelatedEntity,
    Wanted,
    entity_view,
    no_entity,
    split_list,
)
from tools.records.entity_types import ENTITY_TYPES, EntityType
from tools.records.receipts import authors


class ListEntitiesRequest(Request):
    """Filters, order and page of a list."""

    entity_type: Literal[EntityType, ""] | None = Field(None, description="Only this type; empty for all.")
    language: Wanted | None = Field(None, description="Only this programming language; empty for all.")
    category: Wanted | None = Field(None, description="Only this category; empty for all.")
    search: Annotated[str, Field(max_length=1000)] | None = Field(None, description="Text in name or description.")
    project_ids: CommaSeparated | None = Field(None, description="Only these projects (ids), comma-separated; or all.")
    page: int = Field(1, ge=1, le=1_000_000, description="Page, from 1.")
    page_size: int = Field(50, ge=1, le=200, description="Entities on a page.")
    sort_by: Literal["name", "created_at", "updated_at", "entity_type"] = Field("updated_at", description="Order by.")
    sort_order: Literal["asc", "desc"] = Field("desc", description="Direction.")


class EntityPage(Result):
    """One page of a list."""

    entities: list[EntityView]
    total: int
    page: int
    page_size: int
    has_more: bool


def _page_for_agents(page: EntityPage) -> dict[str, Any]:
    fields = {"id", "entity_type", "name", "updated_at"}
    shown = [each.model_dump(include=fields) | {"status": each.metadata.get("status")} for each in page.entities]
    return {"entities": shown, "total": page.total, "page": page.page, "has_more": page.has_more}


@entry(
    Route("GET", "/api/entities"), tool=Tool("List entities", read_only=True, toolset="admin", answer=_page_for_agents)
)
def list_entities(app: App, call: Call, request: ListEntitiesRequest) -> EntityPage:
    """List entities and chunks of documents, newest first, with filters and paging."""
    query = EntityQuery(
        visibility=call.caller.visible,
        types=(request.entity_type,) if request.entity_type else (),
        languages=(request.language,) if request.language else (),
        category=request.category or None,
        search=request.search,
        project_ids=split_list(request.project_ids),
        include_archived=True,
        include_chunks=True,
        sort_by=request.sort_by,
        sort_order=request.sort_order,
        limit=request.page_size,
        offset=(request.page - 1) * request.page_size,
    )
    entities, total = app.ledger.records.list_entities(call.caller.organization_id, query)
    has_more = request.page * request.page_size < total
    return EntityPage.of(request, entities=entity_views(app, call.caller, entities), total=total, has_more=has_more)


def entity_views(
    app: App, caller: Principal, entities: Iterable[Entity], as_of: datetime | None = None
) -> list[EntityView]:
    """Show entities without ids that the caller may not read, and the place of document chunks. Blocks."""
    found = without_hidden(app, caller, entities, as_of=as_of)
    chunk_ids = [entity.id for entity in found if entity.source_id is not None]
    places = app.ledger.records.chunks(caller.organization_id, chunk_ids) if chunk_ids else {}
    return [entity_view(entity, place=places.get(entity.id)) for entity in found]


class ReadEntity(EntityView):
    """An entity that was read."""

    author: str | None = Field(description="Author or speaker.")


class GetEntityRequest(Filters):
    """An entity to read."""

    entity_id: EntityId = Field(description="The entity's id.")
    include_summary: bool = Field(True, description="Add the entity's neighbours in the graph.")
    related_limit: int = Field(5, ge=0, le=50, description="Most neighbours shown.")
    as_of: Date | None = Field(None, description="Moment to read it as of: ISO date or time, or 7d. Default: now.")
    start: int = Field(0, ge=0, description="First character of content, to read a long one in parts.")
    content_max_chars: int | None = Field(None, ge=1, description="Most characters of content; without it, all.")


def readable(app: App, caller: Principal, entity_id: str, *, memories: bool = False) -> Entity:
    """Read an entity that the caller may see, with `memories` also raw memories. Blocks."""
    entity = app.ledger.records.entity(caller.organization_id, entity_id)
    if entity is None or entity.visibility not in caller.readable:
        raise no_entity(entity_id)
    if not memories and not may_read(caller, entity.visibility):
        raise NotFound(
            f"{entity_id} is a raw memory; this takes entities.",
            remediation="Use the entity made of it, which search and recall name, or `get_entity` to read the memory.",
        )
    return entity


def named(app: App, caller: Principal, given: str) -> Entity:
    """Read the entity or raw memory with this id, or the one whose generated id begins so. Blocks."""
    try:
        return readable(app, caller, given, memories=True)
    except NotFound:
        if _SHORT_ID.fullmatch(given.lower()):
            with suppress(NotFound):
                return _resolved(app, caller, given, "entity_id")
        raise


PART = 20_000
"""Characters of content that agents get at a time, unless they ask for more."""


def part_of(content: str, start: int, most: int | None) -> str:
    return content[start : None if most is None else start + most]


def entities_made(app: App, caller: Principal, memories: Iterable[RawMemory]) -> dict[str, str]:
    """Return the readable entity made of each memory, by memory id. Blocks."""
    ids = {each.entity.id: each.capture.entity_id for each in memories if each.capture.entity_id is not None}
    there = _visible(app, caller, ids.values())
    return {memory_id: entity_id for memory_id, entity_id in ids.items() if entity_id in there}


def with_entities(app: App, caller: Principal, ids: Iterable[str]) -> dict[str, str]:
    """Map ids to themselves, those of raw memories to the entity made of each if there is one. Blocks."""
    given = set(ids)
    memories = app.ledger.memories.by_ids(caller.organization_id, given).values()
    made = entities_made(app, caller, (each for each in memories if may_read_memory(caller, each.entity.visibility)))
    return {each: made.get(each, each) for each in given}


def visible_id(app: App, caller: Principal, given: str) -> str:
    """Return the id of an entity that the caller may see, or of the entity made of a raw memory. Blocks."""
    entity_id = with_entities(app, caller, [given])[given]
    if not _visible(app, caller, [entity_id]):
        raise no_entity(given)
    return entity_id


def _visible(app: App, caller: Principal, ids: Collection[str]) -> set[str]:
    there = app.ledger.records.statuses(caller.organization_id, ids, visibility=caller.visible) if ids else {}
    return {each for each, found in there.items() if may_read(caller, found.visibility)}


def _neighbours(app: App, caller: Principal, entity_id: str, limit: int, as_of: datetime | None) -> list[RelatedEntity]:
    organization = caller.organization_id
    if not limit:
        return []
    query = HistoryQuery("history", caller.visible, limit, entity_id=entity_id, as_of=as_of)
    relations = [each.then for each in app.ledger.relations.relation_history(organization, query)]
    ids, records = {end for each in relations for end in (each.source_id, each.target_id)}, app.ledger.records
    there = records.entities(organization, ids) if as_of is None else records.entities_at(organization, ids, as_of)
    found = []
    for each in relations:
        is_outgoing = each.source_id == entity_id
        other = there.get(each.target_id if is_outgoing else each.source_id)
        if other is not None and may_read(caller, other.visibility):
            direction = "outgoing" if is_outgoing else "incoming"
            found.append(RelatedEntity.of(other, relationship=each.name, direction=direction))
    return found


def _read_for_agents(view: ReadEntity) -> dict[str, Any]:
    is_repeated = view.content.startswith(view.description.rstrip("… "))
    captured_at = view.metadata.get(CAPTURED_AT) if view.entity_type == RAW_MEMORY else None
    shown = view.model_dump(exclude={"author", "updated_at", "source_file", *(["description"] if is_repeated else [])})
    return shown | {"by": view.author, "at": str(captured_at or view.updated_at).replace(" ", "T")[:16]}


@entry(
    Route("GET", "/api/entities/{entity_id}", errors=(404, 409)),
    tool=Tool("Read an entity", read_only=True, defaults={"content_max_chars": PART}, answer=_read_for_agents),
)
def get_entity(app: App, call: Call, request: GetEntityRequest) -> ReadEntity:
    """Read one entity whole, or a document chunk or raw memory by its id, with its nearest neighbours.

    With `as_of`: its revision and neighbours at that time, as known then.
    """
    as_of = optional_moment(request.as_of, now=app.clock(), field="as_of")
    caller, limit = call.caller, request.related_limit
    entity = named(app, caller, request.entity_id)
    if as_of is not None:
        then = app.ledger.records.entity_at(caller.organization_id, entity.id, as_of)
        if then is None or then.visibility not in caller.readable:
            raise NotFound(
                f"There was no entity {entity.id} at {as_of.isoformat()}.",
                remediation="Ask for a later moment, or leave as_of out to read it as it is.",
            )
        entity = then
    (shown,) = entity_views(app, caller, [entity], as_of)
    view = ReadEntity.of(shown, author=authors(app, [entity])[entity.id])
    if len(part := part_of(view.content, request.start, request.content_max_chars)) < len(view.content):
        view = view.model_copy(update={"content": part, "content_length": len(view.content)})
    if not request.include_summary:
        return view
    return view.model_copy(update={"related": _neighbours(app, caller, entity.id, limit, as_of)})


SHOWN = 10
_HEX = re.compile(r"[0-9a-f]{4,32}")
_SHORT_ID = re.compile(r"(?:[a-z]+_)*[0-9a-f][0-9a-f-]{3,35}")


class ResolveRequest(Request):
    """A short id."""

    prefix: Annotated[str, StringConstraints(min_length=4, max_length=200)] = Field(
        description="First characters of the id, at least 4; of `pattern_0a1b2c3d4e5f` also the digits alone: `0a1b`."
    )


class Resolved(Result):
    """The one record that a short id stands for."""

    id: str
    entity_type: str
    name: str


@entry(Route("GET", "/api/resolve/{prefix}", errors=(404, 409)))
def resolve(app: App, call: Call, request: ResolveRequest) -> Resolved:
    """Find the record whose id begins with a prefix, in any case of letters; a whole id stands for itself.

    If several readable ids do, the refusal (409) names them in `details.actual`.
    """
    return Resolved.of(_resolved(app, call.caller, request.prefix, "path.prefix"))


def _resolved(app: App, caller: Principal, given: str, field: str) -> Entity:
    prefix = given.lower()
    prefixes = [prefix]
    if _HEX.fullmatch(prefix):
        prefixes += [f"{entity_type}_{prefix}" for entity_type in (*ENTITY_TYPES, RAW_MEMORY, "imported")]
    found = app.ledger.records.readable_with_prefix(
        caller.organization_id, prefixes, visibility=caller.readable, limit=SHOWN + 1
    )
    found = [each for each in found if each.id == prefix] or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(f"There is no record whose id begins with {given}.")
    several = f"more than {SHOWN}" if len(found) > SHOWN else str(len(found))
    raise Conflict(
        f"{given} stands for {several} records: {', '.join(each.id for each in found[:SHOWN])}.",
        remediation="Send more characters of the id.",
        details={"field": field, "actual": [each.id for each in found[:SHOWN]], "expected": "one record"},
    )
