"""Identities and access rights, read for every request."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import BigInteger, Connection, bindparam, case, literal, null, or_, select, union_all

from stores.ledger import account_tables as tables
from stores.ledger.account_tables import ORGANIZATIONS, SESSIONS, USERS
from stores.ledger.columns import beside, here
from stores.ledger.encoding import load_strings, optional_instant, to_micros
from stores.ledger.store import Cells, Store
from stores.records import PROJECT_ROLES, Access, Identity, Organization, ProjectAccess, ProjectRole, Role
from stores.spaces import LETTING_IN, NO_SPACES, SpaceAccess, SpaceGrant, SpacePlace, may_read_by, may_write_by

_users, _organizations, _memberships = tables.users, tables.organizations, tables.memberships
_sessions, _projects = tables.sessions, tables.project_access
_project_members, _team_members, _team_projects = tables.project_members, tables.team_members, tables.team_projects
_spaces, _space_members = tables.memory_spaces, tables.memory_space_members

_identity = (
    select(*USERS.columns, *ORGANIZATIONS.columns, _memberships.c.role)
    .join(_memberships, _memberships.c.user_id == _users.c.id)
    .join(_organizations, _organizations.c.id == _memberships.c.organization_id)
    .where(_users.c.id == bindparam("user"), _organizations.c.id == bindparam("organization"))
)
_session = select(*SESSIONS.columns).where(
    here(_sessions),
    _sessions.c.user_id == bindparam("user"),
    _sessions.c.id == bindparam("session"),
    _sessions.c.revoked_at.is_(None),
    _sessions.c.expires_at > bindparam("now"),
)
_memberships_of = (
    select(*ORGANIZATIONS.columns, _memberships.c.role)
    .join(_memberships, _memberships.c.organization_id == _organizations.c.id)
    .where(_memberships.c.user_id == bindparam("user"))
    .order_by(_organizations.c.is_personal.desc(), _memberships.c.created_at, _organizations.c.id)
)
_no_end = null().cast(BigInteger)
_place = _spaces.c.memory_scope + ":" + _spaces.c.scope_key
# No IN: its list would be rendered into the statement for each request.
_lets_in = or_(*(_spaces.c.memory_scope == scope for scope in LETTING_IN))
_access = union_all(
    select(
        literal("project").label("kind"),
        _projects.c.project_id,
        _projects.c.visibility,
        _projects.c.creator_id,
        _no_end.label("expires_at"),
    ).where(here(_projects)),
    select(literal("role"), _project_members.c.project_id, _project_members.c.role, literal(""), _no_end).where(
        here(_project_members), _project_members.c.user_id == bindparam("user")
    ),
    select(literal("role"), _team_projects.c.project_id, _team_projects.c.role, literal(""), _no_end).where(
        here(_team_projects),
        # SQLite would read a join from the other side: every role of every team first.
        _team_projects.c.team_id.in_(
            select(_team_members.c.team_id).where(here(_team_members), _team_members.c.user_id == bindparam("user"))
        ),
    ),
    select(literal("team"), _team_members.c.team_id, literal(""), literal(""), _no_end).where(
        here(_team_members), _team_members.c.user_id == bindparam("user")
    ),
    select(
        case((_spaces.c.state == "active", "granted"), else_="disabled"),
        _place,
        _space_members.c.role,
        _space_members.c.permissions,
        _space_members.c.expires_at,
    )
    .join(_spaces, beside(_spaces.c.id, _space_members.c.space_id))
    .where(
        here(_space_members),
        _space_members.c.principal_type == "user",
        _space_members.c.principal_id == bindparam("user"),
        or_(_space_members.c.expires_at.is_(None), _space_members.c.expires_at > bindparam("now")),
        _lets_in,
    ),
    select(literal("disabled"), _place, literal("reader"), literal("[]"), _no_end).where(
        here(_spaces),
        _spaces.c.state == "disabled",
        ~_lets_in,
        or_(_spaces.c.memory_scope != "private", _spaces.c.scope_key == bindparam("user")),
    ),
)
_RANK = {role: rank for rank, role in enumerate(PROJECT_ROLES)}


class Identities(Store):
    """Reads for authorization. Roles are the present ones."""

    def identity(self, user_id: str, organization_id: str, session_id: str | None) -> Identity | None:
        """Return a member's present identity; None if the session (if given) is over."""
        with self._database.read() as connection:
            return self._identity(connection, user_id, organization_id, session_id)

    def access(self, user_id: str, organization_id: str) -> Access:
        """Return an organization's projects and a member's roles in them, in one query."""
        with self._database.read() as connection:
            return access_of(connection, user_id, organization_id, self._clock())

    def caller(
        self, user_id: str, organization_id: str, session_id: str | None = None
    ) -> tuple[Identity, Access] | None:
        with self._database.read() as connection:
            identity = self._identity(connection, user_id, organization_id, session_id)
            if identity is None:
                return None
            return identity, access_of(connection, user_id, organization_id, self._clock())

    def memberships(self, user_id: str) -> list[tuple[Organization, Role]]:
        """Return a user's organizations: the personal one, then by age of membership."""
        return [(ORGANIZATIONS.read(row[:-1]), row[-1]) for row in self._all(_memberships_of, {"user": user_id})]

    def membership_by_slug(self, user_id: str, slug: str) -> tuple[Organization, Role] | None:
        return next((found for found in self.memberships(user_id) if found[0].slug == slug), None)

    def default_organization(self, user_id: str) -> Organization | None:
        return next((organization for organization, _ in self.memberships(user_id)), None)

    def _identity(
        self, connection: Connection, user_id: str, organization_id: str, session_id: str | None
    ) -> Identity | None:
        identity = identity_of(connection, user_id, organization_id)
        if session_id is None or identity is None:
            return identity
        values = {"user": user_id, "organization": organization_id, "session": session_id}
        row = connection.execute(_session, values | {"now": to_micros(self._clock())}).first()
        return None if row is None else replace(identity, session=SESSIONS.read(row))


