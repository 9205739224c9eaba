"""The caller of an operation, as every policy check sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from auth.visibility import memory_key, queue_key
from stores.records import PROJECT_ROLES, Identity, Organization, ProjectRole, Role, User
from stores.space_access import LETTING_IN

Scope = Literal["mcp", "api:read", "api:write"]
SESSION_SCOPES: frozenset[Scope] = frozenset({"mcp", "api:read", "api:write"})


@dataclass(frozen=True, slots=True)
class Principal:
    """A user acting in one organization. The role was read from the ledger for this request, never from the token."""

    user: User
    organization: Organization
    role: Role
    session_id: str | None
    visible: frozenset[str]
    """The visibility keys of every entity that this caller may read."""
    project_roles: Mapping[str, ProjectRole] = field(hash=False)
    """The caller's role in each project that it may read; the role in the organization limits it further."""
    memories: frozenset[str] = frozenset()
    """The visibility keys of every raw memory that this caller may read."""
    memories_written: frozenset[str] = frozenset()
    """Those of shared and delegated memories in which it may write, too."""
    switched_off: frozenset[str] = frozenset()
    """Those that it would read if their memory space was not disabled."""
    until: datetime | None = None
    """When one of its memberships in memory spaces expires: look it up anew then."""
    scopes: frozenset[Scope] = SESSION_SCOPES
    key_id: str | None = None
    """The API key that was presented, if one was."""
    is_narrowed: bool = False
    """Whether the key is for some projects or memory spaces only: nothing else exists for it."""
    grant_id: str | None = None
    """What the person granted to the MCP client that calls, if one does."""
    audience: str | None = None
    """The only URL at which the credential is good; None for any."""

    @property
    def captures(self) -> frozenset[str]:
        """The keys of every raw memory and every candidate for a review that this caller may read."""
        return self.memories | {queue_key(key) for key in self.memories}

    @property
    def readable(self) -> frozenset[str]:
        """The keys of everything that this caller may read."""
        return self.visible | self.captures

    @property
    def user_id(self) -> str:
        """The id of the acting user."""
        return self.user.id

    @property
    def organization_id(self) -> str:
        """The tenant of this call."""
        return self.organization.id

    def may_write_for(self, visibility: str) -> bool:
        """Tell whether the caller may write what has this key, as far as memory spaces decide about that."""
        is_of_space = visibility.startswith(tuple(f"{scope}:" for scope in LETTING_IN))
        return not is_of_space or memory_key(visibility) in self.memories_written

    def may_write_in(self, project_id: str, least: ProjectRole = "project_contributor") -> bool:
        """Tell whether the caller has this role or a greater one in a project, and is no viewer of the organization."""
        role = self.project_roles.get(project_id, "project_viewer")
        return self.role != "viewer" and PROJECT_ROLES.index(role) >= PROJECT_ROLES.index(least)

    @classmethod
    def of(
        cls,
        identity: Identity,
        *,
        visible: frozenset[str],
        memories: frozenset[str],
        project_roles: Mapping[str, ProjectRole],
    ) -> "Principal":
        """Build the principal of a session."""
        return cls(
            user=identity.user,
            organization=identity.organization,
            role=identity.role,
            session_id=identity.session.id if identity.session else None,
            visible=visible,
            memories=memories,
            project_roles=project_roles,
        )
