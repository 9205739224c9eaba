"""The wire shapes of promoting what reflection found."""

from typing import Annotated, Literal

from pydantic import Field

from auth.policy import MemoryScope
from stores.records import JsonObject, ReviewState
from tools.entity_models import EntityId, Label, MutationReceipt, RelatedTo
from tools.operation import Request, Result
from tools.review import THRESHOLD, ExceptionReason

Threshold = Annotated[float, Field(ge=0, le=1)]
Outcome = Literal["auto_promote", "exception", "skip"]
Action = Literal["promote", "route_to_review", "skip"]


class PromotionFields(Request):
    """Where what is promoted goes, and what it is linked to."""

    promote_to_scope: MemoryScope | None = Field(
        None, description="Scope of what is made of it; without one, that which reflection suggested."
    )
    promote_to_scope_key: EntityId | None = Field(
        None, description="Key of that scope; without one, the one that was suggested."
    )
    domain: Label | None = Field(None, description="Field of knowledge; without one, that of the notes.")
    project: EntityId | None = Field(
        None, description="Id of the project that it belongs to; without one, that of the notes."
    )
    related_to: RelatedTo = Field([], description="Ids to link it to, each plain or as `relationship:id`.")


class PromoteRequest(PromotionFields):
    """A candidate to promote."""

    candidate_id: EntityId = Field(description="Id of the candidate: its `persisted_id` in the reflection pack.")


class Promotion(Result):
    """What became of a promotion that was asked for."""

    success: bool
    candidate_id: str
    promoted_id: str | None = Field(None, description="The entity that was made of it, where the caller may read it.")
    reason: str
    review_state: ReviewState
    memory_scope: MemoryScope | None = None
    scope_key: str | None = None
    raw_source_ids: list[str]
    policy_reasons: list[str]
    metadata: JsonObject
    mutation_receipt: MutationReceipt | None = None


class InputScope(Result):
    """The scope of the candidate, or of a raw memory that it was found in."""

    id: str
    memory_scope: MemoryScope
    scope_key: str | None


class PromotionPreview(Result):
    """What a promotion would do."""

    allowed: bool
    candidate_id: str
    reason: str
    review_state: ReviewState
    promote_to_scope: MemoryScope | None
    promote_to_scope_key: str | None
    raw_source_ids: list[str]
    policy_reasons: list[str]
    input_scopes: list[InputScope]
    source_count: int
    metadata: JsonObject


class AutoReviewRequest(PromoteRequest):
    """A candidate to review without a person."""

    dry_run: bool = Field(False, description="Say what would be done, and do nothing.")
    confidence_threshold: Threshold | None = Field(
        None, description=f"Least confidence that is promoted unseen; without one, {THRESHOLD}."
    )


class AutoReview(Result):
    """What a review without a person came to."""

    outcome: Outcome
    recommended_action: Action
    applied: bool
    dry_run: bool
    candidate_id: str
    reason: str
    review_state: ReviewState
    promote_to_scope: MemoryScope | None
    promote_to_scope_key: str | None
    promoted_id: str | None = None
    raw_source_ids: list[str]
    policy_reasons: list[str]
    exception_reasons: list[ExceptionReason]
    confidence: float | None
    confidence_threshold: float
    preview: PromotionPreview
    promotion: Promotion | None = None
    metadata: JsonObject
    mutation_receipt: MutationReceipt | None = None


class DrainRequest(PromotionFields):
    """Which candidates to review without a person."""

    dry_run: bool = Field(True, description="Say what would be done, and do nothing.")
    limit: int = Field(50, ge=1, le=200, description="Most candidates, the latest first.")
    offset: int = Field(
        0, ge=0, le=1_000_000, description="Candidates to skip; `metadata.next_offset` of the drain before."
    )
    confidence_threshold: Threshold | None = Field(
        None, description=f"Least confidence that is promoted unseen; without one, {THRESHOLD}."
    )
    archive_exceptions: bool = Field(False, description="Archive what need not be kept.")
    archive_exception_reasons: Annotated[list[Label], Field(max_length=20)] = Field(
        ["duplicate_candidate", "stale_candidate"],
        description="Why something is archived; other reasons than these two are never enough.",
    )


class Drained(Result):
    """What became of one candidate."""

    candidate_id: str
    outcome: Literal[Outcome, "error"]
    recommended_action: Literal[Action, "error"]
    applied: bool
    archived: bool
    dry_run: bool
    reason: str
    review_state: ReviewState
    promoted_id: str | None = None
    raw_source_ids: list[str]
    policy_reasons: list[str]
    exception_reasons: list[ExceptionReason]
    confidence: float | None = None
    error: str | None = None


class Drainage(Result):
    """What became of the candidates that wait."""

    dry_run: bool
    limit: int
    scanned_count: int
    auto_promote_count: int
    applied_count: int
    archived_count: int
    exception_count: int
    skip_count: int
    failed_count: int
    results: list[Drained]
    metadata: JsonObject
