"""Request and result models of corrections."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from stores.records import JsonObject, ReviewState
from tools.frame.operation import Request, Result
from tools.governance.lifecycle import RULES, CorrectionAction, Flag, Lifecycle, LifecycleState
from tools.records.entity_models import EntityId, MutationReceipt
from tools.records.memory_models import SourceId

REVISED_LIMIT = 1_048_576


class InspectedRequest(Request):
    """A raw memory."""

    source_id: SourceId = Field(description="The raw memory's id, that of what was made of it, or its own `source_id`.")


ALIASES = {
    "wrong": "mark_wrong", "stale": "mark_stale", "duplicate": "mark_duplicate", "superseded": "supersede",
    "sensitive": "mark_sensitive",
}  # fmt: skip


def _unaliased(value: object) -> object:
    return ALIASES.get(value, value) if isinstance(value, str) else value


class CorrectionRequest(InspectedRequest):
    """A correction of a raw memory."""

    action: Annotated[CorrectionAction, BeforeValidator(_unaliased)] = Field(description="What is done to it.")
    reason: Annotated[str, StringConstraints(max_length=2000)] | None = Field(None, description="Why; it is kept.")
    replacement_source_id: EntityId | None = Field(None, description="For `supersede`: the memory that holds now.")
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
    withheld_derived_ids: list[str] = Field(description="Records that no read shows, because nothing else bears them.")


class SynthesisImpact(Result):
    """Effect on documents."""

    excluded_from_synthesis: bool
    preserve_source_truth: bool = Field(description="Whether the words of the memory stay as they were.")
    disputed_derived_ids: list[str] = Field(description="Records that stay, marked as disputed.")


class CorrectionView(Result):
    """A correction: what it does, and whether it was done."""

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
    reversible: bool = Field(description="Whether `restore` undoes it.")
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
    if (last := lifecycle.last) is None:
        return view
    said = {name: getattr(last, name) for name in ("action", "reason", "prior_state", "created_at")}
    role = (RULES[last.action].needs or "") if last.other_id else ""
    named = {role: last.other_id} if role in LifecycleView.model_fields else {}
    return view.model_copy(update=said | named | {"reversible": RULES[last.action].is_reversible})
