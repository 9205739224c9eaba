"""Records in which a write left credentials, until somebody decides on them."""

from collections.abc import Sequence
from typing import NamedTuple

from auth.memory_policy import may_read_memory
from auth.policy import ADMINS, may_read
from auth.principal import Principal
from stores.ledger import AuditQuery, Transaction
from stores.records import Entity, JsonObject, RawMemory, source_ids
from tools.app import App
from tools.entities.change import DeleteEntityRequest, UpdateEntityRequest, erase, revise
from tools.frame.audit_entries import FOUND, KEPT
from tools.frame.json_values import texts_in
from tools.frame.operation import Call
from tools.frame.screening import credentials_in
from tools.governance.correction_models import CorrectionRequest
from tools.governance.corrections import store_correction
from tools.governance.erasing import erasure_of

LATEST = 1_000  # entries of each log that are looked through


class FoundSecret(NamedTuple):
    record: Entity
    is_memory: bool
    places: Sequence[str]  # `<kind> in <field>`, never the words


def found_secrets(app: App, caller: Principal) -> dict[str, FoundSecret]:
    """Return those that the caller wrote, for admins all that they may read."""
    organization, ids = caller.organization_id, _named(app, caller)
    memories = app.ledger.memories.by_ids(organization, ids)
    found: dict[str, FoundSecret] = {}
    for record in app.ledger.records.entities(organization, ids).values():
        memory = memories.get(record.id)
        is_candidate = memory is not None and memory.capture.candidate is not None
        is_shown = (may_read if memory is None else may_read_memory)(caller, record.visibility)
        if is_shown and not is_candidate and (places := _places(record, memory)):
            found[record.id] = FoundSecret(record, memory is not None, places)
    # What was made of one that waits follows its decision.
    return {id_: each for id_, each in found.items() if found.keys().isdisjoint(source_ids(each.record))}


def _named(app: App, caller: Principal) -> set[str]:
    ids: set[str] = set()
    for log in {app.accounts.home_of(caller.user_id), caller.organization_id}:
        kept: set[str] = set()
        for each in app.ledger.audit.entries(AuditQuery(log, action="memory.secret.", limit=LATEST)):
            named = texts_in(each.draft.details.get("source_ids"))
            if each.draft.action == KEPT:
                kept.update(named)
            elif each.draft.action == FOUND and (caller.role in ADMINS or each.draft.actor_id == caller.user_id):
                ids |= set(named) - kept
    return ids


def _places(record: Entity, memory: RawMemory | None) -> list[str]:
    texts: JsonObject = {name: getattr(record, name) for name in ("name", "description", "content", "metadata")}
    texts |= {"tags": [*record.tags], "provenance": memory.capture.provenance if memory else {}}
    return [f"{' and '.join(dict.fromkeys(kinds))} in {place}" for place, kinds in credentials_in(texts)]


def replace_secret(app: App, call: Call, tx: Transaction, found: FoundSecret, request: CorrectionRequest) -> str | None:
    """Delete such a record, or give it other words; return why that is refused, if it is."""
    changed = [id_ := found.record.id]
    if found.is_memory:
        done = store_correction(app, call, tx, request)
        if done.refusal is not None:
            return done.refusal
        changed += [each.before.id for each in done.effects]
    elif request.revised_content is None:
        erase(app, call, tx, DeleteEntityRequest(entity_id=id_))
    else:
        revise(call, tx, UpdateEntityRequest(entity_id=id_, content=request.revised_content))
    for each in changed:
        tx.records.erase_past(each)
    tx.jobs.enqueue(erasure_of(found.record))
    return None
