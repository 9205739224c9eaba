"""What somebody would read as a member of a memory space, in words, and what of it may be counted."""

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
    """Whether somebody would read the memories of a space as a member of it, and the word for why."""

    allowed: bool
    reason: str


COUNTED = ("project", "team", "shared")
"""Scopes whose memories are counted for an admin who may not read them; what is anybody's own never is."""


def counted_keys(space: MemorySpace) -> frozenset[str]:
    """The keys of the memories of a space that may be counted for those who may not read them."""
    is_counted = space.state == "active" and space.memory_scope in COUNTED
    return memory_keys(place_of(space)) if is_counted else frozenset()


def verdict(space: MemorySpace, target: Principal | None, target_type: str) -> Verdict:
    """Judge what a principal would read in a space as a member of it.

    `target` is the user as things are now; None for an agent, or for whoever is no member of the organization.
    """
    scope = space.memory_scope
    if space.state == "disabled":
        return Verdict(allowed=False, reason=space.disabled_reason or "scope_not_enabled")
    if target is None and target_type == "user":
        return Verdict(allowed=False, reason="unverified_membership")
    if scope in LETTING_IN or (target is not None and memory_keys(place_of(space)) & target.memories):
        return Verdict(allowed=True, reason=READ_REASONS[cast("MemoryScope", scope)])
    return Verdict(allowed=False, reason="principal_mismatch" if scope == "private" else "unverified_membership")
