"""Memory spaces, and rights through them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

SpaceState = Literal["active", "disabled"]


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """Memory scope with its key, unique in an organization."""

    organization_id: str
    id: str
    memory_scope: str
    scope_key: str
    """Empty for the organization's, and for the public."""
    name: str
    description: str | None
    state: SpaceState
    disabled_reason: str | None
    metadata: dict[str, JsonValue]
    created_by_user_id: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SpaceMember:
    organization_id: str
    id: str
    space_id: str
    principal_type: str
    """`user`, or `agent`, `delegated`, …, which are stored but grant no access."""
    principal_id: str
    role: str
    permissions: tuple[str, ...]
    expires_at: datetime | None
    """First instant at which it holds no more."""
    created_by_user_id: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MemberDraft:
    principal_type: str
    principal_id: str
    role: str
    permissions: tuple[str, ...] = ()
    expires_at: datetime | None = None


SpacePlace = tuple[str, str]
"""Memory scope and its key; an empty one for the organization's."""

LETTING_IN = ("shared", "delegated")
"""Scopes whose memories are for the members of their space alone."""
WRITING_ROLES = frozenset({"writer", "maintainer", "owner"})
READING_ROLES = frozenset({"reader"}) | WRITING_ROLES


@dataclass(frozen=True, slots=True)
class SpaceGrant:
    place: SpacePlace
    writes: bool
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class SpaceAccess:
    granted: tuple[SpaceGrant, ...] = ()
    """Grants of active spaces, until the membership expires."""
    disabled: frozenset[SpacePlace] = frozenset()
    """Closed spaces that concern the user."""

    @property
    def until(self) -> datetime | None:
        """Time when the next membership expires."""
        return min((each.expires_at for each in self.granted if each.expires_at is not None), default=None)


NO_SPACES = SpaceAccess()


def may_read_by(role: str, permissions: Collection[str]) -> bool:
    """Return whether a member reads; an unknown role grants nothing."""
    return role in READING_ROLES or bool({"read", "write"}.intersection(permissions))


def may_write_by(role: str, permissions: Collection[str]) -> bool:
    return role in WRITING_ROLES or "write" in permissions
