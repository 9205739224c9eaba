"""The caller of an operation, as every policy check sees it."""

from dataclasses import dataclass
from typing import Literal

from stores.records import Identity, Organization, Role, User

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
    """The visibility keys of everything that this caller may read."""
    writable_projects: frozenset[str]
    """Projects in which the caller may write."""
    scopes: frozenset[Scope] = SESSION_SCOPES

    @property
    def user_id(self) -> str:
        """The id of the acting user."""
        return self.user.id

    @property
    def organization_id(self) -> str:
        """The tenant of this call."""
        return self.organization.id

    @classmethod
    def of(cls, identity: Identity, *, visible: frozenset[str], writable_projects: frozenset[str]) -> "Principal":
        """Build the principal of a session."""
        return cls(
            user=identity.user,
            organization=identity.organization,
            role=identity.role,
            session_id=identity.session.id if identity.session else None,
            visible=visible,
            writable_projects=writable_projects,
        )
