"""Lifecycle of a raw memory: each correction moves its state and its flags; with the models of corrections."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from auth.visibility import entity_key, plain_key, withheld_key
from stores.jobs import JobDraft
from stores.records import Entity, JsonObject, RawMemory, ReviewState
from tools.frame.operation import Request, Result
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.records.entity_models import EntityId, MutationReceipt
from tools.records.memory_models import SourceId

LifecycleState = Literal["active", "contested", "superseded", "archived", "deleted"]
Flag = Literal["hidden", "redacted", "sensitive"]
CorrectionAction = Literal[
    "hide", "mark_duplicate", "mark_sensitive", "mark_stale", "mark_wrong", "redact", "revise", "restore",
    "supersede", "delete",
]  # fmt: skip
STEPS = 200
"""Most corrections that a memory remembers."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Effect of an action; a state or flag of None stays as it is."""

    state: LifecycleState | None = None
    flag: Flag | None = None
    needs: str | None = None
    """Field of the request without which it is refused."""
    is_reversible: bool = True


RULES: Mapping[CorrectionAction, Rule] = {
    "delete": Rule(state="deleted", is_reversible=False),
    "hide": Rule(flag="hidden"),
    "mark_duplicate": Rule(state="contested", needs="duplicate_of_source_id"),
    "mark_sensitive": Rule(flag="sensitive"),
    "mark_stale": Rule(state="contested"),
    "mark_wrong": Rule(state="contested"),
    "redact": Rule(flag="redacted", is_reversible=False),
    "revise": Rule(needs="revised_content"),
    "restore": Rule(state="active"),
    "supersede": Rule(state="superseded", needs="replacement_source_id"),
}


class Step(BaseModel):
    """One correction."""

    action: CorrectionAction
    reason: str | None
    actor_id: str
    created_at: datetime
    prior_state: LifecycleState
    prior_flags: list[Flag]
    prior_revision: int
    other_id: str | None = None
    """The replacement, or the memory of which this is a duplicate."""


class Lifecycle(BaseModel):
    """State and flags of a raw memory, and the corrections that led there, the latest last."""

    state: LifecycleState = "active"
    flags: list[Flag] = []
    steps: list[Step] = []

    @classmethod
    def of(cls, memory: RawMemory) -> "Lifecycle":
        stored = memory.capture.lifecycle
        found = cls() if stored is None else cls.model_validate(stored)
        if found.state == "active" and memory.capture.review_state == "archived":
            return found.model_copy(update={"state": "archived"})
        return found

    @property
    def is_recallable(self) -> bool:
        return self.state == "active" and not self.flags

    @property
    def is_withheld(self) -> bool:
        """Return True if no read but inspection shows the memory; archived ones are only left out of recalls."""
        return bool(self.flags) or self.state not in ("active", "archived")

    @property
    def since_restored(self) -> list[Step]:
        """Return the corrections that a restoration would undo."""
        restored = [place for place, each in enumerate(self.steps) if each.action == "restore"]
        return self.steps[restored[-1] + 1 :] if restored else self.steps

    def after(self, step: Step) -> "Lifecycle":
        rule = RULES[step.action]
        flags = [*self.flags, rule.flag] if rule.flag and rule.flag not in self.flags else self.flags
        return Lifecycle(
            state=rule.state or self.state,
            flags=[] if step.action == "restore" else flags,
            steps=[*self.steps, step][-STEPS:],
        )


def is_withheld(record: Entity) -> bool:
    return record.visibility != plain_key(record.visibility)


def placed(record: Entity, *, withheld: bool) -> Entity:
    """Take a record out of every read, or give it its own visibility key back."""
    key = plain_key(record.visibility)
    return replace(record, visibility=withheld_key(key) if withheld else key)


REVISED_LIMIT = 1_048_576


class InspectedRequest(Request):
    """A raw memory."""

    source_id: SourceId = Field(description="Id of the raw memory, of a record made of it, or its own `source_id`.")


ALIASES = {
    "wrong": "mark_wrong", "stale": "mark_stale", "duplicate": "mark_duplicate", "superseded": "supersede",
    "sensitive": "mark_sensitive",
}  # fmt: skip