def identity_of(connection: Connection, user_id: str, organization_id: str) -> Identity | None:
    row = connection.execute(_identity, {"user": user_id, "organization": organization_id}).first()
    if row is None:
        return None
    return Identity(USERS.read(row), ORGANIZATIONS.read(row[len(USERS.columns) :]), row[-1], session=None)


def greater_role(role: ProjectRole | None, other: ProjectRole) -> ProjectRole:
    return other if role is None or _RANK[other] > _RANK[role] else role


def access_of(connection: Connection, user_id: str, organization_id: str, now: datetime) -> Access:
    projects: list[ProjectAccess] = []
    roles: dict[str, ProjectRole] = {}
    teams: list[str] = []
    spaces: list[Cells] = []
    values = {"user": user_id, "organization": organization_id, "now": to_micros(now)}
    for row in connection.execute(_access, values):
        kind, name, second, third, _ = row
        if kind == "team":
            teams.append(name)
        elif kind in ("granted", "disabled"):
            spaces.append(row)
        elif kind == "role":
            roles[name] = greater_role(roles.get(name), second)
        else:
            projects.append(ProjectAccess(name, second, third))
    roles |= {each.project_id: "project_owner" for each in projects if each.creator_id == user_id}
    return Access(tuple(projects), roles, frozenset(teams), _space_access(spaces) if spaces else NO_SPACES)


def _space_access(rows: list[Cells]) -> SpaceAccess:
    granted: list[SpaceGrant] = []
    disabled: set[SpacePlace] = set()
    for kind, place, role, permissions, expires_at in rows:
        scope, _, key = place.partition(":")
        given = load_strings(permissions)
        if not may_read_by(role, given):
            continue
        if kind == "disabled":
            disabled.add((scope, key))
        else:
            granted.append(SpaceGrant((scope, key), may_write_by(role, given), optional_instant(expires_at)))
    return SpaceAccess(tuple(granted), frozenset(disabled))
