"""Tables of people, memberships and credentials. They write no feed rows."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Table, UniqueConstraint

from stores.credentials import AuthorizationCode, DeviceLogin, Grant, OAuthClient
from stores.ledger.columns import KeyText, columns_for, key, metadata, number, of_organization, of_user, refers
from stores.records import ApiKey, ExternalIdentity, Invitation, Organization, Session, Team, User
from stores.spaces import MemorySpace, SpaceMember


def _organization() -> Column[str]:
    return Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True)


def _of_client() -> Column[str]:
    return Column("client_id", KeyText, ForeignKey("oauth_clients.id", ondelete="CASCADE"), nullable=False, index=True)


organizations = Table(
    "organizations",
    metadata,
    *columns_for(
        Organization, key("slug", unique=True), number("seq"), key("batch"), number("deleted_at", nullable=True)
    ),
)
"""`seq` and `batch` are the head of the change feed. With `deleted_at` it is being erased."""

users = Table(
    "users",
    metadata,
    *columns_for(
        User,
        key("email_key", unique=True),
        Column("codehost_id", BigInteger, nullable=True, unique=True),
        key("preferences", nullable=True),
    ),
)

memberships = Table(
    "memberships",
    metadata,
    Column("user_id", KeyText, ForeignKey("users.id"), primary_key=True),
    Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True, index=True),
    key("role"),
    number("created_at"),
)

sessions = Table("sessions", metadata, *columns_for(Session, of_user(), of_organization()))

external_identities = Table(
    "external_identities",
    metadata,
    *columns_for(ExternalIdentity, key("provider", primary_key=True), key("subject", primary_key=True), of_user()),
)

password_resets = Table(
    "password_resets",
    metadata,
    key("token_hash", primary_key=True),
    of_user(),
    number("created_at"),
    number("expires_at", index=True),
)

invitations = Table(
    "invitations",
    metadata,
    *columns_for(
        Invitation,
        of_organization(),
        key("token_hash", unique=True),
        key("email_key"),
        number("expires_at", index=True),
        number("accepted_at", nullable=True),
        number("revoked_at", nullable=True),
    ),
)

project_members = Table(
    "project_members",
    metadata,
    key("organization_id", primary_key=True),
    key("user_id", primary_key=True),
    key("project_id", primary_key=True),
    key("role"),
    number("created_at"),
    Index("ix_project_members_project", "organization_id", "project_id"),
    refers("memberships", "user_id", "organization_id", cascade=True),
    refers("project_access", "organization_id", "project_id"),
)
"""Granted project roles. The creator owns a project without a row."""

teams = Table("teams", metadata, *columns_for(Team, _organization()), UniqueConstraint("organization_id", "slug"))

team_members = Table(
    "team_members",
    metadata,
    key("organization_id", primary_key=True),
    key("user_id", primary_key=True),
    key("team_id", primary_key=True),
    number("created_at"),
    Index("ix_team_members_team", "organization_id", "team_id"),
    refers("teams", "organization_id", "team_id id", cascade=True),
    refers("memberships", "user_id", "organization_id", cascade=True),
)

team_projects = Table(
    "team_projects",
    metadata,
    key("organization_id", primary_key=True),
    key("team_id", primary_key=True),
    key("project_id", primary_key=True),
    key("role"),
    number("created_at"),
    Index("ix_team_projects_project", "organization_id", "project_id"),
    refers("teams", "organization_id", "team_id id", cascade=True),
    refers("project_access", "organization_id", "project_id"),
)

memory_spaces = Table(
    "memory_spaces",
    metadata,
    *columns_for(MemorySpace, _organization(), key("scope_key")),
    UniqueConstraint("organization_id", "memory_scope", "scope_key"),
)

memory_space_members = Table(
    "memory_space_members",
    metadata,
    *columns_for(
        SpaceMember,
        key("organization_id", primary_key=True),
        key("space_id", primary_key=True),
        key("principal_type", primary_key=True),
        key("principal_id", primary_key=True),
        key("id"),
    ),
    Index("ix_memory_space_members_principal", "organization_id", "principal_type", "principal_id"),
    refers("memory_spaces", "organization_id", "space_id id", cascade=True),
)
"""Principals have no foreign key: agents have no table."""

api_keys = Table(
    "api_keys",
    metadata,
    *columns_for(ApiKey, of_organization(), of_user(), key("prefix", unique=True), key("key_hash")),
)

tickets = Table(
    "tickets",
    metadata,
    key("kind", primary_key=True),
    key("token_hash", primary_key=True),
    key("data"),
    number("expires_at", index=True),
)

device_logins = Table(
    "device_logins",
    metadata,
    *columns_for(
        DeviceLogin,
        key("device_hash", primary_key=True),
        key("user_code_hash", unique=True),
        key("state"),
        number("expires_at", index=True),
        of_user(nullable=True),
        of_organization(nullable=True),
        number("polled_at", nullable=True),
    ),
)

oauth_clients = Table("oauth_clients", metadata, *columns_for(OAuthClient))

oauth_codes = Table(
    "oauth_codes",
    metadata,
    *columns_for(
        AuthorizationCode,
        key("code_hash", primary_key=True),
        _of_client(),
        of_user(),
        of_organization(),
        number("expires_at", index=True),
        key("grant_id", nullable=True),
    ),
)
"""A code with a `grant_id` is spent."""

oauth_grants = Table(
    "oauth_grants",
    metadata,
    *columns_for(Grant, _of_client(), of_user(), of_organization(), number("expires_at", index=True)),
)

oauth_tokens = Table(
    "oauth_tokens",
    metadata,
    key("token_hash", primary_key=True),
    Column("grant_id", KeyText, ForeignKey("oauth_grants.id", ondelete="CASCADE"), nullable=False, index=True),
    key("kind"),
    key("scopes"),
    number("expires_at", index=True),
    number("spent_at", nullable=True),
)

audit_entries = Table(
    "audit_entries",
    metadata,
    key("organization_id", primary_key=True),
    number("position", primary_key=True),
    key("id"),
    key("actor_id", nullable=True),
    key("action"),
    key("family"),
    key("resource", nullable=True),
    key("memory_scope", nullable=True),
    key("project_id", nullable=True),
    Column("allowed", Boolean, nullable=True),
    key("details"),
    key("request"),
    number("created_at"),
    key("hash"),
    *(
        Index(f"ix_audit_entries_{name}", "organization_id", name, "position")
        for name in ("created_at", "actor_id", "action", "family", "project_id", "memory_scope", "allowed")
    ),
)
"""Outlives its users. The organization is empty for the server's log; `hash` chains the entries of a log.

`family` is the first word of the action.
"""

audit_subjects = Table(
    "audit_subjects",
    metadata,
    key("organization_id", primary_key=True),
    key("subject", primary_key=True),
    key("role", primary_key=True),
    number("position", primary_key=True),
)
"""Records that an entry names, by role: `resource`, `source`, `derived`."""

audit_heads = Table("audit_heads", metadata, key("organization_id", primary_key=True), number("position"), key("hash"))
"""Length and last hash of each log."""
