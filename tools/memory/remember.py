"""The verb remember: one transaction stores a raw memory and the entity made of it, with its relations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.memory_policy import MemoryScopeRequest, writable_memory
from auth.policy import MemoryScope, Visibility, may_read, require_writable, without_stamped
from auth.principal import Principal
from auth.visibility import entity_key
from stores.errors import Forbidden, ValidationFailed
from stores.event_times import unread_dates
from stores.indexed_text import RETRIEVAL_KEYS
from stores.language.wording import comparable
from stores.ledger import SUPERSEDES, Transaction
from stores.records import Entity, JsonObject, RawMemory
from tools.app import App
from tools.frame.audit_entries import remember_entry
from tools.frame.json_values import texts_in, without_none
from tools.frame.operation import Call, Request, Result, Route, Tool, writing
from tools.frame.threads import in_thread
from tools.memory.memories import memory_draft
from tools.records.derivation import EXCERPT, REMEMBERED
from tools.records.entity_models import (
    CONTENT_LIMIT,
    KEYS_LIMIT,
    BackgroundJobs,
    EntityFields,
    EntityId,
    Label,
    Labels,
    MutationReceipt,
    Name,
    Probes,
    RelatedTo,
    RetrievalKeys,
    Spans,
    findable_metadata,
    require_spans,
)
from tools.records.linking import Link, record, referred, related
from tools.records.memory_models import RAW_CONTENT_LIMIT, RawMemoryFields
from tools.records.receipts import capture_receipt, readable_by
from tools.records.storing import store_in, until_visible
from tools.search.similar import ProbeRehearsal, Similar, rehearsed, similar
from tools.text.sentences import sentences
from tools.work.tasks import active_task

SAME_LIMIT = 20
INHERITED_SCOPES = ("shared", "delegated")

Remembrance = Literal[
    "episode", "decision", "plan", "idea", "claim", "artifact", "procedure", "domain", "session", "pattern", "rule"
]
Told = Annotated[str, StringConstraints(min_length=1, max_length=RAW_CONTENT_LIMIT, pattern=r"\S")]


class RememberRequest(Request):
    """Something to remember."""

    title: Name = Field(description="Title: one line that says what it is.")
    content: Told = Field(description="Text to remember, kept verbatim.")
    kind: Remembrance = Field("episode", description="Kind of knowledge.")
    domain: Label | None = Field(None, description="Field of knowledge; kept with it.")
    project: EntityId | None = Field(None, description="Id of the project that it belongs to.")
    tags: Labels | None = Field(None, description="Browse-only labels, without effect on ranking.")
    related_to: RelatedTo | None = Field(None, description="Ids to link to; `supersedes:<id>` retires that record.")
    task_ids: Annotated[list[EntityId], Field(max_length=100)] | None = Field(None, description="Tasks to link it to.")
    active_task: bool = Field(True, description="Link it to the task that you are doing, if there is one.")
    metadata: JsonObject | None = Field(None, description="More data; `captured_at` is when it was said, if not now.")
    retrieval_keys: RetrievalKeys = None
    idempotency_key: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = Field(
        None, description="Send the same key again to repeat a call whose answer was lost: it is done once."
    )
    spans: Spans = None
    atomic: bool = Field(
        False, description=f"Refuse more than {CONTENT_LIMIT} characters: else the entity holds the beginning of them."
    )
    probes: Probes = Field(None, description="Questions that should find it: each is tried, and its rank told.")
    memory_scope: MemoryScope | None = Field(None, description="Readers; default: people of `project`, else only you.")
    scope_key: EntityId | None = Field(None, description="Team or memory space.")


class Remembered(Result):
    """The stored entity and raw memory."""

    success: bool = True
    id: str = Field(description="The entity.")
    raw_memory_id: str = Field(description="Text, verbatim.")
    message: str
    already_known: bool = Field(description="The same text was remembered before: nothing new is stored.")
    found_by: list[str] = Field(description="Search words that were added to the known record.")
    not_applied: list[str] = Field(description="Fields of the known record that differ and stay.")
    entity_type: str
    memory_scope: str
    scope_key: str | None
    readable_by: str = Field(description="Readers, in words.")
    active_task_id: str | None = Field(description="The task in progress that it was linked to.")
    conflicts: list[Similar] = Field(description="Existing records that say nearly the same.")
    probe_rehearsal: list[ProbeRehearsal] = Field(description="One for each probe, in their order.")
    background_jobs: BackgroundJobs
    mutation_receipt: MutationReceipt


@dataclass(frozen=True, slots=True)
class Kept:
    """Outcome of the write."""

    memory: RawMemory
    entity: Entity
    task: Entity | None
    linked: int
    is_new_memory: bool = False
    is_new: bool = False
    sequence: int = 0
    found_by: Sequence[str] = ()
    not_applied: Sequence[str] = ()

    @property
    def has_changed(self) -> bool:
        return self.is_new or bool(self.linked or self.found_by)


@writing(
    Route("POST", "/api/memory/remember", status=201, tag="memory", errors=(400, 404, 409)),
    "entity_created",
    "entity_updated",
    "raw_capture_changed",
    tool=Tool("Remember", read_only=False, omit_result=frozenset({"success"})),
)
async def remember(app: App, call: Call, request: RememberRequest) -> Remembered:
    """Remember something: it is kept verbatim, and as a typed entity with its relations, in one write.

    The same words in the same scope are recognised: nothing is stored twice, but `related_to` is linked, and another
    title becomes a word by which the record is found. Similar records are named, never refused.
    """
    require_spans(request.spans, request.content)
    if request.atomic and len(request.content) > CONTENT_LIMIT:
        raise ValidationFailed(
            f"content has {len(request.content)} characters, and an entity holds {CONTENT_LIMIT} of them.",
            remediation="Leave `atomic` out: it is kept whole as a raw memory, and the entity holds its beginning.",
            details={"field": "body.content", "expected": f"at most {CONTENT_LIMIT} characters"},
        )
    alike = await similar(app, call.caller, f"{request.title}\n{request.content}", request.kind)
    kept = await in_thread(_write, app, call, request, alike)
    ids = [kept.entity.id, kept.memory.entity.id]
    jobs = await until_visible(app, call.caller, kept.sequence, ids)
    others = [each for each in alike if each.id != kept.entity.id]
    written = [kept.memory.entity.id] if kept.is_new_memory else []
    changed = [kept.entity.id] if kept.has_changed else []
    return Remembered.of(
        kept.entity,
        raw_memory_id=kept.memory.entity.id,
        message=_message(kept, others),
        already_known=not kept.is_new,
        found_by=list(kept.found_by),
        not_applied=list(kept.not_applied),
        readable_by=await in_thread(readable_by, app, call.caller, kept.entity.visibility),
        active_task_id=kept.task.id if kept.task is not None else None,
        conflicts=others,
        probe_rehearsal=await rehearsed(app, call, request.probes or (), kept.entity.id),
        background_jobs=jobs,
        mutation_receipt=capture_receipt(app, call, written, changed),
    )


def _write(app: App, call: Call, request: RememberRequest, alike: Sequence[Similar]) -> Kept:
    caller = call.caller
    scope = request.memory_scope or ("private" if request.project is None else "project")
    place = writable_memory(caller, MemoryScopeRequest(scope, request.scope_key, request.project))
    task = active_task(app, caller, _project(request, place)) if request.active_task else None
    superseded = {each for name, each in map(referred, request.related_to or ()) if name == SUPERSEDES}
    home = app.accounts.home_of(caller.user_id)
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        same = tx.memories.same_memories(place.key, request.content, limit=SAME_LIMIT)
        known = next((found for each in same if (found := _in_force(tx, caller, each)) is not None), None)
        if known is not None and known[1].id not in superseded:
            kept = _known(tx, caller, request, known, task)
        else:
            bare = known[0] if known is not None else next((each for each in same if _is_bare(tx, each)), None)
            draft, capture = memory_draft(tx, caller, _raw(request, place))
            memory_id = draft.id if bare is None else bare.entity.id
            readers = Visibility(entity_key(place.key), place.memory_scope, place.scope_key)
            (entity,) = store_in(call, tx, [_fields(request, place, memory_id)], sync=True, made_of=[readers])
            links = _task_links(entity, request, task)
            record(tx, caller, links, created={entity.id})
            if bare is None:
                made = replace(capture, review_state="promoted", entity_id=entity.id)
                memory = tx.memories.create_memory(draft, made)
            else:
                memory = tx.memories.settle_memory(memory_id, review_state="promoted", entity_id=entity.id)
            kept = Kept(memory, entity, task, len(links), is_new_memory=bare is None, is_new=True)
        if kept.has_changed:
            tx.audit(remember_entry(home, call, kept.memory, kept.entity))
        # Erasing one of them erases the stored answer.
        tx.show_in_answer([kept.entity.id, kept.memory.entity.id, *(each.id for each in alike)])
    return replace(kept, sequence=tx.sequence)


def _known(
    tx: Transaction, caller: Principal, request: RememberRequest, found: tuple[RawMemory, Entity], task: Entity | None
) -> Kept:
    memory, entity = found
    links = related(entity, request.related_to or ()) + _task_links(entity, request, task)
    if links:
        require_writable(caller, entity)
    record(tx, caller, links)
    # Title, kind and data of a known record stay, because others may rely on them.
    unlike = _unlike(entity, request)
    keys = texts_in(entity.metadata.get(RETRIEVAL_KEYS))
    has = {comparable(each) for each in (entity.name, *keys)}
    wanted = {comparable(each): each for each in (request.title, *(request.retrieval_keys or ()))}
    fresh = [each for folded, each in wanted.items() if folded not in has]
    if fresh and (len(keys) + len(fresh) > KEYS_LIMIT or not may_change(caller, entity)):
        named = {"title": request.title in fresh, "retrieval_keys": bool(set(fresh) - {request.title})}
        unlike, fresh = [*(field for field, is_other in named.items() if is_other), *unlike], []
    if fresh:
        known: JsonObject = {RETRIEVAL_KEYS: [*keys, *fresh]}
        entity = tx.records.update_entity(entity.id, lambda each: replace(each, metadata=each.metadata | known))
    return Kept(memory, entity, task, len(links), found_by=fresh, not_applied=unlike)


def may_change(caller: Principal, entity: Entity) -> bool:
    try:
        require_writable(caller, entity)
    except Forbidden:
        return False
    return True


def _unlike(entity: Entity, request: RememberRequest) -> list[str]:
    sent, metadata = request.model_fields_set, entity.metadata
    spans = [{"start": span.start, "end": span.end} for span in request.spans or ()]
    given = without_stamped(request.metadata or {})
    differs = {
        "kind": "kind" in sent and request.kind != entity.entity_type,
        "domain": request.domain not in (None, metadata.get("domain")),
        "project": request.project not in (None, entity.project_id),
        "tags": not set(request.tags or ()) <= set(entity.tags),
        "metadata": any(metadata.get(name) != value for name, value in given.items() if name != "memory_scope"),
        "spans": bool(spans) and spans != metadata.get("spans"),
    }
    return [field for field, is_other in differs.items() if is_other]


def _project(request: RememberRequest, place: Visibility) -> str | None:
    return place.scope_key if place.memory_scope == "project" else request.project


def _in_force(tx: Transaction, caller: Principal, memory: RawMemory) -> tuple[RawMemory, Entity] | None:
    made = memory.capture.entity_id
    entity = None if made is None else tx.records.entity(made)
    if entity is None or memory.capture.review_state == "archived" or not may_read(caller, entity.visibility):
        return None
    retiring = [
        each.source_id
        for each in tx.relations.relations_of(entity.id)
        if each.name == SUPERSEDES and each.target_id == entity.id and may_read(caller, each.visibility)
    ]
    is_superseded = any(may_read(caller, each.visibility) for each in tx.records.entities(retiring).values())
    return None if is_superseded else (memory, entity)


def _is_bare(tx: Transaction, memory: RawMemory) -> bool:
    made = memory.capture.entity_id
    return memory.capture.review_state != "archived" and (made is None or tx.records.entity(made) is None)


def _raw(request: RememberRequest, place: Visibility) -> RawMemoryFields:
    given: JsonObject = {"domain": request.domain, "capture_mode": REMEMBERED}
    own = {name: value for name, value in (request.metadata or {}).items() if name != RETRIEVAL_KEYS}
    return RawMemoryFields(
        raw_content=request.content,
        title=request.title,
        memory_scope=place.memory_scope,
        scope_key=place.scope_key,
        project_id=request.project,
        tags=request.tags or [],
        metadata=own | without_none(given),
        capture_surface=REMEMBERED,
    )


def _fields(request: RememberRequest, place: Visibility, memory_id: str) -> EntityFields:
    content = _held(request.content)
    given: JsonObject = {
        "domain": request.domain,
        "project_id": _project(request, place),
        "scope_key": place.scope_key,
        **findable_metadata(request.retrieval_keys, request.spans, request.probes),
        EXCERPT: {"start": 0, "end": len(content)} if len(content) < len(request.content) else None,
        "raw_memory_id": memory_id,
        "capture_mode": REMEMBERED,
    }
    metadata = {**(request.metadata or {}), **without_none(given)}
    metadata.pop("memory_scope", None)
    if place.memory_scope not in INHERITED_SCOPES:
        metadata["memory_scope"] = place.memory_scope
    return EntityFields(
        name=request.title,
        content=content,
        entity_type=request.kind,
        tags=request.tags,
        metadata=metadata,
        related_to=request.related_to,
    )


def _held(content: str) -> str:
    if len(content) <= CONTENT_LIMIT:
        return content
    tail = CONTENT_LIMIT - CONTENT_LIMIT // 10
    ends = [tail + end for _, end in sentences(content[tail:CONTENT_LIMIT])][:-1]
    return content[: ends[-1] if ends else CONTENT_LIMIT]


def _task_links(entity: Entity, request: RememberRequest, task: Entity | None) -> list[Link]:
    named = list(dict.fromkeys(request.task_ids or ()))
    links = [Link(entity, "RELATED_TO", each, "task_ids", types=("task",)) for each in named]
    if task is not None and task.id not in named:
        links.append(Link(entity, "RELATED_TO", task.id, "active_task", types=("task",)))
    return links


def _message(kept: Kept, others: Sequence[Similar]) -> str:
    kind, name = kept.entity.entity_type, kept.entity.name
    said = f"Remembered {kind} {name}" if kept.is_new else f"Known already as {kind} {name}: nothing was stored twice"
    if not kept.is_new and kept.linked:
        said += f"; {kept.linked} link(s) stated"
    if kept.found_by:
        said += f"; found by {', '.join(f'“{each}”' for each in kept.found_by)} from now on, too"
    if kept.not_applied:
        said += f"; not applied: {', '.join(kept.not_applied)} (to replace it, add supersedes:{kept.entity.id})"
    memory = kept.memory.entity
    said += "".join(
        f"; metadata.{key} is no date, and counts as missing"
        for key in unread_dates(memory.metadata, kept_at=memory.created_at)
    )
    return said + (f"; {len(others)} similar record(s) exist" if others else "")
