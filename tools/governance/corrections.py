"""Corrections of raw memories, with preview; what rests on a corrected memory follows."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from auth.memory_policy import WRITE_REASON, may_change_memory, may_inspect_memory
from auth.policy import ADMINS
from auth.principal import Principal
from stores.errors import Conflict, Forbidden, NotFound
from stores.ledger import Transaction
from stores.records import Entity, JsonObject, RawMemory, source_ids
from tools.app import App
from tools.frame.audit_entries import ids_of, memory_entry, policy_details
from tools.frame.operation import WRITERS, Call, Route, entry, writing
from tools.frame.threads import in_thread
from tools.governance.derived import QUOTE_CHARACTERS, Effect, effects, resting_on
from tools.governance.lifecycle import (
    RULES,
    CorrectionRequest,
    CorrectionView,
    Lifecycle,
    RecallImpact,
    Step,
    SynthesisImpact,
    erasure_of,
    is_withheld,
    lifecycle_view,
    placed,
)
from tools.memory.spaces import INSUFFICIENT
from tools.records.derivation import REPORTED, REVISION, erase_made
from tools.records.receipts import receipt_for
from tools.records.storing import until_visible
from tools.records.trust import scope_of_words

REDACTED = "[redacted]"
ERASING = frozenset({"delete", "redact"})


@dataclass(frozen=True, slots=True)
class Corrected:
    """Outcome of a correction, or of its preview."""

    memory: RawMemory
    """As it was before."""
    after: RawMemory | None
    lifecycle: Lifecycle
    refusal: str | None = None
    effects: Sequence[Effect] = ()
    sequence: int = 0

    def shown_to(self, caller: Principal) -> list[Effect]:
        return [each for each in self.effects if may_see(caller, each.before)]


_ROUTE = "/api/memory/inspect/{source_id}/corrections"


@entry(Route("POST", f"{_ROUTE}/preview", tag="memory", errors=(404, 409)), roles=WRITERS, role_refusal=INSUFFICIENT)
def preview_correction(app: App, call: Call, request: CorrectionRequest) -> CorrectionView:
    """Tell what a correction of a raw memory would change, and whether it is allowed. Nothing changes."""
    return _view(app, call, request, _correct(app, call, request, preview=True), applied=False)


@writing(
    Route("POST", _ROUTE, tag="memory", errors=(404, 409)),
    "raw_capture_changed",
    "entity_updated",
    "entity_deleted",
    role_refusal=INSUFFICIENT,
)
async def correct_memory(app: App, call: Call, request: CorrectionRequest) -> CorrectionView:
    """Correct a raw memory: take it out of recall, give it other words, erase it, or undo that.

    Records that rest on it follow: those with no other source go or come back with it, the others are disputed. A
    refused correction is answered with `allowed` false and the reason.
    """
    done = await in_thread(_correct, app, call, request)
    view = _view(app, call, request, done, applied=done.refusal is None)
    if not view.applied:
        return view
    ids = [done.memory.entity.id, *(each.before.id for each in done.effects)]
    await until_visible(app, call.caller, done.sequence, ids)
    if request.action not in ERASING:
        return view
    return view.model_copy(update={"erasure": "pending", "erasure_job_id": erasure_of(done.memory.entity).id})


def _correct(app: App, call: Call, request: CorrectionRequest, *, preview: bool = False) -> Corrected:
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        corrected_memory(tx, caller, request.source_id)
        done = store_correction(app, call, tx, request, preview=preview)
    return replace(done, sequence=tx.sequence)


def store_correction(
    app: App, call: Call, tx: Transaction, request: CorrectionRequest, *, preview: bool = False
) -> Corrected:
    """Correct a raw memory in an open transaction, unless something stands against it.

    Raises:
        Conflict: The memory is at another revision than expected.
    """
    done = _planned(tx, call.caller, present_memory(tx, call.caller, request.source_id), request)
    if done.refusal is None and not preview:
        _store(tx, request, done)
    memory, home = done.memory.entity, app.accounts.home_of(call.caller.user_id)
    details = policy_details(memory, done.refusal) | {"lifecycle_state": done.lifecycle.state}
    ids = ids_of(memory, (each.before.id for each in done.shown_to(call.caller))) | {"metadata": request.metadata}
    action = f"memory.correction.{request.action}{'.preview' * preview}"
    tx.audit(memory_entry(home, call, action, memory, details, ids))
    return done


def present_memory(tx: Transaction, caller: Principal, source_id: str) -> RawMemory:
    """Find a raw memory by its id, its source's or that of a derived record, or raise NotFound."""
    named = tx.memories.memory(source_id)
    others = (*tx.memories.memories_of(source_id), *tx.memories.memories_from(source_id))
    for memory in others if named is None else (named,):
        if may_inspect_memory(caller, memory.entity.visibility):
            return memory
    raise NotFound(
        "memory_source_not_found",
        remediation="Send the id of a raw memory that you may read; search and recall return it.",
        details={"field": "path.source_id"},
    )


