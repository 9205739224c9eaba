"""Entities over REST and MCP: list, get, update, delete. Creating them is in `create`."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from auth.policy import may_read, require_scope_change, without_stamped, writable_visibility
from auth.principal import Principal
from stores.errors import InvalidRequest, NotFound
from stores.ledger import ChunkPlace, EntityQuery
from stores.records import Entity, JsonObject
from tools.app import App
from tools.entity_models import (
    Content,
    Description,
    EntityId,
    EntityView,
    Label,
    Labels,
    Name,
    RelatedEntity,
    entity_view,
)
from tools.entity_types import EntityType
from tools.operation import WRITERS, Call, Nothing, Operation, Request, Result, Route, Tool
from tools.projects import grant_project
from tools.receipts import receipt
from tools.threads import in_thread
from tools.workflow import checked_workflow


class ListEntitiesRequest(Request):
    """Filters, order and page of a list."""

    entity_type: EntityType | None = Field(None, description="Only this type.")
    language: Label | None = Field(None, description="Only this programming language.")
    category: Label | None = Field(None, description="Only this category.")
    search: Annotated[str, Field(max_length=1000)] | None = Field(None, description="Text in name or description.")
    project_ids: Annotated[str, Field(max_length=10_000)] | None = Field(
        None, description="Comma-separated project ids."
    )
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


async def list_entities(app: App, call: Call, request: ListEntitiesRequest) -> EntityPage:
    """List entities, newest first, with filters and paging.

    Chunks of ingested documents are listed with `entity_type=document` only.
    """
    query = EntityQuery(
        visibility=call.caller.visible,
        types=(request.entity_type,) if request.entity_type else (),
        languages=(request.language,) if request.language else (),
        category=request.category,
        search=request.search,
        project_ids=split_list(request.project_ids),
        include_archived=True,
        sort_by=request.sort_by,
        sort_order=request.sort_order,
        limit=request.page_size,
        offset=(request.page - 1) * request.page_size,
    )
    entities, total = await in_thread(app.ledger.list_entities, call.caller.organization_id, query)
    return EntityPage(
        entities=await entity_views(app, call.caller, entities),
        total=total,
        page=request.page,
        page_size=request.page_size,
        has_more=request.page * request.page_size < total,
    )


def split_list(text: str | None) -> tuple[str, ...]:
    """Read a comma-separated list."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def chunk_metadata(place: ChunkPlace) -> JsonObject:
    """What the interface shows of where a document chunk stands."""
    return {
        "source_id": place.chunk.source_id,
        "source_name": place.source_name,
        "source_url": place.source_url,
        "document_id": place.chunk.document_id,
        "document_url": place.document_url,
        "chunk_index": place.chunk.chunk_index,
        "chunk_type": place.chunk.chunk_type,
        "heading_path": list(place.chunk.heading_path),
        "result_origin": "document",
    }


async def entity_views(app: App, caller: Principal, entities: Iterable[Entity]) -> list[EntityView]:
    """Show entities that the caller may read, with the places of those that are document chunks."""
    found = list(entities)
    chunk_ids = [entity.id for entity in found if entity.source_id is not None]
    places = await in_thread(app.ledger.chunks, caller.organization_id, chunk_ids) if chunk_ids else {}
    return [
        entity_view(entity, place=chunk_metadata(places[entity.id]) if entity.id in places else None)
        for entity in found
    ]


class GetEntityRequest(Request):
    """Which entity, and how much around it."""

    entity_id: EntityId = Field(description="The entity's id.")
    include_summary: bool = Field(True, description="Whether to add the entity's neighbours in the graph.")
    related_limit: int = Field(5, ge=0, le=50, description="Most neighbours shown.")


def readable(app: App, caller: Principal, entity_id: str) -> Entity:
    """Read an entity that the caller may see. Blocks.

    Raises:
        NotFound: It does not exist, or not for this caller.
    """
    entity = app.ledger.entity(caller.organization_id, entity_id)
    if entity is None or not may_read(caller, entity.visibility):
        raise NotFound(f"There is no entity {entity_id}.")
    return entity


