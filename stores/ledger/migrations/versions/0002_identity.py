"""People and credentials: profiles, links, teams, keys, invitations, grants, audit."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TEXT = sa.Text()
MICROS = sa.BigInteger()

Columns = Sequence[tuple[str, Any] | tuple[str, Any, bool]]


def upgrade() -> None:
    _extend("organizations", [("deleted_at", MICROS)])
    _extend("users", [("bio", TEXT), ("email_verified_at", MICROS), ("preferences", TEXT)])
    _extend("sessions", [("provider", KEY), ("user_agent", TEXT), ("ip_address", TEXT), ("last_used_at", MICROS)])
    op.create_index("ix_sessions_organization_id", "sessions", ["organization_id"])
    _create_people()
    _create_teams()
    _create_keys()
    _create_sign_ins()
    _create_grants()
    _create_audit()


def _create_people() -> None:
    _create(
        "external_identities",
        [("provider", KEY), ("subject", KEY), ("user_id", KEY), ("email", TEXT, True), ("created_at", MICROS)],
        _primary("external_identities", "provider", "subject"),
        _user("external_identities"),
    )
    _index("external_identities", "user_id")
    _create(
        "password_resets",
        [("token_hash", KEY), ("user_id", KEY), ("created_at", MICROS), ("expires_at", MICROS)],
        _primary("password_resets", "token_hash"),
        _user("password_resets"),
    )
    _index("password_resets", "user_id", "expires_at")
    _create(
        "invitations",
        [
            ("id", KEY),
            ("organization_id", KEY),
            ("token_hash", KEY),
            ("email", TEXT),
            ("email_key", KEY),
            ("role", KEY),
            ("invited_by", KEY),
            ("created_at", MICROS),
            ("expires_at", MICROS),
            ("accepted_at", MICROS, True),
            ("revoked_at", MICROS, True),
        ],
        _primary("invitations", "id"),
        _organization("invitations"),
        sa.UniqueConstraint("token_hash", name="uq_invitations_token_hash"),
    )
    _index("invitations", "organization_id", "expires_at")


def _create_teams() -> None:
    _create(
        "project_members",
        [("organization_id", KEY), ("user_id", KEY), ("project_id", KEY), ("role", KEY), ("created_at", MICROS)],
        _primary("project_members", "organization_id", "user_id", "project_id"),
        _membership("project_members"),
        _project("project_members"),
    )
    op.create_index("ix_project_members_project", "project_members", ["organization_id", "project_id"])
    _create(
        "teams",
        [
            ("organization_id", KEY),
            ("id", KEY),
            ("name", TEXT),
            ("slug", KEY),
            ("description", TEXT),
            ("created_at", MICROS),
        ],
        _primary("teams", "organization_id", "id"),
        _organization("teams"),
        sa.UniqueConstraint("organization_id", "slug", name="uq_teams_organization_id_slug"),
    )
    _create(
        "team_members",
        [("organization_id", KEY), ("user_id", KEY), ("team_id", KEY), ("created_at", MICROS)],
        _primary("team_members", "organization_id", "user_id", "team_id"),
        _membership("team_members"),
        _team("team_members"),
    )
    op.create_index("ix_team_members_team", "team_members", ["organization_id", "team_id"])
    _create(
        "team_projects",
        [("organization_id", KEY), ("team_id", KEY), ("project_id", KEY), ("role", KEY), ("created_at", MICROS)],
        _primary("team_projects", "organization_id", "team_id", "project_id"),
        _team("team_projects"),
        _project("team_projects"),
    )
    op.create_index("ix_team_projects_project", "team_projects", ["organization_id", "project_id"])


def _create_keys() -> None:
    _create(
        "api_keys",
        [
            ("id", KEY),
            ("organization_id", KEY),
            ("user_id", KEY),
            ("name", TEXT),
            ("prefix", KEY),
            ("key_hash", TEXT),
            ("scopes", TEXT),
            ("project_ids", TEXT),
            ("memory_space_ids", TEXT),
            ("live", sa.Boolean()),
            ("created_at", MICROS),
            ("expires_at", MICROS, True),
            ("revoked_at", MICROS, True),
            ("last_used_at", MICROS, True),
        ],
        _primary("api_keys", "id"),
        _organization("api_keys"),
        _user("api_keys"),
        sa.UniqueConstraint("prefix", name="uq_api_keys_prefix"),
    )
    _index("api_keys", "organization_id", "user_id")


def _create_sign_ins() -> None:
    _create(
        "tickets",
        [("kind", KEY), ("token_hash", KEY), ("data", TEXT), ("expires_at", MICROS)],
        _primary("tickets", "kind", "token_hash"),
    )
    _index("tickets", "expires_at")
    _create(
        "device_logins",
        [
            ("device_hash", KEY),
            ("user_code_hash", KEY),
            ("details", TEXT),
            ("state", KEY),
            ("user_id", KEY, True),
            ("organization_id", KEY, True),
            ("interval_s", sa.Integer()),
            ("polled_at", MICROS, True),
            ("expires_at", MICROS),
        ],
        _primary("device_logins", "device_hash"),
        _user("device_logins"),
        _organization("device_logins"),
        sa.UniqueConstraint("user_code_hash", name="uq_device_logins_user_code_hash"),
    )
    _index("device_logins", "user_id", "organization_id", "expires_at")


def _create_grants() -> None:
    _create(
        "oauth_clients",
        [
            ("id", KEY),
            ("secret_hash", TEXT, True),
            ("metadata", TEXT),
            ("created_at", MICROS),
            ("last_used_at", MICROS),
        ],
        _primary("oauth_clients", "id"),
    )
    _create(
        "oauth_codes",
        [
            ("code_hash", KEY),
            ("client_id", KEY),
            ("user_id", KEY),
            ("organization_id", KEY),
            ("redirect_uri", TEXT),
            ("redirect_uri_explicit", sa.Boolean()),
            ("code_challenge", TEXT),
            ("resource", TEXT, True),
            ("scopes", TEXT),
            ("expires_at", MICROS),
            ("grant_id", KEY, True),
        ],
        _primary("oauth_codes", "code_hash"),
        _cascading("oauth_codes", "client_id", "oauth_clients.id"),
        _user("oauth_codes"),
        _organization("oauth_codes"),
    )
    _index("oauth_codes", "client_id", "user_id", "organization_id", "expires_at")
    _create(
        "oauth_grants",
        [
            ("id", KEY),
            ("client_id", KEY),
            ("user_id", KEY),
            ("organization_id", KEY),
            ("resource", TEXT, True),
            ("scopes", TEXT),
            ("created_at", MICROS),
            ("last_used_at", MICROS),
            ("expires_at", MICROS),
            ("revoked_at", MICROS, True),
        ],
        _primary("oauth_grants", "id"),
        _cascading("oauth_grants", "client_id", "oauth_clients.id"),
        _user("oauth_grants"),
        _organization("oauth_grants"),
    )
    _index("oauth_grants", "client_id", "user_id", "organization_id", "expires_at")
    _create(
        "oauth_tokens",
        [
            ("token_hash", KEY),
            ("grant_id", KEY),
            ("kind", KEY),
            ("scopes", TEXT),
            ("expires_at", MICROS),
            ("spent_at", MICROS, True),
        ],
        _primary("oauth_tokens", "token_hash"),
        _cascading("oauth_tokens", "grant_id", "oauth_grants.id"),
    )
    _index("oauth_tokens", "grant_id", "expires_at")


def _create_audit() -> None:
    _create(
        "audit_entries",
        [
            ("id", KEY),
            ("organization_id", KEY, True),
            ("actor_id", KEY, True),
            ("action", KEY),
            ("resource", KEY, True),
            ("details", TEXT),
            ("request", TEXT),
            ("created_at", MICROS),
        ],
        _primary("audit_entries", "id"),
    )
    op.create_index("ix_audit_entries_newest", "audit_entries", ["organization_id", "created_at", "id"])


def _extend(table: str, columns: Columns) -> None:
    """Add columns that may be null: no row needs to be written, and no default stays behind."""
    for name, kind, *_ in columns:
        op.add_column(table, sa.Column(name, kind, nullable=True))


def _create(table: str, columns: Columns, *constraints: sa.Constraint) -> None:
    made = [sa.Column(name, kind, nullable=bool(nullable)) for name, kind, *nullable in columns]
    op.create_table(table, *made, *constraints)


def _index(table: str, *columns: str) -> None:
    for column in columns:
        op.create_index(f"ix_{table}_{column}", table, [column])


def _primary(table: str, *columns: str) -> sa.Constraint:
    return sa.PrimaryKeyConstraint(*columns, name=f"pk_{table}")


def _cascading(table: str, column: str, target: str) -> sa.Constraint:
    return sa.ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete="CASCADE")


def _user(table: str) -> sa.Constraint:
    return _cascading(table, "user_id", "users.id")


def _organization(table: str) -> sa.Constraint:
    return sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name=f"fk_{table}_organization_id")


def _membership(table: str) -> sa.Constraint:
    return sa.ForeignKeyConstraint(
        ["user_id", "organization_id"],
        ["memberships.user_id", "memberships.organization_id"],
        name=f"fk_{table}_user_id_organization_id",
        ondelete="CASCADE",
    )


def _team(table: str) -> sa.Constraint:
    return sa.ForeignKeyConstraint(
        ["organization_id", "team_id"],
        ["teams.organization_id", "teams.id"],
        name=f"fk_{table}_organization_id_team_id",
        ondelete="CASCADE",
    )


def _project(table: str) -> sa.Constraint:
    return sa.ForeignKeyConstraint(
        ["organization_id", "project_id"],
        ["project_access.organization_id", "project_access.project_id"],
        name=f"fk_{table}_organization_id_project_id",
    )