class CorrectionRequest(InspectedRequest):
    """A correction of a raw memory."""

    action: Annotated[
        CorrectionAction, BeforeValidator(lambda given: ALIASES.get(given, given) if isinstance(given, str) else given)
    ] = Field(description="The correction.")
    reason: Annotated[str, StringConstraints(max_length=2000)] | None = Field(None, description="Why; it is kept.")
    replacement_source_id: EntityId | None = Field(None, description="For `supersede`: the memory that replaces it.")
    duplicate_of_source_id: EntityId | None = Field(None, description="For `mark_duplicate`: the memory that stays.")
    revised_content: Annotated[str, StringConstraints(max_length=REVISED_LIMIT)] | None = Field(
        None, description="For `revise`: the words that hold from now on."
    )
    metadata: JsonObject = Field({}, description="Structured data about the correction; it is kept in the audit log.")
    expected_revision: int | None = Field(None, ge=1, description="Refuse with 409 unless this is the revision now.")


class LifecycleView(Result):
    """State of a raw memory, and the correction that led there."""

    state: LifecycleState
    source_id: str
    action: CorrectionAction | None = Field(None, description="The latest correction.")
    reason: str | None = None
    prior_state: LifecycleState | None = None
    replacement_source_id: str | None = None
    duplicate_of_source_id: str | None = None
    derived_ids: list[str] = Field([], description="Readable records that rest on it.")
    flags: list[Flag] = Field([])
    reversible: bool = True
    created_at: datetime | None = None
    metadata: JsonObject = Field({})


class RecallImpact(Result):
    """Effect on recalls."""

    excluded_from_recall: bool
    withheld_derived_ids: list[str] = Field(description="Records that no read shows, for lack of another source.")


class SynthesisImpact(Result):
    """Effect on documents."""

    excluded_from_synthesis: bool
    preserve_source_truth: bool = Field(description="True if the words of the memory stay.")
    disputed_derived_ids: list[str] = Field(description="Records that stay, marked as disputed.")


class CorrectionView(Result):
    """Effect of a correction, and whether it was applied."""

    allowed: bool
    applied: bool
    source_id: str
    action: CorrectionAction
    reason: str = Field(description="`<action>_preview_allowed`, `<action>_applied`, or why it is refused.")
    target_lifecycle_state: LifecycleState
    target_lifecycle_flags: list[Flag]
    updated_review_state: ReviewState | None = None
    lifecycle: LifecycleView
    reflection_finding: JsonObject | None = None
    affected_source_ids: list[str]
    affected_derived_ids: list[str] = Field(description="Readable records that change with it.")
    reversible: bool = Field(description="True if `restore` undoes it.")
    recall_impact: RecallImpact
    synthesis_impact: SynthesisImpact
    audit_action: str
    policy_reasons: list[str]
    metadata: JsonObject
    revision: int | None = Field(None, description="Revision of the memory now; null once it is erased.")
    erasure: Literal["pending"] | None = Field(
        None, description="Words are gone from every read; files follow. Null where nothing is erased."
    )
    erasure_job_id: str | None = Field(None, description="The job that is complete once no file holds the words.")
    mutation_receipt: MutationReceipt | None = None


def lifecycle_view(source_id: str, lifecycle: Lifecycle, derived_ids: list[str]) -> LifecycleView:
    """Show a lifecycle with its latest correction."""
    view = LifecycleView(state=lifecycle.state, source_id=source_id, derived_ids=derived_ids, flags=lifecycle.flags)
    if not lifecycle.steps:
        return view
    last = lifecycle.steps[-1]
    said = {name: getattr(last, name) for name in ("action", "reason", "prior_state", "created_at")}
    role = (RULES[last.action].needs or "") if last.other_id else ""
    named = {role: last.other_id} if role in LifecycleView.model_fields else {}
    return view.model_copy(update=said | named | {"reversible": RULES[last.action].is_reversible})


ERASE = "erase_memories"
AGAIN_S = 2.0


def erasure_of(record: Entity) -> JobDraft:
    """Return the job to enqueue with the erasure of words of a record; its readers see it."""
    return JobDraft(f"{ERASE}:{record.id}", ERASE, visibility=entity_key(record.visibility))


def erase(host: JobHost, running: RunningJob) -> JsonObject:
    """Wait until the indexes have dropped removed records, then empty the write-ahead log."""
    organization, indexer = running.job.organization_id, host.app.indexer
    head = host.ledger.feed.head(organization).sequence
    if indexer.wait_applied(organization, head, (), AGAIN_S) or indexer.is_tidying(organization):
        raise NotYet(AGAIN_S)
    host.ledger.checkpoint()
    return {"erased": True}


FUNCTIONS = (JobFunction(ERASE, erase, needs_server=True),)
