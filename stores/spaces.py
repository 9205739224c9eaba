"""Value types of memory spaces: who else than by role, project or team shares raw memories."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from stores.records import JsonObject

SpaceState = Literal["active", "disabled"]


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """A place for raw memories: a memory scope with its key, of which there is one in an organization."""

    organization_id: str
    id: str
    """A UUID."""
    memory_scope: str
    scope_key: str | None
    """None for the organization's, and for the public."""
    name: str
    description: str | None
    state: SpaceState
    disabled_reason: str | None
    metadata: JsonObject
    created_by_user_id: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SpaceMember:
    """Who belongs to a memory space."""

    organization_id: str
    id: str
    space_id: str
    principal_type: str
    """`user`, whose id is a user's, or `agent`, `delegated`, …, which are kept and let nobody in."""
    principal_id: str
    role: str
    permissions: tuple[str, ...]
    expires_at: datetime | None
    """The first instant at which it holds no more."""
    created_by_user_id: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MemberDraft:
    """What is to hold for a principal in a memory space from now on."""

    principal_type: str
    principal_id: str
    role: str
    permissions: tuple[str, ...] = ()
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SpaceChange:
    """What becomes of a memory space; None stays as it is, and metadata is merged key by key."""

    name: str | None = None
    description: str | None = None
    state: SpaceState | None = None
    metadata: JsonObject = field(default_factory=dict)