def related_entities(app: App, caller: Principal, entity_id: str, limit: int) -> list[RelatedEntity]:
    """Read the present neighbours of an entity that the caller may see, newest relation first. Blocks."""
    relations = [
        relation
        for relation in app.ledger.relations_of(caller.organization_id, entity_id, at=app.clock(), limit=10 * limit)
        if may_read(caller, relation.visibility)
    ]
    others = [r.target_id if r.source_id == entity_id else r.source_id for r in relations]
    entities = app.ledger.entities(caller.organization_id, others)
    pairs = [(relation, entities.get(other)) for relation, other in zip(relations, others, strict=True)]
    return [
        RelatedEntity(
            id=other.id,
            name=other.name,
            entity_type=other.entity_type,
            relationship=relation.name,
            direction="outgoing" if relation.source_id == entity_id else "incoming",
        )
        for relation, other in pairs
        if other is not None and may_read(caller, other.visibility)
    ][:limit]


async def get_entity(app: App, call: Call, request: GetEntityRequest) -> EntityView:
    """Read one entity whole, or a document chunk when the id is a chunk's, with its nearest neighbours."""

    def read() -> EntityView:
        caller = call.caller
        entity = readable(app, caller, request.entity_id)
        places = app.ledger.chunks(caller.organization_id, [entity.id]) if entity.source_id else {}
        view = entity_view(entity, place=chunk_metadata(places[entity.id]) if entity.id in places else None)
        if not request.include_summary:
            return view
        related = related_entities(app, caller, entity.id, request.related_limit) if request.related_limit else []
        return view.model_copy(update={"related": related})

    return await in_thread(read)


class UpdateEntityRequest(Request):
    """The fields to change; those that are absent stay."""

    entity_id: EntityId = Field(description="The entity's id.")
    name: Name | None = Field(None, description="New title.")
    description: Description | None = Field(None, description="New short description.")
    content: Content | None = Field(None, description="New full content.")
    category: Label | None = Field(None, description="New category.")
    languages: Labels | None = Field(None, description="New programming languages.")
    tags: Labels | None = Field(None, description="New browse-only labels.")
    metadata: JsonObject | None = Field(None, description="Merged key by key into the metadata; null is stored.")
    expected_revision: int | None = Field(None, ge=1, description="Refuse with 409 unless this is the revision now.")


CHANGEABLE = ("name", "description", "content", "category", "languages", "tags", "metadata")


async def update_entity(app: App, call: Call, request: UpdateEntityRequest) -> EntityView:
    """Change the given fields of an entity; metadata is merged key by key.

    Send `expected_revision` to be refused when somebody changed it since you read it.
    """
    if not any(getattr(request, name) is not None for name in CHANGEABLE):
        raise InvalidRequest("Nothing to change.", remediation=f"Send at least one of {', '.join(CHANGEABLE)}.")

    def write() -> Entity:
        caller = call.caller
        with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
            updated = tx.update_entity(
                request.entity_id, _change(caller, request), expected_revision=request.expected_revision
            )
            grant_project(tx, updated)
            return updated

    entity = await in_thread(write)
    views = await entity_views(app, call.caller, [entity])
    return views[0].model_copy(update={"mutation_receipt": receipt(app, call, [entity])})


def _change(caller: Principal, request: UpdateEntityRequest) -> Callable[[Entity], Entity]:
    """Build the change that the ledger applies to the current row, inside its transaction."""

    def change(current: Entity) -> Entity:
        if not may_read(caller, current.visibility):
            raise NotFound(f"There is no entity {request.entity_id}.")
        changed = replace(
            current,
            name=current.name if request.name is None else request.name,
            description=current.description if request.description is None else request.description,
            content=current.content if request.content is None else request.content,
            category=current.category if request.category is None else request.category,
            languages=current.languages if request.languages is None else tuple(request.languages),
            tags=current.tags if request.tags is None else tuple(request.tags),
        )
        return changed if request.metadata is None else _with_metadata(caller, changed, request.metadata)

    return change


