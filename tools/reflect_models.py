"""The wire shapes of reflection: the pack, its candidates, and what is said of each candidate."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from auth.policy import MemoryScope
from stores.records import JsonObject, ReviewState
from tools.entity_models import EntityId, Label, MutationReceipt, RelatedTo
from tools.operation import Request, Result
from tools.reflection import Kind

NOTES_LIMIT = 500_000
TITLE_LIMIT = 300
CITED_LIMIT = 100
Intent = Literal["build", "plan", "ideate", "research", "review", "debug", "decide", "learn", "general"]
FindingKind = Literal[
    "claim", "duplicate", "stale", "contradiction", "supersession", "promotion", "correction", "exception"
]
Lifecycle = Literal["active", "contested", "superseded", "archived", "deleted"]


def _split(cited: object) -> object:
    """Take the ids out of one text, as agents send them."""
    return [each for each in cited.replace(",", " ").split() if each] if isinstance(cited, str) else cited


CitedIds = Annotated[
    list[EntityId],
    BeforeValidator(_split, json_schema_input_type=list[str] | str),
    Field(max_length=CITED_LIMIT),
]


class ReflectRequest(Request):
    """Notes to read, and what to do with what is found in them."""

    content: Annotated[str, StringConstraints(min_length=1, max_length=NOTES_LIMIT, pattern=r"\S")] = Field(
        description="The notes of a session, as plain text."
    )
    source_title: Annotated[str, StringConstraints(min_length=1, max_length=TITLE_LIMIT)] = Field(
        "Session reflection", description="What the notes are called."
    )
    intent: Intent = Field("general", description="What the session was for; kept with what is found.")
    domain: Label | None = Field(None, description="Field of knowledge; kept with what is found.")
    project: EntityId | None = Field(None, description="Id of the project that the notes belong to.")
    cited_ids: CitedIds = Field([], description="Ids of records that helped in the session.")
    related_to: RelatedTo | None = Field(
        None, description="Ids to link what is kept to, each plain or as `relationship:id`."
    )
    task_ids: Annotated[list[EntityId], Field(max_length=100)] | None = Field(
        None, description="Ids of tasks to link what is kept to."
    )
    active_task: bool = Field(True, description="Link what is kept to the task that is being worked on.")
    persist: bool = Field(False, description="Keep the candidates as records of the graph.")
    persist_source: bool = Field(True, description="Keep the notes to the letter, as a raw memory.")
    persist_review: bool = Field(False, description="Keep the candidates in the review queue instead of the graph.")
    limit: int = Field(12, ge=1, le=25, description="Most candidates; the surest are returned.")


class ClaimRecord(Result):
    """Something that a candidate holds to be true."""

    id: str
    title: str
    content: str
    confidence: float
    source_ids: list[str]
    raw_source_ids: list[str]
    memory_scope: MemoryScope
    scope_key: str | None
    validity: Lifecycle
    freshness: Literal["current", "stale"]
    supports_source_ids: list[str]
    contradicts_source_ids: list[str]
    supersedes_source_ids: list[str]
    superseded_by_source_id: str | None
    created_at: datetime
    metadata: JsonObject


class ReflectionFinding(Result):
    """How a candidate stands to what is known already."""

    id: str
    kind: FindingKind
    target_source_id: str | None
    reason: str
    confidence: float
    action: str
    lifecycle_state: Lifecycle
    source_ids: list[str]
    related_source_ids: list[str]
    policy_reasons: list[str]
    reversible: bool
    created_at: datetime
    metadata: JsonObject


class RelationshipRecord(Result):
    """A relation that a candidate has where it is kept, or would have."""

    source_id: str
    target_id: str
    relationship_type: str
    reason: str
    confidence: float
    source_ids: list[str]
    created_at: datetime
    metadata: JsonObject


class ReflectionCandidate(Result):
    """Something in the notes that is worth keeping."""

    kind: Kind
    title: str
    content: str
    reason: str
    confidence: float
    tags: list[str]
    metadata: JsonObject
    raw_source_ids: list[str]
    suggested_memory_scope: MemoryScope | None
    suggested_scope_key: str | None
    review_state: ReviewState
    persisted_id: str | None
    claim_records: list[ClaimRecord]
    reflection_findings: list[ReflectionFinding]
    relationship_records: list[RelationshipRecord]
    sensitivity_flags: list[str]


class ReflectionPack(Result):
    """What was found in the notes, and what became of it."""

    candidates: list[ReflectionCandidate]
    total_candidates: int
    persisted_count: int
    markdown: str
    source_title: str
    source_id: str | None
    intent: Intent
    domain: str | None
    project: str | None
    citation_usage: JsonObject
    usage_hint: str
    extraction: JsonObject
    mutation_receipt: MutationReceipt | None = None
