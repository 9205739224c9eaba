"""Storing and recalling raw memories."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.memory_policy import READ_REASONS, WRITE_REASON, MemoryScopeRequest, readable_memory, writable_memory
from auth.policy import TRUST_NAMES, MemoryScope, Visibility
from auth.principal import Principal
from stores.clock import new_id
from stores.errors import InvalidRequest, ValidationFailed
from stores.event_times import CAPTURED_AT
from stores.exposures import Shown
from stores.ledger import Transaction, content_hash
from stores.records import RAW_MEMORY, Capture, Entity, EntityDraft, Facet, IndexFilter, JsonObject, RawMemory
from tools.app import App
from tools.entities.entities import entities_made
from tools.frame.audit_entries import recall_entry, remember_entry
from tools.frame.dates import moment
from tools.frame.json_values import StoredJson
from tools.frame.operation import SYNCED, Call, Filters, Result, Route, entry, writing
from tools.frame.threads import in_thread
from tools.records.entity_models import EntityId, Label
from tools.records.memory_models import RawMemoryFields, RawMemoryView, memory_fields
from tools.records.projects import require_live
from tools.records.receipts import capture_receipt
from tools.records.storing import until_visible
from tools.records.trust import require_not_rejected
from tools.retrieval.pipeline import answered
from tools.retrieval.plan import Plan
from tools.retrieval.pool import Candidate
from tools.search.answers import SPARE, ranked
from tools.search.exposure import exposed

SHOWN_CHARACTERS = 20_000
PASSAGE_CHARACTERS = 1_200
DEPTH = 100


class StoreRawMemoryRequest(RawMemoryFields):
    """Something to keep as it was said."""

    sync: bool = Field(False, description="Wait until every healthy index shows the memory, at most 20 s.")


@writing(Route("POST", "/api/memory/raw", tag="memory", query=SYNCED, errors=(400, 404, 409)), "raw_capture_changed")
async def store_raw_memory(app: App, call: Call, request: StoreRawMemoryRequest) -> RawMemoryView:
    """Keep what was said, verbatim, with where it came from. It is durable when this answers."""

    def write() -> tuple[RawMemory, int]:
        caller = call.caller
        home = app.accounts.home_of(caller.user_id)
        with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
            memory = tx.memories.create_memory(*memory_draft(tx, caller, request))
            tx.audit(remember_entry(home, call, memory))
        return memory, tx.sequence

    memory, sequence = await in_thread(write)
    view = RawMemoryView.model_validate(memory_fields(memory, policy_reason=WRITE_REASON))
    extra: dict[str, object] = {"mutation_receipt": capture_receipt(app, call, [memory.entity.id])}
    if request.sync:
        extra["background_jobs"] = await until_visible(app, call.caller, sequence, [memory.entity.id])
    return view.model_copy(update=extra)


def memory_draft(tx: Transaction, caller: Principal, fields: RawMemoryFields) -> tuple[EntityDraft, Capture]:
    draft, capture = unchecked_draft(fields, writable_memory(caller, scope_of(fields)), tx.now)
    require_not_rejected(tx, [draft])
    if draft.project_id is not None:
        require_live(draft.project_id, tx.records.entity(draft.project_id))
    return draft, capture


def unchecked_draft(fields: RawMemoryFields, place: Visibility, now: datetime) -> tuple[EntityDraft, Capture]:
    """Draft a raw memory in a place that was checked, of words that are yet to be checked for rejected ones."""
    metadata = {name: value for name, value in fields.metadata.items() if name not in TRUST_NAMES}
    from_metadata = metadata.get(CAPTURED_AT) is not None
    said, captured_at = (metadata if from_metadata else fields.provenance).get(CAPTURED_AT), now
    if said is not None:
        field = f"{'metadata' if from_metadata else 'provenance'}.{CAPTURED_AT}"
        if not isinstance(said, str):
            raise ValidationFailed(f"{field} is a date in a text.", details={"field": f"body.{field}"})
        metadata[CAPTURED_AT], captured_at = said, moment(said, now=now, field=field)
    draft = EntityDraft(
        id=new_id(RAW_MEMORY),
        entity_type=RAW_MEMORY,
        name=fields.title,
        content=fields.raw_content,
        # `category` holds the agent of a diary, so that recall can filter by it.
        category=fields.agent_id,
        tags=tuple(fields.tags),
        metadata=metadata,
        **place.fields,
        project_id=place.scope_key if place.memory_scope == "project" else fields.project_id,
    )
    capture = Capture(
        source_id=fields.source_id or draft.id,
        capture_surface=fields.capture_surface,
        captured_at=captured_at,
        provenance=fields.provenance,
        agent_id=fields.agent_id,
        content_hash=content_hash(fields.raw_content),
    )
    return draft, capture


class RecallRequest(Filters):
    """A question to raw memories."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=100_000)] = Field(
        description='Question in plain words; exact identifiers and "quoted phrases" work too.'
    )
    limit: int = Field(10, ge=1, le=50, description="Most memories.")
    min_score: float = Field(0, ge=0, le=1, description="Least score of a memory.")
    memory_scope: MemoryScope = Field("private", description="Scope of the memories.")
    scope_key: EntityId | None = Field(None, description="Which project, team or memory space.")
    diary: bool = Field(False, description="Search the diaries of the caller's agents instead.")
    agent_id: Label | None = Field(None, description="Only this agent's diary.")
    project_id: EntityId | None = Field(None, description="Only memories about this project.")


