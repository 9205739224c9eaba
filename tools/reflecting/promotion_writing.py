"""Promotion and archiving: one transaction with its audit entry."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from auth.policy import may_reach, may_read
from auth.principal import Principal
from stores.errors import Conflict
from stores.ledger import AuditDraft, Transaction
from stores.records import Entity, JsonObject
from tools.app import App
from tools.frame.audit_entries import memory_entry
from tools.frame.operation import Call
from tools.memory.captures import settle
from tools.records.entity_models import EntityFields
from tools.records.linking import Link, record, related
from tools.records.storing import store_in
from tools.records.trust import TrustState
from tools.reflecting.duplicates import Comparison, Known, duplicates_since
from tools.reflecting.promotion_policy import Candidate, Considered, EditedRequest, PromoteRequest, consider
from tools.reflecting.reflect_keeping import SURFACE, contradictions

SPACES = ("shared", "delegated")
"""Scopes that entities only inherit from their sources."""
PROMOTE, PREVIEW, DENY = "memory.reflect.promote", "memory.reflect.promote.preview", "memory.reflect.deny"
AUTO_PROMOTE, AUTO_REVIEW = "memory.reflect.auto_promote", "memory.reflect.auto_review"
AUTO_ARCHIVE = "memory.reflect.auto_archive"


@dataclass(frozen=True, slots=True)
class Written:
    """`entity` is `None` if the promotion was refused."""

    considered: Considered
    entity: Entity | None = None
    unlinked: Sequence[str] = ()


class Overtaken(Conflict):
    """A duplicate was written during the review."""


def write_promotion(
    app: App, call: Call, request: PromoteRequest, compared: Comparison, action: str = PROMOTE
) -> Written:
    """Make a record of a candidate and settle it, unless policy objects. Blocks.

    Raises:
        Overtaken: A duplicate was written since the comparison; automatic promotions only.
    """
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        considered = replace(consider(caller, request, tx.memories.memory), compared=compared)
        # The stored answer is deleted with the records that it names.
        tx.show_in_answer([considered.candidate.id, *(each.entity.id for each in compared.known)])
        if considered.refusal is not None:
            tx.audit(noted(app, call, DENY, considered))
            return Written(considered)
        candidate = considered.candidate
        if action == AUTO_PROMOTE and duplicates_since(tx, caller, compared, ""):
            raise Overtaken(
                f"A duplicate of {candidate.id} was written during the review.",
                remediation="Review the candidate again; you will see the duplicate in its findings.",
            )
        made_of = [candidate.memory.entity, *(source.entity for source in candidate.sources)]
        trust: TrustState = "proposed" if action == AUTO_PROMOTE else "verified"
        (entity,) = store_in(call, tx, [_fields(considered, request)], sync=False, made_of=made_of, trust=trust)
        links, unlinked = _links(tx, caller, candidate, entity, compared.known)
        record(tx, caller, links, created={entity.id})
        said: JsonObject = {
            **(candidate.memory.capture.candidate or {}),
            "review_state": "promoted",
            "content": entity.content,
        }
        tx.memories.settle_memory(candidate.id, review_state="promoted", entity_id=entity.id, candidate=said)
        tx.audit(noted(app, call, action, considered, entity))
    return Written(considered, entity, unlinked)


def write_archive(app: App, call: Call, request: PromoteRequest, reason: str) -> bool:
    """Archive a candidate; return false if its review has ended. Blocks."""
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id) as tx:
        considered = consider(caller, request, tx.memories.memory)
        if considered.refusal is not None:
            return False
        settle(tx, considered.candidate.memory, "archived")
        tx.audit(noted(app, call, AUTO_ARCHIVE, considered, said={"exception_reasons": [reason]}))
    return True


def write_note(app: App, call: Call, action: str, considered: Considered, said: JsonObject | None = None) -> None:
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        tx.audit(noted(app, call, action, considered, said=said))
        tx.show_in_answer([considered.candidate.id, *(each.entity.id for each in considered.compared.known)])


def noted(
    app: App,
    call: Call,
    action: str,
    considered: Considered,
    entity: Entity | None = None,
    *,
    said: JsonObject | None = None,
) -> AuditDraft:
    candidate, target = considered.candidate, considered.target
    memory = candidate.memory.entity
    place = entity or (target if target is not None and considered.refusal is None else memory)
    details: JsonObject = {
        "memory_scope": place.memory_scope,
        "policy_allowed": considered.refusal is None,
        "policy_reason": considered.refusal,
        **(said or {}),
    }
    is_told = entity is not None and memory.memory_scope in ("private", entity.memory_scope)
    ids: JsonObject = {
        "scope_key": place.scope_key,
        "project_id": considered.project,
        "source_ids": list[JsonValue](candidate.said.raw_source_ids),
        "derived_ids": [entity.id] if entity is not None and is_told else [],
    }
    return memory_entry(app.accounts.home_of(call.caller.user_id), call, action, memory, details, ids)


def _fields(considered: Considered, request: PromoteRequest) -> EntityFields:
    candidate, said, target = considered.candidate, considered.candidate.said, considered.target
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
    if target is not None and target.memory_scope not in SPACES:
        given |= {"memory_scope": target.memory_scope, "scope_key": target.scope_key}
    metadata = {name: value for name, value in given.items() if value is not None}
    return EntityFields(
        name=said.title or said.kind,
        content=(isinstance(request, EditedRequest) and request.content) or candidate.content,
        entity_type=candidate.entity_type,
        tags=said.tags,
        metadata=metadata,
        related_to=request.related_to,
    )


def _links(
    tx: Transaction, caller: Principal, candidate: Candidate, entity: Entity, known: Iterable[Known]
) -> tuple[list[Link], list[str]]:
    wanted = related(entity, candidate.said.related_to)
    wanted += [Link(entity, "RELATED_TO", each, "task_ids", types=("task",)) for each in candidate.said.task_ids]
    wanted += contradictions(entity, known)
    there = tx.records.entities(link.target_id for link in wanted)
    links = [link for link in wanted if _is_there(caller, link, there.get(link.target_id))]
    reached = {link.target_id for link in links}
    return links, list(dict.fromkeys(link.target_id for link in wanted if link.target_id not in reached))


def _is_there(caller: Principal, link: Link, target: Entity | None) -> bool:
    if target is None or not may_read(caller, target.visibility):
        return False
    return not link.types or (target.entity_type in link.types and may_reach(caller, target))
