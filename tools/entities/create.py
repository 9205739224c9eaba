"""Creating entities: one, many, or one as agents add it."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from stores.records import JsonObject
from tools.app import App
from tools.entities.entities import entity_views
from tools.frame.operation import SYNCED, Call, Request, Result, Route, Tool, writing
from tools.frame.threads import in_thread
from tools.records.entity_models import (
    BULK_LIMIT,
    Assignees,
    BackgroundJobs,
    Content,
    EntityFields,
    EntityId,
    EntityView,
    FindableFields,
    Label,
    Labels,
    MutationReceipt,
    Name,
    Probes,
    RelatedTo,
    entity_view,
)
from tools.records.entity_types import EntityType
from tools.records.linking import WORK
from tools.records.receipts import readable_by, receipt
from tools.records.storing import store, until_visible, wait_until_visible
from tools.search.similar import THRESHOLD, ProbeRehearsal, Similar, rehearsed, similar


class CreateEntityRequest(FindableFields):
    """An entity to store."""

    sync: bool = Field(False, description="Wait until every healthy index shows the entity, at most 20 s.")
    defer_embeddings: bool = Field(False, description="Let interactive writes be embedded first.")
    probes: Probes = Field(None, description="Questions that should find it; with `sync`, the rank of each is told.")
    atomic: bool = Field(False, description="Without effect: content is stored whole, or refused.")
    skip_conflicts: bool = Field(False, description="Without effect: only `add` and `remember` name similar records.")


class CreatedView(EntityView):
    """A created entity."""

    probe_rehearsal: list[ProbeRehearsal] | None = Field(None, description="With `sync`, one for each probe in order.")


@writing(
    Route("POST", "/api/entities", status=201, query=SYNCED, errors=(400, 404, 409)), "entity_pending", "entity_created"
)
async def create_entity(app: App, call: Call, request: CreateEntityRequest) -> CreatedView:
    """Store an entity. It is durable when this answers; with `sync` it is in every healthy index, too.

    Without `sync` the timestamps in the answer are null and `entity_created` follows when the indexes have it.
    """
    sync = request.sync or request.entity_type == "project"
    fields = request.findable(probes=request.probes)
    (entity,), sequence = await in_thread(store, app, call, [fields], sync=sync, deferred=request.defer_embeddings)
    (view,) = await in_thread(entity_views, app, call.caller, [entity])
    extra: dict[str, object] = {"mutation_receipt": receipt(app, call, [entity])}
    if sync:
        extra["background_jobs"] = await until_visible(app, call.caller, sequence, [entity.id])
        extra["probe_rehearsal"] = await rehearsed(app, call, request.probes or (), entity.id)
    else:
        extra |= {"created_at": None, "updated_at": None}
    return CreatedView.of(view, **extra)


class BulkCreateRequest(Request):
    """Entities to store together."""

    entities: Annotated[list[FindableFields], Field(min_length=1, max_length=BULK_LIMIT)] = Field(
        description=f"1 to {BULK_LIMIT} entities; all are stored or none."
    )
    defer_embeddings: bool = Field(True, description="Let interactive writes be embedded first.")
    sync: bool = Field(False, description="Wait until every healthy index shows them, at most 20 s.")


class BulkCreated(Result):
    """Entities that a bulk create stored, in the order of the request."""

    entities: list[EntityView]
    total: int
    background_jobs: BackgroundJobs | None = None
    mutation_receipt: MutationReceipt | None = None


@writing(
    Route("POST", "/api/entities/bulk", status=201, query=SYNCED, errors=(400, 404, 409)),
    "entity_pending",
    "entity_created",
)
def bulk_create_entities(app: App, call: Call, request: BulkCreateRequest) -> BulkCreated:
    """Store up to 128 entities in one transaction: all of them or none. With a project among them, `sync` is true."""
    sync = request.sync or any(fields.entity_type == "project" for fields in request.entities)
    fields = [each.findable(f"body.entities.{place}") for place, each in enumerate(request.entities)]
    created, sequence = store(app, call, fields, sync=sync, deferred=request.defer_embeddings)
    if sync:
        wait_until_visible(app, call, sequence, [each.id for each in created])
    views = [entity_view(entity, timestamps=sync) for entity in created]
    return BulkCreated(entities=views, total=len(views), mutation_receipt=receipt(app, call, created))


class AddRequest(Request):
    """A piece of knowledge to add."""

    title: Name = Field(description="Title in one line.")
    content: Content = Field(description="The knowledge itself.")
    entity_type: EntityType = Field("episode", description="episode, pattern, rule, decision, procedure, task, …")
    category: Label | None = Field(None, description="Category to filter by.")
    languages: Labels | None = Field(None, description="Programming languages it is about.")
    tags: Labels | None = Field(None, description="Browse-only labels, without effect on ranking.")
    related_to: RelatedTo | None = Field(None, description="Ids to link to; `supersedes:<id>` retires that record.")
    metadata: JsonObject | None = Field(None, description="Further structured data.")
    project: EntityId | None = Field(None, description="Id of the project that it belongs to.")
    priority: Literal["critical", "high", "medium", "low", "someday"] | None = Field(None, description="For tasks.")
    assignees: Assignees | None = Field(None, description="For tasks: who works on it.")
    due_date: Label | None = Field(None, description="For tasks: ISO 8601 date.")
    technologies: Labels | None = Field(None, description="For tasks, and as `tech_stack` for projects.")
    depends_on: RelatedTo | None = Field(None, description="For tasks: ids of tasks that come first.")
    repository_url: Annotated[str, Field(max_length=2000)] | None = Field(None, description="For projects.")
    check_conflicts: bool = Field(True, description="Name existing records that look like this one.")
    skip_conflicts: bool = Field(False, description="Store without looking for similar records.")
    conflict_threshold: float = Field(THRESHOLD, ge=0, le=1, description="Similarity from which a record is named.")


class Added(Result):
    """The added entity and its similar records."""

    success: bool = True
    id: str
    message: str
    readable_by: str
    entity: EntityView
    conflicts: list[Similar] = Field(default_factory=list)
    background_jobs: BackgroundJobs


@writing(
    None, "entity_created", tool=Tool("Add knowledge", read_only=False, omit_result=frozenset({"entity", "success"}))
)
async def add(app: App, call: Call, request: AddRequest) -> Added:
    """Add one piece of knowledge to the shared memory: an episode, pattern, rule, decision, task or any other type.

    Similar records are named, never refused: link to them, or retire one with `related_to=["supersedes:<id>"]`.
    """
    fields = _added_fields(request)
    alike: list[Similar] = []
    if request.check_conflicts and not request.skip_conflicts:
        said = f"{request.title}\n{request.content}"
        alike = await similar(app, call.caller, said, request.entity_type, request.conflict_threshold)
    (entity,), sequence = await in_thread(store, app, call, [fields], sync=True, deferred=False)
    pending = await until_visible(app, call.caller, sequence, [entity.id])
    (view,) = await in_thread(entity_views, app, call.caller, [entity])
    receipted = {"background_jobs": pending, "mutation_receipt": receipt(app, call, [entity])}
    readers = await in_thread(readable_by, app, call.caller, entity.visibility)
    note = f"; {len(alike)} similar record(s) exist" if alike else ""
    return Added(
        id=entity.id,
        message=f"Added {entity.entity_type} {entity.name}{note}",
        readable_by=readers,
        entity=view.model_copy(update=receipted),
        conflicts=alike,
        background_jobs=pending,
    )


def _added_fields(request: AddRequest) -> EntityFields:
    metadata: JsonObject = dict(request.metadata or {})
    given = request.model_dump(include={"priority", "assignees", "due_date", "repository_url"})
    technologies = "tech_stack" if request.entity_type == "project" else "technologies"
    given |= {"project_id": request.project, technologies: request.technologies}
    metadata |= {name: value for name, value in given.items() if value not in (None, [])}
    if request.entity_type in WORK and request.depends_on:
        metadata["depends_on"] = list[JsonValue](request.depends_on)
    depends = [f"depends_on:{each}" for each in request.depends_on or () if request.entity_type not in WORK]
    same = request.model_dump(include={"content", "entity_type", "category", "languages", "tags"})
    related_to = [*(request.related_to or ()), *depends]
    return EntityFields(name=request.title, metadata=metadata, related_to=related_to, **same)
