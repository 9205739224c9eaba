"""Preview of the raw memories that a member of memory spaces would read."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from auth.memory_policy import Verdict, counted_keys, verdict
from auth.policy import ADMINS, principal_of
from auth.principal import Principal, memory_keys, place_of
from stores.errors import InvalidRequest
from stores.ledger import CaptureQuery
from stores.records import JsonObject
from stores.spaces import MemorySpace
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Result, Route, entry
from tools.memory.spaces import INSUFFICIENT, MemorySpaceRequest, PrincipalId, present_space

MORE_SPACES = 25
Judged = tuple[MemorySpace, Verdict]


class PreviewMemorySpaceAccessRequest(MemorySpaceRequest):
    """Preview a principal's access to memory spaces."""

    target_principal_type: Literal["user", "agent", "delegated"] = Field("agent", description="Kind of principal.")
    target_principal_id: PrincipalId = Field(description="The user's id, or the name of the agent.")
    additional_space_ids: Annotated[list[PrincipalId], Field(max_length=MORE_SPACES)] = Field(
        [], description="Other spaces of which it would be a member, too."
    )
    limit: int = Field(50, ge=1, le=200, description="Most memories to name, the latest first.")


class AccessPreview(Result):
    """Preview of a principal's access to memory spaces."""

    allowed: bool = Field(description="Every one of the spaces would let it read.")
    reason: str = Field(description="`access_preview_allowed`, or the reason of the first space that refuses.")
    target_principal_type: str
    target_principal_id: str
    memory_space_ids: list[str]
    visible_source_ids: list[str] = Field(description="Ids of memories that it would read, and the caller reads.")
    denied_source_ids: list[str] = Field(description="Ids of those that the caller reads, and it would not.")
    missing_source_ids: list[str]
    redacted_count: int
    hidden_but_relevant_count: int = Field(
        description="Memories of projects, teams and shared spaces that the caller itself may not read."
    )
    policy_reasons: list[str]
    metadata: JsonObject


@entry(
    Route("POST", "/api/memory/spaces/{space_id}/members/preview", tag="memory", errors=(400, 404)),
    roles=ADMINS,
    role_refusal=INSUFFICIENT,
)
def preview_memory_space_access(app: App, call: Call, request: PreviewMemorySpaceAccessRequest) -> AccessPreview:
    """Tell which raw memories of some spaces a user or agent would read as a member of them. Nothing changes."""
    caller = call.caller
    spaces = [present_space(app, caller, each) for each in _space_ids(request)]
    target = _target(app, caller, request)
    judged = [(space, verdict(space, target, request.target_principal_type)) for space in spaces]
    visible, denied = _sources(app, caller, judged, request.limit)
    refused = [found.reason for _, found in judged if not found.allowed]
    preview = AccessPreview.of(
        request,
        allowed=not refused,
        reason=refused[0] if refused else "access_preview_allowed",
        memory_space_ids=[space.id for space in spaces],
        visible_source_ids=visible,
        denied_source_ids=denied,
        missing_source_ids=[],
        redacted_count=0,
        hidden_but_relevant_count=_hidden(app, caller, spaces),
        policy_reasons=list(dict.fromkeys(found.reason for _, found in judged)),
        metadata={
            "limit": request.limit,
            "source_count": len(visible) + len(denied),
            "spaces": [{"id": space.id, "allowed": found.allowed, "reason": found.reason} for space, found in judged],
        },
    )
    details = preview.model_dump(include={"target_principal_type", "target_principal_id", "memory_space_ids"})
    details |= {"policy_allowed": preview.allowed, "policy_reason": preview.reason}
    audit = audit_entry(call, "memory.access.preview", caller.organization_id, str(request.space_id), details)
    app.ledger.audit.append(audit)
    return preview


def _space_ids(request: PreviewMemorySpaceAccessRequest) -> list[str]:
    found = [str(request.space_id)]
    for text in request.additional_space_ids:
        try:
            found.append(str(UUID(text)))
        except ValueError as error:
            raise InvalidRequest(
                "invalid_memory_space_id",
                code="invalid_memory_space_id",
                remediation="Name memory spaces by their ids, which are UUIDs.",
                details={"field": "body.additional_space_ids"},
            ) from error
    return list(dict.fromkeys(found))


def _target(app: App, caller: Principal, request: PreviewMemorySpaceAccessRequest) -> Principal | None:
    if request.target_principal_type != "user":
        return None
    found = app.ledger.people.caller(request.target_principal_id, caller.organization_id)
    return None if found is None else principal_of(*found)


def _sources(app: App, caller: Principal, judged: Sequence[Judged], limit: int) -> tuple[list[str], list[str]]:
    active = [(memory_keys(place_of(space)), found) for space, found in judged if space.state == "active"]
    keys = frozenset(key for of_space, _ in active for key in of_space) & caller.memories
    open_keys = {key for of_space, found in active if found.allowed for key in of_space}
    query = CaptureQuery(readable=keys, visible=frozenset(), limit=limit)
    found = [each.memory.entity for each in app.ledger.memories.list_captures(caller.organization_id, query)[0]]
    visible = [each.id for each in found if each.visibility in open_keys]
    return visible, [each.id for each in found if each.visibility not in open_keys]


def _hidden(app: App, caller: Principal, spaces: Sequence[MemorySpace]) -> int:
    keys = frozenset(key for each in spaces for key in counted_keys(each)) - caller.memories
    query = CaptureQuery(keys, frozenset(), limit=0)
    return app.ledger.memories.list_captures(caller.organization_id, query)[1] if keys else 0