def corrected_memory(tx: Transaction, caller: Principal, source_id: str) -> RawMemory:
    """Find a raw memory for its correction: members only private ones of their own."""
    if caller.role in ADMINS:
        return present_memory(tx, caller, source_id)
    with suppress(NotFound):
        if (memory := present_memory(tx, caller, source_id)).entity.memory_scope == "private":
            return memory
    raise Forbidden(
        INSUFFICIENT,
        code=INSUFFICIENT,
        remediation="Members inspect and correct their own private memories; ask an owner or admin for others.",
    )


def may_see(caller: Principal, record: Entity) -> bool:
    return may_inspect_memory(caller, record.visibility) or placed(record, withheld=False).visibility in caller.visible


def refusal_of(tx: Transaction, caller: Principal, memory: RawMemory, request: CorrectionRequest) -> str | None:
    """Return why a correction is refused, in a word; None if it is allowed."""
    if not may_change_memory(caller, memory.entity):
        return "memory_write_denied"
    rule, lifecycle = RULES[request.action], Lifecycle.of(memory)
    given = None if rule.needs is None else getattr(request, rule.needs)
    if request.action == "revise":
        return _of_revision(tx, memory, given or "")
    if request.action == "restore" and lifecycle.is_recallable and not lifecycle.since_restored:
        return "nothing_to_restore"
    if rule.needs is None:
        return None
    role = rule.needs.removesuffix("_of_source_id").removesuffix("_source_id")
    return f"missing_{role}_source" if not given else _of_reference(tx, caller, memory, role, str(given))


def _of_revision(tx: Transaction, memory: RawMemory, content: str) -> str | None:
    if memory.capture.capture_surface == REPORTED:
        return "follows_its_source"
    if not content.strip():
        return "missing_revised_content"
    if content == memory.entity.content:
        return "unchanged_revised_content"
    wrong = tx.rejections.rejected(scope_of_words(memory.entity, memory.entity.principal_id), [content])
    return None if wrong.get(content) in (None, memory.entity.id) else "rejected_revised_content"


def _of_reference(tx: Transaction, caller: Principal, memory: RawMemory, role: str, other_id: str) -> str | None:
    if other_id in (memory.entity.id, memory.capture.entity_id):
        return f"{role}_source_self_reference"
    try:
        other = present_memory(tx, caller, other_id)
    except NotFound:
        return f"{role}_source_not_found"
    return None if Lifecycle.of(other).is_recallable else f"{role}_source_not_recallable"


def _planned(tx: Transaction, caller: Principal, memory: RawMemory, request: CorrectionRequest) -> Corrected:
    if request.expected_revision not in (None, memory.entity.revision):
        raise Conflict(
            f"Raw memory {memory.entity.id} is at revision {memory.entity.revision}, not at "
            f"{request.expected_revision}.",
            remediation="Inspect it again, then correct its present state.",
            details={"expected": request.expected_revision, "actual": memory.entity.revision},
        )
    lifecycle = Lifecycle.of(memory)
    step = Step(
        action=request.action,
        reason=request.reason,
        actor_id=caller.user_id,
        created_at=tx.now,
        prior_state=lifecycle.state,
        prior_flags=lifecycle.flags,
        prior_revision=memory.entity.revision,
        other_id=request.replacement_source_id or request.duplicate_of_source_id,
    )
    after = lifecycle.after(step)
    if (refusal := refusal_of(tx, caller, memory, request)) is not None:
        return Corrected(memory, memory, after, refusal)
    erased = request.action == "delete"
    changed = None if erased else placed(_rewritten(tx, memory, request), withheld=after.is_withheld)
    records = resting_on(tx.memories.made_of, memory.entity)
    found = effects(records, memory.entity, changed, tx.records.entities, erases=request.action in ERASING)
    return Corrected(memory, None if changed is None else replace(memory, entity=changed), after, None, found)


