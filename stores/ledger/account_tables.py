"""Tables of people, memberships and credentials. They write no feed rows."""

import re
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Select, UniqueConstraint, select

from stores.credentials import AuthorizationCode, DeviceLogin, Grant, OAuthClient
from stores.errors import ValidationFailed
from stores.ledger.columns import KeyText, RecordTable, Rows, key, keys, number, of_organization, of_user, refers, table
from stores.ledger.encoding import address_key
from stores.records import ApiKey, ExternalIdentity, Invitation, Organization, ProjectAccess, Session, Team, User
from stores.spaces import MemorySpace, SpaceMember


def _of_client() -> Column[str]:
    return Column("client_id", KeyText, ForeignKey("oauth_clients.id", ondelete="CASCADE"), nullable=False, index=True)


organizations = table(
    "organizations",
    key("slug", unique=True),
    number("seq"),
    key("batch"),
    number("deleted_at", nullable=True),
    of=Organization,
)
"""`seq` and `batch` are the head of the change feed. With `deleted_at` it is being erased."""

users = table(
    "users",
    key("email_key", unique=True),
    Column("codehost_id", BigInteger, nullable=True, unique=True),
    key("preferences", nullable=True),
    of=User,
)

memberships = table(
    "memberships",
    Column("user_id", KeyText, ForeignKey("users.id"), primary_key=True),
    Column("organization_id", KeyText, ForeignKey("organizations.id"), primary_key=True, index=True),
    key("role"),
    number("created_at"),
)

sessions = table("sessions", of_user(), of_organization(), of=Session)

external_identities = table("external_identities", *keys("provider", "subject"), of_user(), of=ExternalIdentity)

password_resets = table(
    "password_resets", *keys("token_hash"), of_user(), number("created_at"), number("expires_at", index=True)
)

invitations = table(
    "invitations",
    of_organization(),
    key("token_hash", unique=True),
    key("email_key"),
    number("expires_at", index=True),
    number("accepted_at", nullable=True),
    number("revoked_at", nullable=True),
    of=Invitation,
)

project_access = table("project_access", *keys("organization_id", "project_id"), of=ProjectAccess)
"""Outlives the project entity, because its tasks do."""

project_members = table(
    "project_members",
    *keys("organization_id", "user_id", "project_id"),
    key("role"),
    number("created_at"),
    Index("ix_project_members_project", "organization_id", "project_id"),
    refers("memberships", "user_id", "organization_id", cascade=True),
    refers("project_access", "organization_id", "project_id"),
)
"""Granted project roles. The creator owns a project without a row."""

teams = table("teams", of_organization(primary_key=True), UniqueConstraint("organization_id", "slug"), of=Team)

team_members = table(
    "team_members",
    *keys("organization_id", "user_id", "team_id"),
    number("created_at"),
    Index("ix_team_members_team", "organization_id", "team_id"),
    refers("teams", "organization_id", "team_id id", cascade=True),
    refers("memberships", "user_id", "organization_id", cascade=True),
)

team_projects = table(
    "team_projects",
    *keys("organization_id", "team_id", "project_id"),
    key("role"),
    number("created_at"),
    Index("ix_team_projects_project", "organization_id", "project_id"),
    refers("teams", "organization_id", "team_id id", cascade=True),
    refers("project_access", "organization_id", "project_id"),
)

memory_spaces = table(
    "memory_spaces",
    of_organization(primary_key=True),
    UniqueConstraint("organization_id", "memory_scope", "scope_key"),
    of=MemorySpace,
)

memory_space_members = table(
    "memory_space_members",
    *keys("organization_id", "space_id", "principal_type", "principal_id"),
    key("id"),
    Index("ix_memory_space_members_principal", "organization_id", "principal_type", "principal_id"),
    refers("memory_spaces", "organization_id", "space_id id", cascade=True),
    of=SpaceMember,
)
"""Principals have no foreign key: agents have no table."""

