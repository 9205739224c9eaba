"""The wire shapes of remembering."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.policy import MemoryScope
from stores.records import JsonObject
from tools.entity_models import CONTENT_LIMIT, BackgroundJobs, EntityId, Label, Labels, MutationReceipt, Name, RelatedTo
from tools.memory_models import RAW_CONTENT_LIMIT
from tools.operation import Request, Result
from tools.similar import Similar

Remembrance = Literal[
    "episode", "decision", "plan", "idea", "claim", "artifact", "procedure", "domain", "session", "pattern", "rule"
]
SPANS_LIMIT = 100
KEYS_LIMIT = 50
PROBES_LIMIT = 20

Told = Annotated[str, StringConstraints(min_length=1, max_length=RAW_CONTENT_LIMIT, pattern=r"\S")]
Probe = Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=r"\S")]
RetrievalKey = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]


class Span(Request):
    """A range of the content: `content[start:end]`, in characters."""

    start: int = Field(ge=0, description="The first character.")
    end: int = Field(ge=1, description="The first character after it.")


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
        None, description="Further structured data; `captured_at` (a date) is when it was said, where that is not now."
    )
    retrieval_keys: Annotated[list[RetrievalKey], Field(max_length=KEYS_LIMIT)] | None = Field(
        None, description="Words by which it is to be found beside its own: synonyms, codes, names. They are searched."
    )
    idempotency_key: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = Field(
        None, description="Send the same key again to repeat a call whose answer was lost: it is done once."
    )
    spans: Annotated[list[Span], Field(max_length=SPANS_LIMIT)] | None = Field(
        None, description="The parts of the content that matter, `{start, end}` each in characters; kept with it."
    )
    atomic: bool = Field(
        False,
        description=f"Refuse content of more than {CONTENT_LIMIT} characters, of which the entity would hold the "
        "beginning alone.",
    )
    probes: Annotated[list[Probe], Field(max_length=PROBES_LIMIT)] | None = Field(
        None, description="Questions that should find it: each is searched for afterwards, and its rank is told."
    )
    memory_scope: MemoryScope | None = Field(
        None, description="Who may read it: `project` when `project` is given, else `private`; or `organization`, …"
    )
    scope_key: EntityId | None = Field(
        None, description="For `project`, `team`, `shared` or `delegated`: which one; of a project `project` is enough."
    )


class ProbeRehearsal(Result):
    """Whether a question finds what was remembered."""

    probe: str
    found: bool = Field(description="Whether it is among the best 10, by more than chance.")
    rank: int | None = Field(description="1 for the best hit; null where it is not among the best 10.")
    score: float | None


class Remembered(Result):
    """What was remembered, and how."""

    success: bool = True
    id: str = Field(description="The entity.")
    raw_memory_id: str = Field(description="What was said, verbatim.")
    message: str
    already_known: bool = Field(description="Whether the same was remembered before: then nothing is stored again.")
    entity_type: str
    memory_scope: str
    scope_key: str | None
    active_task_id: str | None = Field(description="The task in progress that it was linked to.")
    conflicts: list[Similar] = Field(description="Existing records that say nearly the same.")
    probe_rehearsal: list[ProbeRehearsal] | None
    background_jobs: BackgroundJobs
    mutation_receipt: MutationReceipt
