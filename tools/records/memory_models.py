"""Request and result models of raw memories."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.policy import MemoryScope
from stores.event_times import unread_dates
from stores.records import JsonObject, RawMemory, ReviewState
from tools.frame.json_values import StoredJson
from tools.frame.operation import Request, Result
from tools.records.entity_models import BackgroundJobs, EntityId, Label, Labels, MutationReceipt

RAW_CONTENT_LIMIT = 500_000
SOURCE_ID_LIMIT = 2048

RawContent = Annotated[str, StringConstraints(min_length=1, max_length=RAW_CONTENT_LIMIT)]
MemoryTitle = Annotated[str, StringConstraints(max_length=300)]
SourceId = Annotated[str, StringConstraints(min_length=1, max_length=SOURCE_ID_LIMIT)]
Surface = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class RawMemoryFields(Request):
    """A raw memory to store."""

    raw_content: RawContent = Field(description="Text, kept verbatim.")
    title: MemoryTitle = Field("", description="Title; searches find it, too.")
    source_id: SourceId | None = Field(None, description="Origin, in your words; by default, the memory's own id.")
    memory_scope: MemoryScope = Field("private", description="Readers.")
    scope_key: EntityId | None = Field(None, description="Which project, team or memory space.")
    diary: bool = Field(False, description="Keep it in an agent's diary, apart from other memories.")
    agent_id: Label | None = Field(None, description="Agent whose diary it is, in any letter case.")
    project_id: EntityId | None = Field(None, description="The project that it is about.")
    tags: Labels = Field([], description="Browse-only labels, without effect on ranking.")
    metadata: JsonObject = Field(
        {},
        description="Structured data. `captured_at` (a date) is when it was said, by default now, and "
        "`occurred_at` when the told event happened; "
        "`thread_id` names the thread that it was said in, `ordinal` (a number) its place there, "
        "`speaker` who said it; "
        "`capture_mode` is shown with the capture.",
    )
    provenance: JsonObject = Field({}, description="Structured origin: session, file, message, …")
    capture_surface: Surface = Field("api", description="Client that captured it: `api`, `cli`, `mcp`, …")


class MemoryFacts(Result):
    """Fields of every view of a raw memory."""

    id: str
    organization_id: str
    source_id: str
    principal_id: str
    agent_id: str | None
    project_id: str | None
    memory_scope: str
    scope_key: str | None
    review_state: ReviewState
    title: str
    tags: list[str]
    metadata: StoredJson
    provenance: StoredJson
    capture_surface: str
    captured_at: datetime
    created_at: datetime
    revision: int
    policy_reason: str


class RawMemoryView(MemoryFacts):
    """A raw memory as its readers see it."""

    raw_content: str
    diary: bool
    unread_dates: list[str] = Field(
        [], description="Invalid dates among `occurred_at` and `captured_at` of `metadata`; they count as missing."
    )
    entity_id: str | None = Field(None, description="The entity that was made of it, where the caller may read it.")
    score: float = Field(0.0, description="0 to 1, of a recall; else 0.")
    background_jobs: BackgroundJobs | None = None
    mutation_receipt: MutationReceipt | None = None


def memory_place(memory: RawMemory) -> JsonObject:
    entity, capture = memory.entity, memory.capture
    return {
        "memory_scope": entity.memory_scope,
        "scope_key": entity.scope_key,
        "project_id": entity.project_id,
        "source_id": capture.source_id,
        "capture_surface": capture.capture_surface,
        "captured_at": capture.captured_at.isoformat(),
        "review_state": capture.review_state,
        "hint": f"Read it whole with GET /api/entities/captures/{entity.id}, or with get_entity.",
    }


def memory_fields(memory: RawMemory, *, policy_reason: str) -> dict[str, object]:
    """Return the fields of every view of a raw memory, except `entity_id`."""
    entity, capture = memory.entity, memory.capture
    names = MemoryFacts.model_fields
    return {
        **{name: getattr(entity, name) for name in names if hasattr(entity, name)},
        **{name: getattr(capture, name) for name in names if hasattr(capture, name)},
        "title": entity.name,
        "raw_content": entity.content,
        "unread_dates": unread_dates(entity.metadata, kept_at=entity.created_at),
        "diary": capture.agent_id is not None,
        "policy_reason": policy_reason,
    }