def _with_metadata(caller: Principal, entity: Entity, update: JsonObject) -> Entity:
    update = without_stamped(update)
    scope = update.pop("memory_scope", None)
    merged = {**entity.metadata, **update}
    checked_workflow(entity.entity_type, update, current=entity.metadata)
    project_id = update.get("project_id", entity.project_id)
    moved = project_id != entity.project_id
    reopened = entity.entity_type == "project" and update.get("visibility", entity.metadata.get("visibility")) != (
        entity.metadata.get("visibility")
    )
    if scope is None and not moved and not reopened:
        return replace(entity, metadata=merged)
    require_scope_change(caller, entity)
    if entity.entity_type == "project":
        return replace(entity, metadata=merged)
    kept_scope = entity.memory_scope if entity.memory_scope != "project" else None
    visibility = writable_visibility(caller, scope if scope is not None else kept_scope, project_named(project_id))
    return replace(
        entity,
        metadata=merged,
        project_id=project_named(project_id),
        visibility=visibility.key,
        memory_scope=visibility.memory_scope,
        scope_key=visibility.scope_key,
    )


def project_named(value: object) -> str | None:
    """Read a project id out of metadata; anything that is not a text names no project."""
    return value if isinstance(value, str) and value else None


class DeleteEntityRequest(Request):
    """Which entity to erase."""

    entity_id: EntityId = Field(description="The entity's id.")
    expected_revision: int | None = Field(None, ge=1, description="Refuse with 409 unless this is the revision now.")


async def delete_entity(app: App, call: Call, request: DeleteEntityRequest) -> Nothing:
    """Erase an entity with all its revisions and relations. A source takes its documents with it."""

    def write() -> None:
        caller = call.caller
        readable(app, caller, request.entity_id)
        with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
            tx.delete_entity(request.entity_id, expected_revision=request.expected_revision)

    await in_thread(write)
    return Nothing()


def _page_text(page: EntityPage) -> str:
    lines = [f"{entity.id} [{entity.entity_type}] {entity.name}" for entity in page.entities]
    return "\n".join([f"{page.total} entities, page {page.page}", *lines])


def entity_text(view: EntityView) -> str:
    """Say an entity in a text that an agent reads."""
    head = f"{view.id} [{view.entity_type}] {view.name} (revision {view.revision})"
    related = [f"- {r.relationship} {r.direction}: {r.id} {r.name}" for r in view.related or []]
    return "\n".join(part for part in [head, view.description, view.content, *related] if part)


OPERATIONS = (
    Operation(
        name="list_entities",
        request=ListEntitiesRequest,
        result=EntityPage,
        run=list_entities,
        route=Route("GET", "/api/entities"),
        tool=Tool("List entities", read_only=True, listed=False, render=_page_text),
    ),
    Operation(
        name="get_entity",
        request=GetEntityRequest,
        result=EntityView,
        run=get_entity,
        route=Route("GET", "/api/entities/{entity_id}", errors=frozenset({404})),
        tool=Tool("Read an entity", read_only=True, render=entity_text),
    ),
    Operation(
        name="update_entity",
        request=UpdateEntityRequest,
        result=EntityView,
        run=update_entity,
        roles=WRITERS,
        scope="write",
        route=Route(
            "PATCH",
            "/api/entities/{entity_id}",
            headers={"if-match": "expected_revision"},
            errors=frozenset({400, 404, 409}),
        ),
        tool=Tool("Change an entity", read_only=False, idempotent=True, render=entity_text),
        mutates=True,
        events=("entity_updated",),
    ),
    Operation(
        name="delete_entity",
        request=DeleteEntityRequest,
        result=Nothing,
        run=delete_entity,
        roles=WRITERS,
        scope="write",
        route=Route(
            "DELETE",
            "/api/entities/{entity_id}",
            status=204,
            headers={"if-match": "expected_revision"},
            errors=frozenset({404, 409}),
        ),
        tool=Tool("Delete an entity", read_only=False, destructive=True, idempotent=True),
        mutates=True,
        events=("entity_deleted",),
    ),
)
