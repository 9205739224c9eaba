"""Automatic review of every waiting candidate, latest first."""

from collections import Counter
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from auth.visibility import queue_key
from stores.errors import EngrainError
from stores.ledger import CANDIDATE, CaptureQuery
from stores.records import JsonObject, RawMemory
from tools.app import App
from tools.frame.operation import WRITERS, Call, Result, mutation
from tools.records.entity_models import Label
from tools.reflecting.promotion import EVENTS, AutoReviewRequest, archive, judge, review, review_of, route
from tools.reflecting.promotion_policy import Action, Candidate, ExceptionReason, Outcome, Reviewed, ReviewFields


class DrainRequest(ReviewFields):
    """Select candidates for automatic review."""

    dry_run: bool = Field(True, description="Say what would be done, and do nothing.")
    limit: int = Field(50, ge=1, le=200, description="Most candidates, the latest first.")
    offset: int = Field(
        0, ge=0, le=1_000_000, description="Candidates to skip; `metadata.next_offset` of the drain before."
    )
    archive_exceptions: bool = Field(False, description="Archive what need not be kept.")
    archive_exception_reasons: Annotated[list[Label], Field(max_length=20)] = Field(
        ["duplicate_candidate", "stale_candidate"],
        description="Why something is archived; other reasons than these two are never enough.",
    )


class Drained(Reviewed):
    """Outcome for one candidate."""

    outcome: Literal[Outcome, "error"]
    recommended_action: Literal[Action, "error"]
    applied: bool
    archived: bool
    dry_run: bool
    promoted_id: str | None = None
    exception_reasons: list[ExceptionReason]
    confidence: float | None = None
    error: str | None = None


class Drainage(Result):
    """Outcomes for the waiting candidates."""

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


@mutation(route("review/drain", 400, 409), roles=WRITERS, events=EVENTS)
def drain_candidates(app: App, call: Call, request: DrainRequest) -> Drainage:
    """Review the waiting candidates without a person: promote those without objections, and list the objections.

    Unless `dry_run` is false, nothing is done. Each candidate is a write of its own: one that fails stops no other.
    """
    caller = call.caller
    query = CaptureQuery(
        readable=frozenset({queue_key(key) for key in caller.memories}),
        visible=caller.visible,
        entity_type=CANDIDATE,
        review_state="pending",
        limit=request.limit,
        offset=request.offset,
    )
    waiting, total = app.ledger.memories.list_captures(caller.organization_id, query)
    results = [_drain(app, call, request, each.memory) for each in waiting]
    if call.claim is not None:
        with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
            tx.show_in_answer([name for each in results for name in (each.candidate_id, each.promoted_id) if name])
    counts = Counter(each.outcome for each in results)
    applied, archived = sum(each.applied for each in results), sum(each.archived for each in results)
    beyond = request.offset + len(results)
    return Drainage.of(
        request,
        scanned_count=len(results),
        auto_promote_count=counts["auto_promote"],
        applied_count=applied,
        archived_count=archived,
        exception_count=counts["exception"],
        skip_count=counts["skip"],
        failed_count=counts["error"],
        results=results,
        # Promoted and archived candidates leave the queue and shift the others.
        metadata={"waiting_count": total, "next_offset": beyond - applied - archived if beyond < total else None},
    )


def _drain(app: App, call: Call, request: DrainRequest, memory: RawMemory) -> Drained:
    candidate = Candidate.read(memory)
    if request.project is not None and candidate.project not in (None, request.project):
        return _unreviewed(request, candidate)
    given = request.model_dump(include={*ReviewFields.model_fields, "dry_run"})
    wanted = AutoReviewRequest(candidate_id=candidate.id, **given)
    # The idempotency key stands for the whole drain and is claimed at its end.
    alone = replace(call, claim=None)
    try:
        considered = judge(app, call.caller, wanted)
        archives = request.archive_exceptions and not request.dry_run
        reason = considered.archivable(wanted.threshold, request.archive_exception_reasons) if archives else None
        if reason is not None and archive(app, alone, considered, reason):
            return Drained.of(review_of(considered, wanted), reason=reason, review_state="archived", archived=True)
        found = review(app, alone, wanted, considered, has_audit=not request.dry_run)
    except EngrainError as error:
        return _unreviewed(request, candidate, error)
    # Promotions by others are not reported.
    return Drained.of(found, archived=False, promoted_id=found.promoted_id if found.applied else None)


def _unreviewed(request: DrainRequest, candidate: Candidate, error: EngrainError | None = None) -> Drained:
    outcome: Literal["skip", "error"] = "skip" if error is None else "error"
    return Drained.of(
        candidate.said,
        candidate_id=candidate.id,
        outcome=outcome,
        recommended_action=outcome,
        applied=False,
        archived=False,
        dry_run=request.dry_run,
        reason="other_project" if error is None else error.code,
        review_state=candidate.memory.capture.review_state,
        policy_reasons=[],
        exception_reasons=[],
        error=None if error is None else error.message,
    )
