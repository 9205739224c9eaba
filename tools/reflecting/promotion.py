"""Promotion of reflection candidates, reviewed or automatic; each is one transaction with its audit entry."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from pydantic import Field, JsonValue

from auth.policy import MemoryScope, may_reach, may_read
from auth.principal import Principal
from stores.ledger import AuditDraft, Transaction
from stores.records import Entity, JsonObject
from tools.app import App
from tools.entities.entities import entities_made
from tools.frame.audit_entries import memory_entry
from tools.frame.json_values import without_none
from tools.frame.operation import WRITERS, Call, Route, entry, mutation
from tools.memory.captures import settle
from tools.memory.remember import INHERITED_SCOPES
from tools.records.entity_models import EntityFields, MutationReceipt
from tools.records.linking import Link, record, related, require_linkable
from tools.records.receipts import capture_receipt
from tools.records.storing import store_in
from tools.records.trust import TrustState
from tools.reflecting.duplicates import compare, with_latest
from tools.reflecting.promotion_policy import (
    Action,
    Considered,
    EditedRequest,
    ExceptionReason,
    InputScope,
    Outcome,
    PromoteRequest,
    Reviewed,
    ReviewFields,
    consider,
)
from tools.reflecting.reflect_keeping import SURFACE, contradictions


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


class AutoReviewRequest(PromoteRequest, ReviewFields):
    """A candidate to review without a person."""

    dry_run: bool = Field(False, description="Say what would be done, and do nothing.")


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


PROMOTE, PREVIEW, DENY = "memory.reflect.promote", "memory.reflect.promote.preview", "memory.reflect.deny"
AUTO_PROMOTE, AUTO_REVIEW = "memory.reflect.auto_promote", "memory.reflect.auto_review"
AUTO_ARCHIVE = "memory.reflect.auto_archive"
EVENTS = ("entity_pending", "entity_created", "raw_capture_changed")


def route(path: str, *errors: int) -> Route:
    return Route("POST", f"/api/memory/reflection/{path}", tag="memory", errors=errors)


@mutation(route("promote", 400, 404, 409), roles=WRITERS, events=EVENTS)
def promote_candidate(app: App, call: Call, request: PromoteRequest) -> Promotion:
    """Make a record of a candidate that reflection found, in the scope of its sources, and end its review.

    Of concurrent requests one promotes. A refusal has a `reason` and writes nothing.
    """
    entity, unlinked = None, list[str]()
    with _reconsidered(app, call, judge(app, call.caller, request)) as (tx, considered):
        if considered.refusal is None:
            entity, unlinked = _promoted(call, tx, considered, "verified")
        tx.audit(_noted(app, call, DENY if considered.refusal else PROMOTE, considered, entity))
    return _promotion_of(app, call, considered, entity, unlinked)


@entry(route("promote/preview", 400, 404), roles=WRITERS)
def preview_promotion(app: App, call: Call, request: PromoteRequest) -> PromotionPreview:
    """Preview a promotion: its effect, the readers of its record, and the reasons against it.

    `related_to` is checked as in a promotion.
    """
    considered = judge(app, call.caller, request)
    _require_possible(app, call.caller, considered)
    with _reconsidered(app, call, considered) as (tx, considered):
        tx.audit(_noted(app, call, PREVIEW, considered, None))
    return preview_of(considered)


@mutation(route("review/auto", 400, 404, 409), roles=WRITERS, events=EVENTS)
def review_candidate(app: App, call: Call, request: AutoReviewRequest) -> AutoReview:
    """Promote a candidate unless a person must review it; then return the reasons."""
    return review(app, call, request, judge(app, call.caller, request))


def judge(app: App, caller: Principal, request: PromoteRequest) -> Considered:
    considered = consider(caller, request, lambda each: app.ledger.memories.memory(caller.organization_id, each))
    if considered.is_over or considered.refusal == "not_reflection_candidate":
        return considered
    key = considered.place.key if considered.place is not None else ""
    (compared,) = compare(app, caller, [considered.candidate.statement], key)
    return replace(considered, compared=compared)


@contextmanager
def _reconsidered(app: App, call: Call, judged: Considered) -> Iterator[tuple[Transaction, Considered]]:
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        considered = replace(consider(caller, judged.request, tx.memories.memory), compared=judged.compared)
        if considered.refusal is None and considered.place is not None:
            latest = with_latest(tx, caller, judged.compared, considered.place.key)
            considered = replace(considered, compared=latest)
        # The stored answer is deleted with the records that it names.
        tx.show_in_answer([considered.candidate.id, *(each.entity.id for each in considered.compared.known)])
        yield tx, considered


def review(
    app: App, call: Call, request: AutoReviewRequest, judged: Considered, *, has_audit: bool = True
) -> AutoReview:
    """Promote a candidate unless something asks for a person. Blocks."""
    if judged.is_over:
        return review_of(judged, request)
    with _reconsidered(app, call, judged) as (tx, considered):
        exceptions = considered.exceptions(request.threshold)
        said: JsonObject = {"exception_reasons": list[JsonValue](exceptions)} if exceptions else {}
        if exceptions or request.dry_run:
            if not exceptions:
                _require_possible(app, call.caller, considered)
            if has_audit:
                action = DENY if considered.refusal else AUTO_REVIEW
                tx.audit(_noted(app, call, action, considered, None, dry_run=request.dry_run, **said))
        else:
            entity, unlinked = _promoted(call, tx, considered, "proposed")
            tx.audit(_noted(app, call, AUTO_PROMOTE, considered, entity))
    found = review_of(considered, request)
    if exceptions or request.dry_run:
        return found
    promotion = _promotion_of(app, call, considered, entity, unlinked)
    changed = {name: getattr(promotion, name) for name in ("reason", "review_state", "promoted_id", "mutation_receipt")}
    return found.model_copy(update={"applied": True, "promotion": promotion, **changed})


def _require_possible(app: App, caller: Principal, considered: Considered) -> None:
    if considered.refusal is None and considered.place is not None:
        require_linkable(app.ledger, caller, considered.request.related_to, considered.place.memory_scope)


def _promotion_of(
    app: App, call: Call, considered: Considered, entity: Entity | None, unlinked: Sequence[str]
) -> Promotion:
    candidate, described = considered.candidate, considered.described
    if unlinked:
        described["metadata"]["unlinked_ids"] = list[JsonValue](unlinked)
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


def review_of(considered: Considered, request: AutoReviewRequest) -> AutoReview:
    preview, threshold = preview_of(considered), request.threshold
    exceptions = [] if considered.is_over else considered.exceptions(threshold)
    outcome: Outcome = "skip" if considered.is_over else "exception" if exceptions else "auto_promote"
    return AutoReview.of(
        preview,
        outcome=outcome,
        recommended_action=_ACTIONS[outcome],
        applied=False,
        dry_run=request.dry_run,
        reason=exceptions[0] if exceptions else preview.reason,
        exception_reasons=exceptions,
        confidence=considered.candidate.said.confidence,
        confidence_threshold=threshold,
        preview=preview,
    )


_ACTIONS: dict[Outcome, Action] = {"auto_promote": "promote", "exception": "route_to_review", "skip": "skip"}


def _promoted(call: Call, tx: Transaction, considered: Considered, trust: TrustState) -> tuple[Entity, list[str]]:
    caller, candidate = call.caller, considered.candidate
    made_of = [candidate.memory.entity, *(source.entity for source in candidate.sources)]
    (entity,) = store_in(call, tx, [_fields(considered)], sync=False, made_of=made_of, trust=trust)
    links, unlinked = _links(tx, caller, considered, entity)
    record(tx, caller, links, created={entity.id})
    said: JsonObject = {
        **(candidate.memory.capture.candidate or {}),
        "review_state": "promoted",
        "content": entity.content,
    }
    tx.memories.settle_memory(candidate.id, review_state="promoted", entity_id=entity.id, candidate=said)
    return entity, unlinked


def archive(app: App, call: Call, judged: Considered, reason: str) -> bool:
    """Archive a candidate; return false if something speaks against it by now. Blocks."""
    with _reconsidered(app, call, judged) as (tx, considered):
        if considered.refusal is None:
            settle(tx, considered.candidate.memory, "archived")
            tx.audit(_noted(app, call, AUTO_ARCHIVE, considered, None, exception_reasons=[reason]))
    return considered.refusal is None


def _noted(
    app: App, call: Call, action: str, considered: Considered, entity: Entity | None, **said: JsonValue
) -> AuditDraft:
    candidate, target = considered.candidate, considered.target
    memory = candidate.memory.entity
    place = entity or (target if target is not None and considered.refusal is None else memory)
    details: JsonObject = {
        "memory_scope": place.memory_scope,
        "policy_allowed": considered.refusal is None,
        "policy_reason": considered.refusal,
        **said,
    }
    is_told = entity is not None and memory.memory_scope in ("private", entity.memory_scope)
    ids: JsonObject = {
        "scope_key": place.scope_key,
        "project_id": considered.project,
        "source_ids": list[JsonValue](candidate.said.raw_source_ids),
        "derived_ids": [entity.id] if entity is not None and is_told else [],
    }
    return memory_entry(app.accounts.home_of(call.caller.user_id), call, action, memory, details, ids)


def _fields(considered: Considered) -> EntityFields:
    candidate, target, request = considered.candidate, considered.target, considered.request
    said = candidate.said
    given: JsonObject = {
        "project_id": considered.project,
        "raw_memory_id": next(iter(said.raw_source_ids), None),
        "raw_source_ids": list[JsonValue](said.raw_source_ids) or None,
        "candidate_id": candidate.id,
        "confidence": said.confidence,
        "domain": request.domain or said.domain,
        "sensitivity_flags": list[JsonValue](candidate.sensitivity_flags) or None,
        "capture_mode": SURFACE,
        **{name: said.metadata.get(name) for name in ("span", "intent")},
    }
    if target is not None and target.memory_scope not in INHERITED_SCOPES:
        given |= {"memory_scope": target.memory_scope, "scope_key": target.scope_key}
    return EntityFields(
        name=said.title or said.kind,
        content=(isinstance(request, EditedRequest) and request.content) or candidate.content,
        entity_type=candidate.entity_type,
        tags=said.tags,
        metadata=without_none(given),
        related_to=request.related_to,
    )


def _links(tx: Transaction, caller: Principal, considered: Considered, entity: Entity) -> tuple[list[Link], list[str]]:
    said = considered.candidate.said
    wanted = related(entity, said.related_to)
    wanted += [Link(entity, "RELATED_TO", each, "task_ids", types=("task",)) for each in said.task_ids]
    wanted += contradictions(entity, considered.compared.known)
    there = tx.records.entities(link.target_id for link in wanted)
    readable = {each: target for each, target in there.items() if may_read(caller, target.visibility)}
    links = [
        link
        for link in wanted
        if (target := readable.get(link.target_id)) is not None
        and (not link.types or (target.entity_type in link.types and may_reach(caller, target)))
    ]
    reached = {link.target_id for link in links}
    return links, list(dict.fromkeys(link.target_id for link in wanted if link.target_id not in reached))
