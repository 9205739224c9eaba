"""Request and result models of remember."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.policy import MemoryScope
from stores.records import JsonObject
from tools.frame.operation import Request, Result
from tools.records.entity_models import (
    CONTENT_LIMIT,
    BackgroundJobs,
    EntityId,
    Label,
    Labels,
    MutationReceipt,
    Name,
    Probes,
    RelatedTo,
    RetrievalKeys,
    Spans,
)
from tools.records.memory_models import RAW_CONTENT_LIMIT
from tools.search.similar import ProbeRehearsal, Similar

Remembrance = Literal[
    "episode", "decision", "plan", "idea", "claim", "artifact", "procedure", "domain", "session", "pattern", "rule"
]
Told = Annotated[str, StringConstraints(min_length=1, max_length=RAW_CONTENT_LIMIT, pattern=r"\S")]


class RememberRequest(Request):
    """Something to remember."""

    title: Name = Field(description="Title: one line that says what it is.")
    content: Told = Field(description="What is to be remembered; kept verbatim.")
    kind: Remembrance = Field("episode", description="What kind of knowledge it is.")
    domain: Label | None = Field(None, description="Field of knowledge; kept with it.")
    project: EntityId | None = Field(None, description="Id of the project that it belongs to.")
    tags: Labels | None = Field(None, description="Browse-only labels, without effect on ranking.")
    related_to: RelatedTo | None = Field(
        None, description="Ids to link to; `supersedes:<id>` retires the older record from search."
    )
    task_ids: Annotated[list[EntityId], Field(max_length=100)] | None = Field(
        None, description="Ids of tasks to link it to."
    )
    active_task: bool = Field(True, description="Link it to the task that you are doing, if there is one.")
    metadata: JsonObject | None = Field(
        None, description="Further structured data; `captured_at` is when it was said, if not now."
    )
    retrieval_keys: RetrievalKeys = None
    idempotency_key: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = Field(
        None, description="Send the same key again to repeat a call whose answer was lost: it is done once."
    )
    spans: Spans = None
    atomic: bool = Field(
        False, description=f"Refuse more than {CONTENT_LIMIT} characters: else the entity holds the beginning of them."
    )
    probes: Probes = Field(None, description="Questions that should find it: each is tried, and its rank told.")
    memory_scope: MemoryScope | None = Field(
        None, description="Who may read it; by default the people of `project`, else you alone."
    )
    scope_key: EntityId | None = Field(None, description="Which team or memory space.")


class Remembered(Result):
    """The stored entity and raw memory."""

    success: bool = True
    id: str = Field(description="The entity.")
    raw_memory_id: str = Field(description="What was said, verbatim.")
    message: str
    already_known: bool = Field(description="Whether the same was remembered before: then nothing is stored again.")
    found_by: list[str] = Field(description="Of what is known: words by which it is found from now on, too.")
    not_applied: list[str] = Field(description="Of what is known: fields that say something else and changed nothing.")
    entity_type: str
    memory_scope: str
    scope_key: str | None
    readable_by: str = Field(description="Who can read it, in words.")
    active_task_id: str | None = Field(description="The task in progress that it was linked to.")
    conflicts: list[Similar] = Field(description="Existing records that say nearly the same.")
    probe_rehearsal: list[ProbeRehearsal] = Field(description="One for each probe, in their order.")
    background_jobs: BackgroundJobs
    mutation_receipt: MutationReceipt
