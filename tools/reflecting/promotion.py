"""Promotion of reflection candidates, reviewed or automatic."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar, cast

from pydantic import Field, JsonValue

from auth.policy import MemoryScope, may_read
from auth.principal import Principal
from stores.records import JsonObject
from tools.app import App
from tools.entities.entities import entities_made
from tools.frame.operation import WRITERS, Call, Operation, Route, mutation
from tools.records.entity_models import MutationReceipt
from tools.records.linking import require_linkable
from tools.records.receipts import capture_receipt
from tools.reflecting.duplicates import compare
from tools.reflecting.promotion_policy import (
    THRESHOLD,
    Action,
    Considered,
    ExceptionReason,
    InputScope,
    Outcome,
    PromoteRequest,
    Reviewed,
    Threshold,
    consider,
)
from tools.reflecting.promotion_writing import (
    AUTO_PROMOTE,
    AUTO_REVIEW,
    DENY,
    PREVIEW,
    Overtaken,
    Written,
    write_note,
    write_promotion,
)
from tools.runtime.threads import in_thread


class Promotion(Reviewed):
    """Outcome of a promotion."""

    success: bool
    promoted_id: str | None = Field(None, description="The entity that was made of it, where the caller may read it.")
    memory_scope: MemoryScope | None = None
    scope_key: str | None = None
    metadata: JsonObject
    mutation_receipt: MutationReceipt | None = None


class PromotionPreview(Reviewed):
    """Preview of a promotion."""

    allowed: bool
    promote_to_scope: MemoryScope | None
    promote_to_scope_key: str | None
    input_scopes: list[InputScope]
    source_count: int
    metadata: JsonObject


class AutoReviewRequest(PromoteRequest):
    """A candidate to review without a person."""

    dry_run: bool = Field(False, description="Say what would be done, and do nothing.")
    confidence_threshold: Threshold | None = Field(
        None, description=f"Least confidence that is promoted unseen; without one, {THRESHOLD}."
    )

    @property
    def threshold(self) -> float:
        return THRESHOLD if self.confidence_threshold is None else self.confidence_threshold


class AutoReview(Reviewed):
    """Outcome of an automatic review."""

    outcome: Outcome
    recommended_action: Action
    applied: bool
    dry_run: bool
    promote_to_scope: MemoryScope | None
    promote_to_scope_key: str | None
    promoted_id: str | None = None
    exception_reasons: list[ExceptionReason]
    confidence: float | None
    confidence_threshold: float
    preview: PromotionPreview
    promotion: Promotion | None = None
    metadata: JsonObject
    mutation_receipt: MutationReceipt | None = None


Answer = TypeVar("Answer")
AGAIN = 2


async def promote_candidate(app: App, call: Call, request: PromoteRequest) -> Promotion:
    """Make a record of a candidate that reflection found, in the scope of its sources, and end its review.

    It is done once, whoever asks at the same time. What speaks against it is named in `reason`, and nothing is written.
    """
    return await in_thread(_promote, app, call, request)


def _promote(app: App, call: Call, request: PromoteRequest) -> Promotion:
    return promotion_of(app, call, write_promotion(app, call, request, judge(app, call.caller, request).compared))


def preview_promotion(app: App, call: Call, request: PromoteRequest) -> PromotionPreview:
    """Say what a promotion would do, where its record would be readable, and what speaks against it.

    What `related_to` names is checked as a promotion would.
    """
    considered = judge(app, call.caller, request)
    require_possible(app, call.caller, request, considered)
    write_note(app, call, PREVIEW, considered)
    return preview_of(considered)


def review_candidate(app: App, call: Call, request: AutoReviewRequest) -> AutoReview:
    """Promote a candidate if nothing asks for a person to look at it; else say what does."""
    return again(lambda: apply(app, call, request, judge(app, call.caller, request)))


def again(reviewed: Callable[[], Answer]) -> Answer:
    """Repeat a review after a concurrent duplicate. Blocks.

    Raises:
        Overtaken: Each of three attempts met a duplicate.
    """
    for _ in range(AGAIN):
        with suppress(Overtaken):
            return reviewed()
    return reviewed()


def judge(app: App, caller: Principal, request: PromoteRequest) -> Considered:
    considered = consider(caller, request, lambda each: app.ledger.memories.memory(caller.organization_id, each))
    if considered.is_over or considered.refusal == "not_reflection_candidate":
        return considered
    key = considered.place.key if considered.place is not None else ""
    (compared,) = compare(app, caller, [considered.candidate.statement], key)
    return replace(considered, compared=compared)


def apply(
    app: App, call: Call, request: AutoReviewRequest, considered: Considered, *, has_audit: bool = True
) -> AutoReview:
    if considered.is_over:
        return review_of(considered, request, "skip")
    exceptions = considered.exceptions(request.threshold)
    if exceptions or request.dry_run:
        if not exceptions:
            require_possible(app, call.caller, request, considered)
        if has_audit:
            said: JsonObject = {"dry_run": request.dry_run}
            if exceptions:
                said["exception_reasons"] = list[JsonValue](exceptions)
            write_note(app, call, DENY if considered.refusal else AUTO_REVIEW, considered, said)
        return review_of(considered, request, "exception" if exceptions else "auto_promote")
    promotion = promotion_of(app, call, write_promotion(app, call, request, considered.compared, AUTO_PROMOTE))
    found = review_of(considered, request, "auto_promote" if promotion.success else "skip")
    changed = {name: getattr(promotion, name) for name in ("reason", "review_state", "promoted_id", "mutation_receipt")}
    return found.model_copy(update={"applied": promotion.success, "promotion": promotion, **changed})


def require_possible(app: App, caller: Principal, request: PromoteRequest, considered: Considered) -> None:
    if considered.refusal is None and considered.place is not None:
        require_linkable(app.ledger, caller, request.related_to, considered.place.memory_scope)


def promotion_of(app: App, call: Call, written: Written) -> Promotion:
    considered, entity = written.considered, written.entity
    candidate, described = considered.candidate, considered.described
    if written.unlinked:
        described["metadata"]["unlinked_ids"] = list[JsonValue](written.unlinked)
    if entity is None:
        promoted_id = entities_made(app, call.caller, [candidate.memory]).get(candidate.id)
    else:
        promoted_id = entity.id if may_read(call.caller, entity.visibility) else None
    place = entity or considered.target
    return Promotion(
        **described,
        success=entity is not None,
        reason=considered.refusal or "promoted",
        review_state="promoted" if entity else candidate.memory.capture.review_state,
        promoted_id=promoted_id,
        memory_scope=cast("MemoryScope", place.memory_scope) if place else None,
        scope_key=place.scope_key if place else None,
        mutation_receipt=capture_receipt(app, call, [candidate.id], [entity.id]) if entity else None,
    )


def preview_of(considered: Considered) -> PromotionPreview:
    candidate, target, described = considered.candidate, considered.target, considered.described
    if considered.place is not None:
        place = considered.place
        described["metadata"] |= {"memory_scope": place.memory_scope, "scope_key": place.scope_key}
    return PromotionPreview(
        **described,
        allowed=considered.refusal is None,
        reason=considered.refusal or "promotion_preview_allowed",
        review_state=candidate.memory.capture.review_state,
        promote_to_scope=target.memory_scope if target else None,
        promote_to_scope_key=target.scope_key if target else None,
        input_scopes=list(considered.inputs),
        source_count=len(candidate.said.raw_source_ids),
    )


def review_of(considered: Considered, request: AutoReviewRequest, outcome: Outcome) -> AutoReview:
    preview, threshold = preview_of(considered), request.threshold
    exceptions = [] if outcome == "skip" else considered.exceptions(threshold)
    return AutoReview.of(
        preview,
        outcome=outcome,
        recommended_action=_ACTIONS[outcome],
        applied=False,
        dry_run=request.dry_run,
        reason=exceptions[0] if outcome == "exception" else preview.reason,
        exception_reasons=exceptions,
        confidence=considered.candidate.said.confidence,
        confidence_threshold=threshold,
        preview=preview,
    )


_ACTIONS: dict[Outcome, Action] = {"auto_promote": "promote", "exception": "route_to_review", "skip": "skip"}


def _route(path: str, *errors: int) -> Route:
    return Route("POST", f"/api/memory/reflection/{path}", tag="memory", errors=errors)


EVENTS = ("entity_pending", "entity_created", "raw_capture_changed")

OPERATIONS = (
    mutation(promote_candidate, _route("promote", 400, 404, 409), roles=WRITERS, events=EVENTS),
    Operation(preview_promotion, roles=WRITERS, route=_route("promote/preview", 400, 404)),
    mutation(review_candidate, _route("review/auto", 400, 404, 409), roles=WRITERS, events=EVENTS),
)
