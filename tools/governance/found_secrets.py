"""Records with credentials that wait for a decision: those that a write was warned about, while they hold them."""

from collections.abc import Sequence
from dataclasses import dataclass

from auth.memory_policy import may_read_memory, require_erasable_memory
from auth.policy import ADMINS, may_read
from auth.principal import Principal
from stores.errors import ValidationFailed
from stores.ledger import AuditQuery, Transaction
from stores.records import Entity, JsonObject, RawMemory, source_ids
from tools.app import App
from tools.entities.change import DeleteEntityRequest, UpdateEntityRequest, erase, revise
from tools.frame.audit_entries import FOUND, KEPT, secrets_entries
from tools.frame.json_values import texts_in
from tools.frame.operation import Call
from tools.frame.screening import credentials_in
from tools.governance.correction_models import CorrectionRequest
from tools.governance.corrections import store_correction
from tools.governance.erasing import erasure_of

LATEST = 1_000
"""Entries of each log that are looked through."""


@dataclass(frozen=True, slots=True)
class FoundSecret:
    record: Entity
    memory: RawMemory | None
    places: Sequence[str]
    """`<kind> in <field>`, never the words."""


def found_secrets(app: App, caller: Principal) -> dict[str, FoundSecret]:
    """Return the readable records that hold credentials, by id: the caller's own, for admins those of all."""
    organization, ids = caller.organization_id, _named(app, caller)
    memories = app.ledger.memories.by_ids(organization, ids)
    found: dict[str, FoundSecret] = {}
    for record in app.ledger.records.entities(organization, ids).values():
        memory = memories.get(record.id)
        is_shown = may_read(caller, record.visibility) if memory is None else _is_shown(caller, memory)
        if is_shown and (places := _places(record, memory)):
            found[record.id] = FoundSecret(record, memory, places)
    # What was made of one that waits follows its decision.
    return {id_: each for id_, each in found.items() if found.keys().isdisjoint(source_ids(each.record))}


def _named(app: App, caller: Principal) -> dict[str, None]:
    ids: dict[str, None] = {}
    for log in {app.accounts.home_of(caller.user_id), caller.organization_id}:
        kept: set[str] = set()
        for each in app.ledger.audit.entries(AuditQuery(log, action="memory.secret.", limit=LATEST)):
            named = texts_in(each.draft.details.get("source_ids"))
            if each.draft.action == KEPT:
                kept.update(named)
            elif each.draft.action == FOUND and (caller.role in ADMINS or each.draft.actor_id == caller.user_id):
                ids |= dict.fromkeys(each for each in named if each not in kept)
    return ids


def _is_shown(caller: Principal, memory: RawMemory) -> bool:
    return memory.capture.candidate is None and may_read_memory(caller, memory.entity.visibility)


def _places(record: Entity, memory: RawMemory | None) -> list[str]:
    texts: JsonObject = {name: getattr(record, name) for name in ("name", "description", "content", "metadata")}
    texts |= {"tags": [*record.tags], "provenance": memory.capture.provenance if memory else {}}
    return [f"{' and '.join(dict.fromkeys(kinds))} in {place}" for place, kinds in credentials_in(texts)]


def keep_secret(app: App, call: Call, tx: Transaction, record: Entity) -> None:
    """Note that a record stays as it is; it waits again when another write is warned about it."""
    for entry in secrets_entries(app.accounts.home_of(call.caller.user_id), call, {}, [record], KEPT):
        tx.audit(entry)


def replace_secret(app: App, call: Call, tx: Transaction, found: FoundSecret, request: CorrectionRequest) -> str | None:
    """Delete a record that holds a secret, or give it other words; return why that is refused, if it is.

    Raises:
        ValidationFailed: It would still hold a credential.
    """
    id_, content = found.record.id, request.revised_content
    changed = [id_]
    if found.memory is not None:
        if content is None:
            require_erasable_memory(call.caller, found.record)
        done = store_correction(app, call, tx, request)
        if done.refusal is not None:
            return done.refusal
        changed += [each.before.id for each in done.effects]
    elif content is None:
        erase(call, tx, DeleteEntityRequest(entity_id=id_))
    else:
        revise(call, tx, UpdateEntityRequest(entity_id=id_, content=content))
    for each in changed:
        tx.records.erase_past(each)
    tx.jobs.enqueue(erasure_of(found.record))
    now = tx.records.entity(id_)
    if now is not None and (left := _places(now, found.memory)):
        raise ValidationFailed(
            f"It would still hold a credential: {', '.join(left)}.",
            remediation="Reject it, or change these fields first.",
            details={"field": "body.content"},
        )
    return None