def scope_of(fields: RawMemoryFields | RecallRequest) -> MemoryScopeRequest:
    if fields.agent_id is not None and not fields.diary:
        raise InvalidRequest(
            "agent_id is for diaries.",
            remediation="Send `diary` true with it, or leave it out.",
            details={"field": "body.agent_id"},
        )
    if isinstance(fields, RawMemoryFields) and fields.diary and fields.agent_id is None:
        raise InvalidRequest(
            "A diary entry needs the agent whose diary it is.",
            remediation="Send agent_id.",
            details={"field": "body.agent_id"},
        )
    return MemoryScopeRequest(fields.memory_scope, fields.scope_key, fields.project_id, fields.diary)


class RecalledMemory(RawMemoryView):
    """A raw memory that answers a question, with the passage that does."""

    raw_content_length: int = Field(description="Characters of the whole text.")
    truncated: bool = Field(description=f"True if `raw_content` stops after {SHOWN_CHARACTERS} characters.")
    passage: StoredJson | None = Field(description="Best passage: its place in `raw_content`, and its text.")
    retrieval_signals: list[str] = Field(description="The lanes that found it.")
    also_stored_as: list[str] = Field(description="Ids of other memories with its title and words.")


class Recalled(Result):
    """The raw memories that answer a question, best first."""

    query: str
    limit: int
    memories: list[RecalledMemory]
    policy_reason: str
    degraded: dict[str, str] = Field(default_factory=dict, description="Failed parts of the search, with reasons.")
    pending_records: int = Field(0, description="Readable memories that are not in the indexes yet, up to 1,000.")


@entry(Route("POST", "/api/memory/raw/recall", tag="memory", errors=(400,)))
async def recall(app: App, call: Call, request: RecallRequest) -> Recalled:
    """Find what was said, verbatim, by meaning and words, in one scope; without one, among the caller's own memories.

    A long memory is found by any passage in it. Scores compare between questions, as those of a search do.
    """
    return await answered(app, call.caller.organization_id, partial(_recall, app, call, request))


def _recall(app: App, call: Call, request: RecallRequest) -> Recalled:
    caller = call.caller
    place = readable_memory(caller, scope_of(request))
    any_of: dict[Facet, frozenset[str]] = {}
    if request.project_id is not None and place.memory_scope != "project":
        any_of["project_id"] = frozenset({request.project_id.lower()})
    if request.agent_id is not None:
        any_of["category"] = frozenset({request.agent_id.lower()})
    plan = Plan(
        organization_id=caller.organization_id,
        query=request.query,
        filter=IndexFilter(visibility=frozenset({place.key}), any_of=any_of),
        now=app.clock(),
        wanted=2 * request.limit + SPARE,
        depth=DEPTH,
        superseding_keys=caller.visible,
        expand=False,
        min_score=request.min_score,
    )
    pending = app.indexer.unread(caller.organization_id, plan.filter.visibility)
    found: dict[str, RawMemory] = {}

    def read(ids: Sequence[str]) -> dict[str, Entity]:
        known = app.ledger.memories.by_ids(caller.organization_id, ids)
        found.update(known)
        # A memory may have left the scope since it was ranked.
        return {each: memory.entity for each, memory in known.items() if memory.entity.visibility == place.key}

    ranking, page = ranked(app, plan, read, 0, request.limit)
    made, reason = entities_made(app, caller, found.values()), READ_REASONS[place.memory_scope]
    memories = [
        _recalled(found[each.id], hit, page.others[each.id], made.get(each.id), reason) for hit, each in page.hits
    ]
    shown = [Shown(each.id, place.key, rank, each.score or 0.0) for rank, each in enumerate(memories, start=1)]
    exposed(app, call, "recall", shown)
    home = app.accounts.home_of(caller.user_id)
    app.ledger.audit.append_soon(recall_entry(home, call, place, [each.id for each in memories]))
    return Recalled.of(
        request, memories=memories, policy_reason=reason, degraded=ranking.degraded, pending_records=pending
    )


def _recalled(
    memory: RawMemory, hit: Candidate, others: list[Entity], entity_id: str | None, reason: str
) -> RecalledMemory:
    text = memory.entity.content
    fields = memory_fields(memory, policy_reason=reason) | {
        "raw_content": text[:SHOWN_CHARACTERS],
        "raw_content_length": len(text),
        "truncated": len(text) > SHOWN_CHARACTERS,
        "entity_id": entity_id,
        "score": hit.score,
        "passage": None if hit.passage is None else _passage(memory, hit.passage),
        "retrieval_signals": hit.sources,
        "also_stored_as": [each.id for each in others],
    }
    return RecalledMemory.model_validate(fields)


def _passage(memory: RawMemory, span: tuple[int, int]) -> JsonObject:
    title, text = memory.entity.name, memory.entity.content
    before = len(title) + 1 if title and title != text else 0
    start, end = (min(max(0, place - before), len(text)) for place in span)
    return {"start": start, "end": end, "text": text[start:end][:PASSAGE_CHARACTERS]}
