"""Value types of memory spaces."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from stores.records import JsonObject

SpaceState = Literal["active", "disabled"]


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """Memory scope with its key, unique in an organization."""

    organization_id: str
    id: str
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
    organization_id: str
    id: str
    space_id: str
    principal_type: str
    """`user`, or `agent`, `delegated`, …, which are kept and let nobody in."""
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


@dataclass(frozen=True, slots=True)
class SpaceChange:
    """None keeps a field, metadata is merged key by key."""

    name: str | None = None
    description: str | None = None
    state: SpaceState | None = None
    metadata: JsonObject = field(default_factory=dict)
