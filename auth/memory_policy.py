"""Read and write rights of raw memories.

Their visibility keys differ from those of entities: no read of entities can return a raw memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from auth.policy import (
    ADMINS,
    UNVERIFIED,
    MemoryDenied,
    MemoryScope,
    NoProject,
    Visibility,
    may_read,
    no_contributor,
    public_place,
)
from auth.principal import Principal, memory_keys, place_of
from auth.visibility import (
    diary_key,
    entity_key,
    members_key,
    memory_key,
    plain_key,
    private_key,
    project_key,
    queue_key,
    space_key,
)
from stores.errors import Forbidden, InvalidRequest
from stores.records import ORGANIZATION, Entity
from stores.spaces import LETTING_IN, MemorySpace

READ_REASONS: Mapping[MemoryScope, str] = {
    "private": "private_principal_bound",
    "delegated": "delegated_access_verified",
    "project": "project_access_verified",
    "team": "team_access_verified",
    "organization": "organization_access_verified",
    "shared": "shared_access_verified",
    "public": "organization_access_verified",
}
WRITE_REASON = "same_scope_write_allowed"


@dataclass(frozen=True, slots=True)
class MemoryScopeRequest:
    scope: MemoryScope = "private"
    scope_key: str | None = None
    project_id: str | None = None
    diary: bool = False


def writable_memory(principal: Principal, wanted: MemoryScopeRequest) -> Visibility:
    place = readable_memory(principal, wanted)
    if place.memory_scope == "project" and not principal.may_write_in(place.scope_key or ""):
        refused = no_contributor(f"the memories of project {place.scope_key} but not add to them")
        raise MemoryDenied(place, refused.message, remediation=refused.remediation)
    if not principal.may_write_for(entity_key(place.key)):
        raise MemoryDenied(
            place,
            f"You may read the memory space of {place.scope_key} but not write in it.",
            remediation="Ask an owner or admin for the role writer in it.",
        )
    if wanted.project_id is not None and not may_read(principal, project_key(wanted.project_id)):
        raise NoProject(wanted.project_id)
    return place


def readable_memory(principal: Principal, wanted: MemoryScopeRequest) -> Visibility:
    place = _place(principal, wanted)
    if place.key not in principal.memories:
        raise _refusal(principal, place)
    return place


def _place(principal: Principal, wanted: MemoryScopeRequest) -> Visibility:
    scope = wanted.scope
    if scope == "public":
        return replace(place := public_place(principal), key=memory_key(place.key))
    if wanted.diary and scope != "private":
        raise _contradiction("A diary is private: leave memory_scope out.", "body.memory_scope")
    if scope in _NAMED:
        name = _scope_key(wanted)
        key = members_key(name) if scope == "project" else space_key(scope, name)
        return Visibility(memory_key(key), scope, name)
    if scope == "organization":
        return Visibility(memory_key(ORGANIZATION), scope, None)
    if wanted.scope_key not in (None, principal.user_id):
        raise InvalidRequest(
            "private_scope_key_mismatch",
            word="private_scope_key_mismatch",
            remediation="Leave scope_key out: private memories are the caller's own.",
        )
    key = diary_key(principal.user_id) if wanted.diary else memory_key(private_key(principal.user_id))
    return Visibility(key, "private", principal.user_id)


def _scope_key(wanted: MemoryScopeRequest) -> str:
    if wanted.scope == "project" and wanted.scope_key and wanted.project_id not in (None, wanted.scope_key):
        raise _contradiction("scope_key and project_id name two projects.", "body.scope_key")
    name = wanted.scope_key or (wanted.project_id if wanted.scope == "project" else None)
    if not name:
        raise InvalidRequest(
            "missing_scope_key",
            code="missing_scope_key",
            remediation=f"Name the {_NAMED[wanted.scope]} in scope_key, or leave memory_scope out.",
        )
    return name


_NAMED: Mapping[MemoryScope, str] = {
    "project": "project", "team": "team", "shared": "memory space", "delegated": "memory space",
}  # fmt: skip


def _contradiction(message: str, field: str) -> InvalidRequest:
    return InvalidRequest(message, remediation="Send one of the two.", details={"field": field})


def _refusal(principal: Principal, place: Visibility) -> MemoryDenied | NoProject:
    if place.key in principal.switched_off:
        return MemoryDenied(
            place,
            f"the memory space of {place.scope_key or 'the organization'} is disabled.",
            word="scope_not_enabled",
            remediation="Ask an owner or admin to switch it on, or name another scope.",
        )
    if principal.is_narrowed and place.memory_scope in ("private", "organization", "public"):
        return MemoryDenied(
            place,
            "This API key is narrowed: it sees none of these memories.",
            remediation="Name the scope of one of its projects or memory spaces, or use a key that is not narrowed.",
        )
    if place.memory_scope == "project" and not may_read(principal, project_key(name := place.scope_key or "")):
        return NoProject(name, place)
    return MemoryDenied(
        place, f"you are no verified member of {place.scope_key}.", word=UNVERIFIED, remediation=_OTHER_SCOPE
    )


_OTHER_SCOPE = "Leave memory_scope and project out for your own memories, or name a scope that you are a member of."


def may_read_memory(principal: Principal, visibility: str) -> bool:
    return visibility in principal.captures


def may_inspect_memory(principal: Principal, visibility: str) -> bool:
    """Return True for readable memories, also for those that a correction took out of other reads."""
    return plain_key(visibility) in principal.captures


def derived_visibility(memory: Entity) -> Visibility:
    is_diary = plain_key(memory.visibility) in (key := diary_key(memory.principal_id), queue_key(key))
    key = private_key(memory.principal_id) if is_diary else entity_key(memory.visibility)
    return Visibility(key, cast("MemoryScope", memory.memory_scope), memory.scope_key)


def narrower(asked: Visibility, source: Visibility) -> Visibility:
    if source.key == ORGANIZATION or asked.key.startswith(private_key("")):
        return asked
    return source


def may_change_memory(principal: Principal, memory: Entity) -> bool:
    if memory.memory_scope == "project":
        return principal.may_write_in(memory.scope_key or "")
    if not principal.may_write_for(entity_key(memory.visibility)):
        return False
    return principal.role != "viewer"


def require_erasable_memory(principal: Principal, memory: Entity) -> None:
    if not may_erase_memory(principal, memory):
        raise Forbidden("Only its author, an owner or an admin may erase this memory.", remediation="Ask one of them.")


def may_erase_memory(principal: Principal, memory: Entity) -> bool:
    """Return True for its author, owners and admins; the caller can read it."""
    return principal.role != "viewer" and (principal.user_id == memory.principal_id or principal.role in ADMINS)


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    reason: str


COUNTED = ("project", "team", "shared")


def counted_keys(space: MemorySpace) -> frozenset[str]:
    is_counted = space.state == "active" and space.memory_scope in COUNTED
    return memory_keys(place_of(space)) if is_counted else frozenset()


def verdict(space: MemorySpace, target: Principal | None, target_type: str) -> Verdict:
    """Predict if a target could read a space as its member.

    `target` is None for an agent, and for nonmembers of the organization.
    """
    scope = space.memory_scope
    if space.state == "disabled":
        return Verdict(allowed=False, reason=space.disabled_reason or "scope_not_enabled")
    if target is None and target_type == "user":
        return Verdict(allowed=False, reason=UNVERIFIED)
    if scope in LETTING_IN or (target is not None and memory_keys(place_of(space)) & target.memories):
        return Verdict(allowed=True, reason=READ_REASONS[cast("MemoryScope", scope)])
    return Verdict(allowed=False, reason="principal_mismatch" if scope == "private" else UNVERIFIED)
