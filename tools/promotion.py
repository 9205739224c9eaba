"""Promoting what reflection found: by a person who looked at it, or without one where nothing speaks against it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

from pydantic import JsonValue

from auth.policy import MemoryScope, may_read
from auth.principal import Principal
from stores.records import JsonObject
from tools.app import App
from tools.known import OPPOSING, Comparison, compare
from tools.linking import require_linkable
from tools.memories import entities_made
from tools.operation import WRITERS, Call, Operation, Route
from tools.promotion_models import (
    Action,
    AutoReview,
    AutoReviewRequest,
    Outcome,
    PromoteRequest,
    Promotion,
    PromotionPreview,
)
from tools.promotion_policy import Considered, consider
from tools.promotion_writing import (
    AUTO_PROMOTE,
    AUTO_REVIEW,
    DENY,
    PREVIEW,
    Overtaken,
    Written,
    noted,
    write_note,
    write_promotion,
)
from tools.receipts import capture_receipt
from tools.review import THRESHOLD, ExceptionReason, PromotionReason, Review, Standing, exceptions_of
from tools.threads import in_thread

SETTLED: tuple[PromotionReason, ...] = ("candidate_already_promoted", "candidate_archived")
"""Reasons for which there is nothing to do."""
Answer = TypeVar("Answer")
AGAIN = 2
"""How often a review is repeated that somebody else got ahead of."""


async def promote_candidate(app: App, call: Call, request: PromoteRequest) -> Promotion:
    """Make a record of a candidate that reflection found, in the scope of its sources, and end its review.

    It is done once, whoever asks at the same time. What speaks against it is named in `reason`, and nothing is written.
    """

    def run() -> Promotion:
        considered = considered_now(app, call, request)
        known = compared(app, call.caller, considered)
        return promotion_of(app, call, write_promotion(app, call, request, known), known)

    return await in_thread(run)


async def preview_promotion(app: App, call: Call, request: PromoteRequest) -> PromotionPreview:
    """Say what a promotion would do, where its record would be readable, and what speaks against it.

    What `related_to` names is checked as a promotion would.
    """

    def run() -> PromotionPreview:
        considered = considered_now(app, call, request)
        require_possible(app, call.caller, request, considered)
        known = compared(app, call.caller, considered)
        draft = noted(app, call, PREVIEW, considered)
        write_note(app, call, draft, considered.candidate.id, known.known)
        return preview_of(considered, known)

    return await in_thread(run)


async def review_candidate(app: App, call: Call, request: AutoReviewRequest) -> AutoReview:
    """Promote a candidate if nothing asks for a person to look at it; else say what does."""
    return await in_thread(anew, lambda: review(app, call, request))


def anew(reviewed: Callable[[], Answer]) -> Answer:
    """Review again where something that says the same was written meanwhile, twice at most. Blocks.

    Raises:
        Overtaken: It was each time.
    """
    for _ in range(AGAIN):
        with suppress(Overtaken):
            return reviewed()
    return reviewed()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a review without a person finds before it does anything."""

    considered: Considered
    known: Comparison
    exceptions: Sequence[ExceptionReason]
    threshold: float

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to review any more."""
        return self.considered.refusal in SETTLED


def judge(app: App, caller: Principal, request: AutoReviewRequest) -> Judgement:
    """Find what asks for a person to look at a candidate. Blocks.

    Raises:
        NotFound: There is no such candidate for the caller.
    """
    considered = consider(caller, request, lambda each: app.ledger.memories.memory(caller.organization_id, each))
    known = compared(app, caller, considered)
    candidate = considered.candidate
    threshold = THRESHOLD if request.confidence_threshold is None else request.confidence_threshold
    review = Review(
        refusal=considered.refusal,
        memory_scope=considered.target.memory_scope if considered.target else None,
        has_source=bool(candidate.sources) and not candidate.lost_sources,
        confidence=candidate.confidence,
        kind=candidate.kind,
        labels=[*candidate.sensitivity_flags, *candidate.tags],
        standings=_standings(considered, known),
        threshold=threshold,
    )
    return Judgement(considered, known, exceptions_of(review), threshold)


def review(app: App, call: Call, request: AutoReviewRequest) -> AutoReview:
    """Review one candidate. Blocks."""
    judgement = judge(app, call.caller, request)
    if judgement.is_over:
        return review_of(judgement, request, "skip")
    if judgement.exceptions:
        action = DENY if judgement.considered.refusal else AUTO_REVIEW
        said: JsonObject = {"exception_reasons": list[JsonValue](judgement.exceptions), "dry_run": request.dry_run}
        draft = noted(app, call, action, judgement.considered, said=said)
        write_note(app, call, draft, request.candidate_id, judgement.known.known)
        return review_of(judgement, request, "exception")
    if request.dry_run:
        require_possible(app, call.caller, request, judgement.considered)
        draft = noted(app, call, AUTO_REVIEW, judgement.considered, said={"dry_run": True})
        write_note(app, call, draft, request.candidate_id, judgement.known.known)
        return review_of(judgement, request, "auto_promote")
    written = write_promotion(app, call, request, judgement.known, AUTO_PROMOTE)
    promotion = promotion_of(app, call, written, judgement.known)
    found = review_of(judgement, request, "auto_promote" if promotion.success else "skip")
    return found.model_copy(
        update={
            "applied": promotion.success,
            "reason": promotion.reason,
            "review_state": promotion.review_state,
            "promoted_id": promotion.promoted_id,
            "promotion": promotion,
            "mutation_receipt": promotion.mutation_receipt,
        }
    )


def considered_now(app: App, call: Call, request: PromoteRequest) -> Considered:
    """Judge what a request asks for by what the ledger has now."""
    caller = call.caller
    return consider(caller, request, lambda each: app.ledger.memories.memory(caller.organization_id, each))


def require_possible(app: App, caller: Principal, request: PromoteRequest, considered: Considered) -> None:
    """Refuse to announce a promotion that would fail for what it is to be linked to.

    Raises:
        NotFound: A record that the request names does not exist for the caller.
        Forbidden: A record would be retired for others by somebody who may not change it.
    """
    if considered.refusal is None and considered.place is not None:
        require_linkable(app.ledger, caller, request.related_to, considered.place.memory_scope)


def compared(app: App, caller: Principal, considered: Considered) -> Comparison:
    """Hold a candidate against what is known, unless it is no candidate or its review is over."""
    if considered.refusal in (*SETTLED, "not_reflection_candidate"):
        return Comparison()
    key = considered.place.key if considered.place is not None else ""
    (found,) = compare(app, caller, [considered.candidate.statement], key)
    return found


def _standings(considered: Considered, known: Comparison) -> set[Standing]:
    """How a candidate stands to what its readers know; what reflection found counts where not all could be read.

    A record that not all of its readers may read makes no duplicate of it, but what it contradicts is worth a look.
    """
    found: set[Standing] = {each.kind for each in known.known if each.is_for_all or each.kind in OPPOSING}
    if known.fault is not None:
        stored = considered.candidate.stored_standings()
        found |= {each for each in _STANDINGS if each in stored}
    return found


_STANDINGS: tuple[Standing, ...] = ("duplicate", "contradiction", "supersession", "stale")


def promotion_of(app: App, call: Call, written: Written, known: Comparison) -> Promotion:
    """Answer for a promotion."""
    considered, entity = written.considered, written.entity
    candidate = considered.candidate
    metadata = _metadata(considered, known)
    if written.unlinked:
        metadata["unlinked_ids"] = list[JsonValue](written.unlinked)
    if entity is None:
        made = entities_made(app, call.caller, [candidate.memory]).get(candidate.id)
        return Promotion(
            success=False,
            candidate_id=candidate.id,
            promoted_id=made,
            reason=considered.refusal or "candidate_not_found",
            review_state=candidate.memory.capture.review_state,
            memory_scope=considered.target.memory_scope if considered.target else None,
            scope_key=considered.target.scope_key if considered.target else None,
            raw_source_ids=candidate.raw_source_ids,
            policy_reasons=considered.policy_reasons,
            metadata=metadata,
        )
    return Promotion(
        success=True,
        candidate_id=candidate.id,
        promoted_id=entity.id if may_read(call.caller, entity.visibility) else None,
        reason="promoted",
        review_state="promoted",
        memory_scope=cast("MemoryScope", entity.memory_scope),
        scope_key=entity.scope_key,
        raw_source_ids=candidate.raw_source_ids,
        policy_reasons=considered.policy_reasons,
        metadata=metadata,
        mutation_receipt=capture_receipt(app, call, [candidate.id], [entity.id]),
    )


def preview_of(considered: Considered, known: Comparison) -> PromotionPreview:
    """Answer for a preview."""
    candidate, target = considered.candidate, considered.target
    metadata = _metadata(considered, known)
    if considered.place is not None:
        metadata |= {"memory_scope": considered.place.memory_scope, "scope_key": considered.place.scope_key}
    return PromotionPreview(
        allowed=considered.refusal is None,
        candidate_id=candidate.id,
        reason=considered.refusal or "promotion_preview_allowed",
        review_state=candidate.memory.capture.review_state,
        promote_to_scope=target.memory_scope if target else None,
        promote_to_scope_key=target.scope_key if target else None,
        raw_source_ids=candidate.raw_source_ids,
        policy_reasons=considered.policy_reasons,
        input_scopes=considered.input_scopes,
        source_count=len(candidate.raw_source_ids),
        metadata=metadata,
    )


def review_of(judgement: Judgement, request: AutoReviewRequest, outcome: Outcome) -> AutoReview:
    """Answer for a review that has not applied anything."""
    considered = judgement.considered
    preview = preview_of(considered, judgement.known)
    reason = judgement.exceptions[0] if outcome == "exception" else preview.reason
    return AutoReview(
        outcome=outcome,
        recommended_action=_ACTIONS[outcome],
        applied=False,
        dry_run=request.dry_run,
        candidate_id=preview.candidate_id,
        reason=reason,
        review_state=preview.review_state,
        promote_to_scope=preview.promote_to_scope,
        promote_to_scope_key=preview.promote_to_scope_key,
        raw_source_ids=preview.raw_source_ids,
        policy_reasons=preview.policy_reasons,
        exception_reasons=[] if outcome == "skip" else list(judgement.exceptions),
        confidence=considered.candidate.confidence,
        confidence_threshold=judgement.threshold,
        preview=preview,
        metadata=preview.metadata,
    )


_ACTIONS: dict[Outcome, Action] = {"auto_promote": "promote", "exception": "route_to_review", "skip": "skip"}


def _metadata(considered: Considered, known: Comparison) -> JsonObject:
    candidate = considered.candidate
    found: JsonObject = {
        "kind": candidate.kind,
        "confidence": candidate.confidence,
        "project": considered.project,
        "domain": candidate.domain,
        "findings": [
            {
                "kind": each.kind,
                "target_source_id": each.entity.id,
                "reason": each.reason,
                "policy_reasons": [] if each.is_for_all else ["known_to_fewer_readers"],
            }
            for each in known.known
        ],
    }
    return found if considered.candidate.memory.capture.candidate is not None else {}


_ERRORS = frozenset({400, 404, 409})

OPERATIONS = (
    Operation(
        promote_candidate,
        roles=WRITERS,
        scope="write",
        route=Route("POST", "/api/memory/reflection/promote", tag="memory", errors=_ERRORS),
        mutates=True,
        events=("entity_pending", "entity_created", "raw_capture_changed"),
    ),
    Operation(
        preview_promotion,
        roles=WRITERS,
        route=Route("POST", "/api/memory/reflection/promote/preview", tag="memory", errors=frozenset({400, 404})),
    ),
    Operation(
        review_candidate,
        roles=WRITERS,
        scope="write",
        route=Route("POST", "/api/memory/reflection/review/auto", tag="memory", errors=_ERRORS),
        mutates=True,
        events=("entity_pending", "entity_created", "raw_capture_changed"),
    ),
)
