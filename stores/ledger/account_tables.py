"""Tables of people, memberships and credentials. They write no feed rows."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    UniqueConstraint,
)

from stores.ledger.columns import KeyText, key, metadata, micros, of_organization, of_user, words

organizations = Table(
    "organizations",
    metadata,
    key("id", primary_key=True),
    words("name"),
    key("slug", unique=True),
    Column("is_personal", Boolean, nullable=False),
    micros("created_at"),
    micros("seq"),
    key("batch"),
    micros("deleted_at", nullable=True),
)
"""`seq` and `batch` are the head of the change feed. With `deleted_at` it is being erased."""

users = Table(
    "users",
    metadata,
    key("id", primary_key=True),
    words("email"),
    key("email_key", unique=True),
    words("name"),
    words("password_hash", nullable=True),
    Column("is_admin", Boolean, nullable=False),
    words("avatar_url", nullable=True),
    Column("codehost_id", BigInteger, nullable=True, unique=True),
    micros("created_at"),
    words("bio", nullable=True),
    micros("email_verified_at", nullable=True),
    words("preferences", nullable=True),
)

memberships = Table(
    "memberships",
    metadata,
    Column("user_id", KeyText, ForeignKey("users.id"), primary_key=True),
    Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True, index=True),
    key("role"),
    micros("created_at"),
)

sessions = Table(
    "sessions",
    metadata,
    key("id", primary_key=True),
    Column("user_id", KeyText, ForeignKey("users.id"), nullable=False, index=True),
    of_organization(),
    key("refresh_id"),
    micros("created_at"),
    micros("expires_at"),
    micros("revoked_at", nullable=True),
    key("provider", nullable=True),
    words("user_agent", nullable=True),
    words("ip_address", nullable=True),
    micros("last_used_at", nullable=True),
)

external_identities = Table(
    "external_identities",
    metadata,
    key("provider", primary_key=True),
    key("subject", primary_key=True),
    of_user(),
    words("email", nullable=True),
    micros("created_at"),
)

password_resets = Table(
    "password_resets",
    metadata,
    key("token_hash", primary_key=True),
    of_user(),
    micros("created_at"),
    micros("expires_at", index=True),
)

invitations = Table(
    "invitations",
    metadata,
    key("id", primary_key=True),
    of_organization(),
    key("token_hash", unique=True),
    words("email"),
    key("email_key"),
    key("role"),
    key("invited_by"),
    micros("created_at"),
    micros("expires_at", index=True),
    micros("accepted_at", nullable=True),
    micros("revoked_at", nullable=True),
)

project_members = Table(
    "project_members",
    metadata,
    key("organization_id", primary_key=True),
    key("user_id", primary_key=True),
    key("project_id", primary_key=True),
    key("role"),
    micros("created_at"),
    Index("ix_project_members_project", "organization_id", "project_id"),
    ForeignKeyConstraint(
        ["user_id", "organization_id"], ["memberships.user_id", "memberships.organization_id"], ondelete="CASCADE"
    ),
    ForeignKeyConstraint(
        ["organization_id", "project_id"], ["project_access.organization_id", "project_access.project_id"]
    ),
)
"""Granted project roles. The creator owns a project without a row."""

teams = Table(
    "teams",
    metadata,
    Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True),
    key("id", primary_key=True),
    words("name"),
    key("slug"),
    words("description"),
    micros("created_at"),
    UniqueConstraint("organization_id", "slug"),
)

team_members = Table(
    "team_members",
    metadata,
    key("organization_id", primary_key=True),
    key("user_id", primary_key=True),
    key("team_id", primary_key=True),
    micros("created_at"),
    Index("ix_team_members_team", "organization_id", "team_id"),
    ForeignKeyConstraint(["organization_id", "team_id"], ["teams.organization_id", "teams.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["user_id", "organization_id"], ["memberships.user_id", "memberships.organization_id"], ondelete="CASCADE"
    ),
)

team_projects = Table(
    "team_projects",
    metadata,
    key("organization_id", primary_key=True),
    key("team_id", primary_key=True),
    key("project_id", primary_key=True),
    key("role"),
    micros("created_at"),
    Index("ix_team_projects_project", "organization_id", "project_id"),
    ForeignKeyConstraint(["organization_id", "team_id"], ["teams.organization_id", "teams.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(
        ["organization_id", "project_id"], ["project_access.organization_id", "project_access.project_id"]
    ),
)

memory_spaces = Table(
    "memory_spaces",
    metadata,
    Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True),
    key("id", primary_key=True),
    key("memory_scope"),
    key("scope_key"),
    words("name"),
    words("description", nullable=True),
    key("state"),
    key("disabled_reason", nullable=True),
    words("metadata"),
    key("created_by_user_id"),
    micros("created_at"),
    micros("updated_at"),
    UniqueConstraint("organization_id", "memory_scope", "scope_key"),
)

memory_space_members = Table(
    "memory_space_members",
    metadata,
    key("organization_id", primary_key=True),
    key("space_id", primary_key=True),
    key("principal_type", primary_key=True),
    key("principal_id", primary_key=True),
    key("id"),
    key("role"),
    words("permissions"),
    micros("expires_at", nullable=True),
    key("created_by_user_id"),
    micros("created_at"),
    micros("updated_at"),
    Index("ix_memory_space_members_principal", "organization_id", "principal_type", "principal_id"),
    ForeignKeyConstraint(
        ["organization_id", "space_id"], ["memory_spaces.organization_id", "memory_spaces.id"], ondelete="CASCADE"
    ),
)
"""Principals have no foreign key: agents have no table."""

api_keys = Table(
    "api_keys",
    metadata,
    key("id", primary_key=True),
    of_organization(),
    of_user(),
    words("name"),
    key("prefix", unique=True),
    words("key_hash"),
    words("scopes"),
    words("project_ids"),
    words("memory_space_ids"),
    Column("live", Boolean, nullable=False),
    micros("created_at"),
    micros("expires_at", nullable=True),
    micros("revoked_at", nullable=True),
    micros("last_used_at", nullable=True),
)

tickets = Table(
    "tickets",
    metadata,
    key("kind", primary_key=True),
    key("token_hash", primary_key=True),
    words("data"),
    micros("expires_at", index=True),
)

device_logins = Table(
    "device_logins",
    metadata,
    key("device_hash", primary_key=True),
    key("user_code_hash", unique=True),
    words("details"),
    key("state"),
    of_user(nullable=True),
    of_organization(nullable=True),
    Column("interval_s", Integer, nullable=False),
    micros("polled_at", nullable=True),
    micros("expires_at", index=True),
)

oauth_clients = Table(
    "oauth_clients",
    metadata,
    key("id", primary_key=True),
    words("secret_hash", nullable=True),
    words("metadata"),
    micros("created_at"),
    micros("last_used_at"),
)

oauth_codes = Table(
    "oauth_codes",
    metadata,
    key("code_hash", primary_key=True),
    Column("client_id", KeyText, ForeignKey("oauth_clients.id", ondelete="CASCADE"), nullable=False, index=True),
    of_user(),
    of_organization(),
    words("redirect_uri"),
    Column("redirect_uri_explicit", Boolean, nullable=False),
    words("code_challenge"),
    words("resource", nullable=True),
    words("scopes"),
    micros("expires_at", index=True),
    key("grant_id", nullable=True),
)
"""A code with a `grant_id` is spent."""

oauth_grants = Table(
    "oauth_grants",
    metadata,
    key("id", primary_key=True),
    Column("client_id", KeyText, ForeignKey("oauth_clients.id", ondelete="CASCADE"), nullable=False, index=True),
    of_user(),
    of_organization(),
    words("resource", nullable=True),
    words("scopes"),
    micros("created_at"),
    micros("last_used_at"),
    micros("expires_at", index=True),
    micros("revoked_at", nullable=True),
)

oauth_tokens = Table(
    "oauth_tokens",
    metadata,
    key("token_hash", primary_key=True),
    Column("grant_id", KeyText, ForeignKey("oauth_grants.id", ondelete="CASCADE"), nullable=False, index=True),
    key("kind"),
    words("scopes"),
    micros("expires_at", index=True),
    micros("spent_at", nullable=True),
)

audit_entries = Table(
    "audit_entries",
    metadata,
    key("organization_id", primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    key("id"),
    key("actor_id", nullable=True),
    key("action"),
    key("family"),
    key("resource", nullable=True),
    key("memory_scope", nullable=True),
    key("project_id", nullable=True),
    Column("allowed", Boolean, nullable=True),
    words("details"),
    words("request"),
    micros("created_at"),
    words("hash"),
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
    Column("position", BigInteger, primary_key=True, autoincrement=False),
)
"""Records that an entry names, by role: `resource`, `source`, `derived`."""

audit_heads = Table(
    "audit_heads",
    metadata,
    key("organization_id", primary_key=True),
    Column("position", BigInteger, nullable=False),
    words("hash"),
)
"""Length and last hash of each log."""