def _rewritten(tx: Transaction, memory: RawMemory, request: CorrectionRequest) -> Entity:
    entity = memory.entity
    if request.action == "redact":
        bare = replace(entity, content=REDACTED, name=REDACTED if entity.name else "", description="", tags=())
        return replace(bare, metadata={"derived_from": [*source_ids(entity)]})
    if request.action == "revise":
        return replace(entity, content=request.revised_content or "")
    if request.action == "restore":
        revised = [each for each in Lifecycle.of(memory).since_restored if each.action == "revise"]
        if revised and (old := tx.records.revision(entity.id, revised[0].prior_revision)) is not None:
            return replace(entity, content=old.content)
    return entity


def _store(tx: Transaction, request: CorrectionRequest, done: Corrected) -> None:
    memory = done.memory.entity
    for each in done.effects:
        if each.after is None:
            tx.records.delete_entity(each.before.id)
        else:
            _replace(tx, each.before, each.after)
    if request.action in ("restore", "delete"):
        tx.rejections.admit(memory.id)
    if request.action in ERASING:
        tx.jobs.enqueue(erasure_of(done.memory.entity))
    if request.action == "mark_wrong":
        withheld = [each.after for each in done.effects if each.after is not None and is_withheld(each.after)]
        quoting = (each for each in withheld if len(each.content) >= QUOTE_CHARACTERS)
        for record in (memory, *(each for each in quoting if each.content in memory.content)):
            tx.rejections.reject(scope_of_words(record, record.principal_id), [record.content], memory.id)
    if done.after is None:
        erase_made(tx, memory)
        tx.records.delete_entity(memory.id)
        return
    if done.after.capture.review_state == "archived" and request.action == "restore":
        tx.memories.settle_memory(memory.id, review_state="pending", entity_id=None)
    told = _redacted(tx, done.memory) if request.action == "redact" else {}
    tx.memories.correct_memory(done.after.entity, lifecycle=done.lifecycle.model_dump(mode="json"), **told)
    tx.relations.follow_visibility(memory, done.after.entity)
    if request.action == "redact":
        tx.records.erase_past(memory.id)


def _replace(tx: Transaction, before: Entity, after: Entity) -> None:
    tx.relations.follow_visibility(before, tx.records.update_entity(before.id, lambda _: after))


def _redacted(tx: Transaction, memory: RawMemory) -> dict[str, Any]:
    if erase_made(tx, memory.entity) is not None:
        tx.payloads.replace_texts(memory.entity.id, [tx.payloads.text(memory.entity.id, REVISION) or ""])
    candidate: JsonObject | None = None if memory.capture.candidate is None else {}
    return {"provenance": {}, "source_id": memory.entity.id, "candidate": candidate}


def _view(app: App, call: Call, request: CorrectionRequest, done: Corrected, *, applied: bool) -> CorrectionView:
    memory, rule = done.memory.entity, RULES[request.action]
    seen = done.shown_to(call.caller)
    labels = {each.before.id: each.label for each in seen}
    is_unarchived = request.action == "restore" and done.memory.capture.review_state == "archived"
    written = [f"raw_captures:{memory.id}", *(f"entity:{each}" for each in labels)]
    revision = None if done.after is None else memory.revision + applied
    return CorrectionView(
        allowed=done.refusal is None,
        applied=applied,
        source_id=memory.id,
        action=request.action,
        reason=done.refusal or f"{request.action}_{'applied' if applied else 'preview_allowed'}",
        target_lifecycle_state=done.lifecycle.state,
        target_lifecycle_flags=done.lifecycle.flags,
        updated_review_state="pending" if done.refusal is None and is_unarchived else None,
        lifecycle=lifecycle_view(memory.id, done.lifecycle if applied else Lifecycle.of(done.memory), [*labels]),
        affected_source_ids=[memory.id] if done.refusal is None else [],
        affected_derived_ids=[*labels],
        reversible=rule.is_reversible,
        recall_impact=RecallImpact(
            excluded_from_recall=not done.lifecycle.is_recallable,
            withheld_derived_ids=[each for each, label in labels.items() if label in ("withheld", "erased")],
        ),
        synthesis_impact=SynthesisImpact(
            excluded_from_synthesis=not done.lifecycle.is_recallable,
            preserve_source_truth=request.action not in ("delete", "redact", "revise"),
            disputed_derived_ids=[each for each, label in labels.items() if label == "disputed"],
        ),
        audit_action=f"memory.correction.{request.action}",
        policy_reasons=[done.refusal or WRITE_REASON],
        metadata={**request.metadata, "derived": dict(labels)},
        revision=revision,
        mutation_receipt=receipt_for(app, call, written, revision) if applied else None,
    )
