"""Draining the queue: every candidate that waits is reviewed without a person, the latest first."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from auth.visibility import queue_key
from stores.errors import EngrainError
from stores.ledger import CANDIDATE, CaptureQuery
from stores.records import JsonObject, RawMemory
from tools.app import App
from tools.candidates import Candidate
from tools.operation import WRITERS, Call, Operation, Route
from tools.promotion import Judgement, anew, judge, require_possible
from tools.promotion_models import AutoReviewRequest, Drainage, Drained, DrainRequest
from tools.promotion_writing import AUTO_PROMOTE, AUTO_REVIEW, DENY, noted, write_archive, write_note, write_promotion
from tools.review import archivable
from tools.threads import in_thread

OTHER = "other_project"
"""Why a candidate is skipped where a drain names a project."""


async def drain_candidates(app: App, call: Call, request: DrainRequest) -> Drainage:
    """Review the candidates that wait, without a person: promote what nothing speaks against, and say what does.

    Unless `dry_run` is false, nothing is done. Each candidate is a write of its own: one that fails stops no other.
    """
    waiting, total = await in_thread(_waiting, app, call, request)
    results = [await in_thread(_drain, app, call, request, memory) for memory in waiting]
    if call.claim is not None:
        await in_thread(_sealed, app, call, results)
    counts = {outcome: sum(each.outcome == outcome for each in results) for outcome in _OUTCOMES}
    applied, archived = sum(each.applied for each in results), sum(each.archived for each in results)
    beyond = request.offset + len(results)
    return Drainage(
        dry_run=request.dry_run,
        limit=request.limit,
        scanned_count=len(results),
        auto_promote_count=counts["auto_promote"],
        applied_count=applied,
        archived_count=archived,
        exception_count=counts["exception"],
        skip_count=counts["skip"],
        failed_count=counts["error"],
        results=results,
        # What was promoted or archived does not wait any more, and shifts the others.
        metadata={"waiting_count": total, "next_offset": beyond - applied - archived if beyond < total else None},
    )


_OUTCOMES = ("auto_promote", "exception", "skip", "error")


def _waiting(app: App, call: Call, request: DrainRequest) -> tuple[list[RawMemory], int]:
    """The candidates that wait for a review where the caller may read them, and how many there are in all."""
    caller = call.caller
    query = CaptureQuery(
        readable=frozenset({queue_key(key) for key in caller.memories}),
        visible=caller.visible,
        entity_type=CANDIDATE,
        review_state="pending",
        limit=request.limit,
        offset=request.offset,
    )
    listed, total = app.ledger.memories.list_captures(caller.organization_id, query)
    return [each.memory for each in listed], total


def _sealed(app: App, call: Call, results: Sequence[Drained]) -> None:
    """Tie the answer to its idempotency key, and to the records that it names. Blocks.

    A drain that ends before may be repeated with its key: what it did does not wait any more.
    """
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        tx.show_in_answer([each.candidate_id for each in results])
        tx.show_in_answer([each.promoted_id for each in results if each.promoted_id is not None])


def _drain(app: App, call: Call, request: DrainRequest, memory: RawMemory) -> Drained:
    candidate = Candidate(memory, (), ())
    if request.project is not None and candidate.project not in (None, request.project):
        return _unreviewed(request, candidate, "skip", OTHER)
    wanted = AutoReviewRequest(
        candidate_id=candidate.id,
        dry_run=request.dry_run,
        **request.model_dump(include=_SHARED, exclude_unset=True),
    )
    # The key stands for all of them, and is sealed at the end.
    alone = replace(call, claim=None)
    try:
        return anew(lambda: _reviewed(app, alone, request, wanted))
    except EngrainError as error:
        return _unreviewed(request, candidate, "error", error.code, error.message)


_SHARED = {
    "promote_to_scope", "promote_to_scope_key", "domain", "project", "related_to", "confidence_threshold",
}  # fmt: skip


def _reviewed(app: App, call: Call, request: DrainRequest, wanted: AutoReviewRequest) -> Drained:
    judgement = judge(app, call.caller, wanted)
    if judgement.is_over:
        return _drained(judgement, request, {"outcome": "skip"})
    if judgement.exceptions:
        return _excepted(app, call, request, wanted, judgement)
    if request.dry_run:
        require_possible(app, call.caller, wanted, judgement.considered)
        return _drained(judgement, request, {"outcome": "auto_promote"})
    written = write_promotion(app, call, wanted, judgement.known, AUTO_PROMOTE)
    if written.entity is None:
        state = written.considered.candidate.memory.capture.review_state
        return _drained(judgement, request, {"outcome": "skip", "reason": written.considered.refusal, "state": state})
    done: JsonObject = {"applied": True, "reason": "promoted", "state": "promoted", "promoted_id": written.entity.id}
    return _drained(judgement, request, {"outcome": "auto_promote", **done})


def _excepted(app: App, call: Call, request: DrainRequest, wanted: AutoReviewRequest, judgement: Judgement) -> Drained:
    """Archive what was asked to be archived; leave the rest to a person."""
    reason = archivable(judgement.exceptions, request.archive_exception_reasons) if request.archive_exceptions else None
    if request.dry_run:
        return _drained(judgement, request, {"outcome": "exception"})
    if reason == "duplicate_candidate" and not any(
        each.kind == "duplicate" and each.is_certain for each in judgement.known.known
    ):
        # It may say something else: a person sees.
        reason = None
    if reason is not None and write_archive(app, call, wanted, reason):
        done: JsonObject = {"archived": True, "reason": reason, "state": "archived"}
        return _drained(judgement, request, {"outcome": "exception", **done})
    said: JsonObject = {"exception_reasons": list[JsonValue](judgement.exceptions)}
    action = DENY if judgement.considered.refusal else AUTO_REVIEW
    write_note(app, call, noted(app, call, action, judgement.considered, said=said), wanted.candidate_id, ())
    return _drained(judgement, request, {"outcome": "exception"})


def _drained(judgement: Judgement, request: DrainRequest, done: JsonObject) -> Drained:
    considered, outcome = judgement.considered, str(done["outcome"])
    candidate = considered.candidate
    exceptions: Sequence[str] = judgement.exceptions if outcome == "exception" else ()
    reason = done.get("reason") or (exceptions[0] if exceptions else considered.refusal or "promotion_preview_allowed")
    return Drained.model_validate(
        {
            "candidate_id": candidate.id,
            "outcome": outcome,
            "recommended_action": _ACTIONS[outcome],
            "applied": bool(done.get("applied")),
            "archived": bool(done.get("archived")),
            "dry_run": request.dry_run,
            "reason": reason,
            "review_state": done.get("state") or candidate.memory.capture.review_state,
            "promoted_id": done.get("promoted_id"),
            "raw_source_ids": candidate.raw_source_ids,
            "policy_reasons": considered.policy_reasons,
            "exception_reasons": list(exceptions),
            "confidence": candidate.confidence,
        }
    )


_ACTIONS = {"auto_promote": "promote", "exception": "route_to_review", "skip": "skip", "error": "error"}


def _unreviewed(
    request: DrainRequest, candidate: Candidate, outcome: str, reason: str, error: str | None = None
) -> Drained:
    return Drained.model_validate(
        {
            "candidate_id": candidate.id,
            "outcome": outcome,
            "recommended_action": _ACTIONS[outcome],
            "applied": False,
            "archived": False,
            "dry_run": request.dry_run,
            "reason": reason,
            "review_state": candidate.memory.capture.review_state,
            "raw_source_ids": candidate.raw_source_ids,
            "policy_reasons": [],
            "exception_reasons": [],
            "confidence": candidate.confidence,
            "error": error,
        }
    )


OPERATIONS = (
    Operation(
        drain_candidates,
        roles=WRITERS,
        scope="write",
        route=Route("POST", "/api/memory/reflection/review/drain", tag="memory", errors=frozenset({400, 409})),
        mutates=True,
        events=("entity_pending", "entity_created", "raw_capture_changed"),
    ),
)
