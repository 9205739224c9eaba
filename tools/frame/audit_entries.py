"""Audit entries of calls; they hold ids, never text of a record."""

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from auth.memory_policy import READ_REASONS, WRITE_REASON
from auth.policy import Visibility
from stores.ledger import AuditDraft
from stores.records import Entity, JsonObject, RawMemory
from tools.frame.operation import Call

WITHHELD = ("team", "shared", "delegated")
REMEMBER, RECALL, DENY = "memory.remember", "memory.recall", "memory.policy_deny"
DELETE, REVIEW = "memory.delete", "memory.review"
FOUND, KEPT = "memory.secret.found", "memory.secret.kept"


def audit_entry(
    call: Call, action: str, organization_id: str | None, resource: str | None = None, details: JsonObject | None = None
) -> AuditDraft:
    """Draft the entry of an action; without organization, for the server's log."""
    request = call.origin.described()
    if call.principal is not None:
        held: JsonObject = {"api_key_id": call.principal.key_id, "grant_id": call.principal.grant_id}
        request |= {name: value for name, value in held.items() if value is not None}
    actor = call.principal.user_id if call.principal else None
    return AuditDraft(action, organization_id, actor, resource, details or {}, request)


def memory_entry(
    home: str | None, call: Call, action: str, memory: Entity | Visibility, details: JsonObject, ids: JsonObject
) -> AuditDraft:
    """Draft the entry of an action on a raw memory, or on a scope. `home` is the caller's personal organization.

    Actions on private memories go to the log of the caller's personal organization, so that they stay private.
    In `WITHHELD` scopes the entry leaves `ids` out.
    """
    organization = call.caller.organization_id
    resource = memory.id if isinstance(memory, Entity) else None
    if memory.memory_scope in WITHHELD:
        return audit_entry(call, action, organization, None, details)
    if memory.memory_scope != "private":
        return audit_entry(call, action, organization, resource, details | ids)
    return audit_entry(call, action, home, resource, details | ids | {"organization_id": organization})


def policy_details(place: Entity | Visibility, refusal: str | None = None, reason: str = WRITE_REASON) -> JsonObject:
    return {"memory_scope": place.memory_scope, "policy_allowed": refusal is None, "policy_reason": refusal or reason}


def ids_of(memory: Entity, derived_ids: Iterable[str] = ()) -> JsonObject:
    return {
        "scope_key": memory.scope_key,
        "project_id": memory.project_id,
        "source_ids": [memory.id],
        "derived_ids": [*derived_ids],
    }


def recall_entry(home: str | None, call: Call, place: Visibility, source_ids: Iterable[str]) -> AuditDraft:
    details = policy_details(place, None, READ_REASONS[place.memory_scope])
    return memory_entry(home, call, RECALL, place, details, {"scope_key": place.scope_key, "source_ids": [*source_ids]})


def denial_entry(home: str | None, call: Call, place: Visibility, reason: str) -> AuditDraft:
    return memory_entry(home, call, DENY, place, policy_details(place, reason), {"scope_key": place.scope_key})


def secrets_entries(
    home: str | None, call: Call, details: JsonObject, records: Iterable[Entity], action: str = FOUND
) -> Iterator[AuditDraft]:
    """Draft the entries of credentials that were found in records, or stay there, for the logs of who may read them."""
    logs: dict[str | None, list[JsonValue]] = {}
    for each in records:
        is_own = each.memory_scope in ("private", *WITHHELD)
        logs.setdefault(home if is_own else call.caller.organization_id, []).append(each.id)
    for log, ids in (logs or {home: []}).items():
        yield audit_entry(call, action, log, None, details | {"source_ids": ids})


def remember_entry(
    home: str | None, call: Call, memory: RawMemory, entity: Entity | None = None, *, action: str = REMEMBER
) -> AuditDraft:
    """Draft the entry of a kept raw memory and the entity made of it, or of another write."""
    ids = ids_of(memory.entity, [] if entity is None else [entity.id])
    return memory_entry(home, call, action, memory.entity, policy_details(memory.entity), ids)
