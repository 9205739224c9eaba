"""Verdicts of the access preview of memory spaces."""

from dataclasses import dataclass
from typing import cast

from auth.memory_policy import READ_REASONS
from auth.policy import MemoryScope
from auth.principal import Principal
from auth.spaces import memory_keys, place_of
from stores.space_access import LETTING_IN
from stores.spaces import MemorySpace


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
        return Verdict(allowed=False, reason="unverified_membership")
    if scope in LETTING_IN or (target is not None and memory_keys(place_of(space)) & target.memories):
        return Verdict(allowed=True, reason=READ_REASONS[cast("MemoryScope", scope)])
    return Verdict(allowed=False, reason="principal_mismatch" if scope == "private" else "unverified_membership")