api_keys = table("api_keys", of_organization(), of_user(), key("prefix", unique=True), key("key_hash"), of=ApiKey)

tickets = table("tickets", *keys("kind", "token_hash"), key("data"), number("expires_at", index=True))

device_logins = table(
    "device_logins",
    *keys("device_hash"),
    key("user_code_hash", unique=True),
    key("state"),
    number("expires_at", index=True),
    of_user(nullable=True),
    of_organization(nullable=True),
    number("polled_at", nullable=True),
    of=DeviceLogin,
)

oauth_clients = table("oauth_clients", of=OAuthClient)

oauth_codes = table(
    "oauth_codes",
    *keys("code_hash"),
    _of_client(),
    of_user(),
    of_organization(),
    number("expires_at", index=True),
    key("grant_id", nullable=True),
    of=AuthorizationCode,
)
"""A code with a `grant_id` is spent."""

oauth_grants = table(
    "oauth_grants", _of_client(), of_user(), of_organization(), number("expires_at", index=True), of=Grant
)

oauth_tokens = table(
    "oauth_tokens",
    *keys("token_hash"),
    Column("grant_id", KeyText, ForeignKey("oauth_grants.id", ondelete="CASCADE"), nullable=False, index=True),
    key("kind"),
    key("scopes"),
    number("expires_at", index=True),
    number("spent_at", nullable=True),
)

audit_entries = table(
    "audit_entries",
    *keys("organization_id"),
    number("position", primary_key=True),
    number("created_at"),
    *map(key, ("id", "action", "family", "hash", "details", "request")),
    *(key(name, nullable=True) for name in ("actor_id", "resource", "memory_scope", "project_id")),
    Column("allowed", Boolean, nullable=True),
    *(
        Index(f"ix_audit_entries_{name}", "organization_id", name, "position")
        for name in ("created_at", "actor_id", "action", "family", "project_id", "memory_scope", "allowed")
    ),
)
"""Outlives its users. The organization is empty for the server's log; `hash` chains the entries of a log.

`family` is the first word of the action.
"""

audit_subjects = table(
    "audit_subjects", *keys("organization_id", "subject", "role"), number("position", primary_key=True)
)
"""Records that an entry names, by role: `resource`, `source`, `derived`."""

audit_heads = table("audit_heads", *keys("organization_id"), number("position"), key("hash"))
"""Length and last hash of each log."""

MEMBERSHIPS, PASSWORD_RESETS = Rows(memberships), Rows(password_resets)
USERS = RecordTable(users, User, "created_at", "id")
ORGANIZATIONS = RecordTable(organizations, Organization, "id")
PROJECTS = RecordTable(project_access, ProjectAccess)
SESSIONS = RecordTable(sessions, Session, "-created_at", "id")
INVITATIONS = RecordTable(invitations, Invitation, "-created_at", "id")
UNANSWERED = {"accepted_at": None, "revoked_at": None}
"""Columns of an open invitation."""
NO_FEED = {"seq": 0, "batch": ""}
"""Columns of an organization with an empty feed."""

SLUG_LENGTH = 64
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def check_slug(slug: str) -> None:
    """Require 1 to 64 of a-z, 0-9 and single inner hyphens."""
    if len(slug) > SLUG_LENGTH or not _SLUG.fullmatch(slug):
        raise ValidationFailed(
            f"A slug has 1 to {SLUG_LENGTH} lower-case letters, digits and single hyphens between them.",
            details={"field": "body.slug", "expected": "slug"},
        )


def with_people(grants: Rows, role: Column[Any]) -> Select[Any]:
    """Select users with their grants in a table: `USERS.columns`, role, time; the oldest grant first."""
    found = select(*USERS.columns, role, grants.c.created_at).join(grants.table, grants.c.user_id == users.c.id)
    return found.order_by(grants.c.created_at, grants.c.user_id)


def user_values(user: User) -> dict[str, Any]:
    """Return every column of a user except the preferences."""
    return USERS.values(user, email_key=address_key(user.email))
