"""Project roles: of members, and of teams of an organization. A project belongs to its creator."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import Unpack

import sqlalchemy as sql

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger import schema
from stores.ledger.account_tables import USERS, check_slug, project_members, team_members, team_projects, teams
from stores.ledger.audit import append_audit, detailed
from stores.ledger.columns import RecordTable, beside, equal_to, here
from stores.ledger.encoding import from_micros, to_micros
from stores.ledger.engine import in_chunks, upsert
from stores.ledger.identities import access_of, greater_role, identity_of
from stores.ledger.organizations import OrganizationStore, require_member
from stores.ledger.permits import Act, Permit
from stores.ledger.store import TAKEN, clashing
from stores.records import Member, ProjectMember, ProjectRole, Role, Team

_memberships = schema.memberships
_teams = RecordTable(teams, Team, "created_at", "id")


class Teams(OrganizationStore):
    """Changes take a permit, checked first. A team's memories outlive it."""

    def create(self, team: Team, **act: Unpack[Act]) -> None:
        check_slug(team.slug)
        with self._changing(team.organization_id, **act) as connection, clashing(f"A team {team.slug} exists already."):
            _teams.insert(connection, team)

    def of_organization(self, organization_id: str) -> list[Team]:
        return self._list(_teams, organization_id=organization_id)

    def team(self, organization_id: str, team_id: str) -> Team | None:
        return self._find(_teams, organization_id=organization_id, id=team_id)

    def edit(self, organization_id: str, team_id: str, edit: Callable[[Team], Team], **act: Unpack[Act]) -> Team:
        with self._changing(organization_id, **act) as connection:
            before = _there(connection, organization_id, team_id)
            after = replace(edit(before), organization_id=organization_id, id=team_id, created_at=before.created_at)
            check_slug(after.slug)
            with clashing(f"A team {after.slug} exists already."):
                _teams.change(connection, _teams.values(after), organization_id=organization_id, id=team_id)
            return after

    def delete(self, organization_id: str, team_id: str, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            _teams.remove(connection, organization_id=organization_id, id=team_id)

    def members(self, organization_id: str, team_id: str) -> list[Member]:
        statement = (
            sql.select(*USERS.columns, _memberships.c.role, team_members.c.created_at)
            .join(team_members, team_members.c.user_id == schema.users.c.id)
            .join(_memberships, beside(_memberships.c.user_id, team_members.c.user_id))
            .where(*equal_to(team_members, organization_id=organization_id, team_id=team_id))
            .order_by(team_members.c.created_at, team_members.c.user_id)
        )
        return [Member(USERS.read(row), row[-2], from_micros(row[-1])) for row in self._all(statement)]

    def add_member(self, organization_id: str, team_id: str, user_id: str, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            require_member(connection, organization_id, user_id)
            values = {"organization_id": organization_id, "team_id": team_id, "user_id": user_id}
            with clashing("The user is in the team already."):
                connection.execute(sql.insert(team_members), values | {"created_at": to_micros(self._clock())})

    def remove_member(self, organization_id: str, team_id: str, user_id: str, **act: Unpack[Act]) -> None:
        which = equal_to(team_members, organization_id=organization_id, team_id=team_id, user_id=user_id)
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            if connection.execute(sql.delete(team_members).where(*which)).rowcount == 0:
                raise NotFound("The user is not in the team.")

    def projects(self, organization_id: str, team_id: str) -> dict[str, ProjectRole]:
        of_team = equal_to(team_projects, organization_id=organization_id, team_id=team_id)
        statement = (
            sql.select(team_projects.c.project_id, team_projects.c.role)
            .where(*of_team)
            .order_by(team_projects.c.project_id)
        )
        return {row[0]: row[1] for row in self._all(statement.order_by(team_projects.c.project_id))}

    def put_project(
        self, organization_id: str, team_id: str, project_id: str, role: ProjectRole, **act: Unpack[Act]
    ) -> ProjectRole | None:
        """Set a team's role in a project; return the one before, also audited."""
        grant = {"organization_id": organization_id, "team_id": team_id, "project_id": project_id}
        audit = act.pop("audit", None)
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            now = self._clock()
            before = _role_in(connection, grant)
            insertion = upsert(connection.dialect.name, team_projects)
            key = [team_projects.c[name] for name in grant]
            statement = insertion.on_conflict_do_update(index_elements=key, set_={"role": insertion.excluded.role})
            with clashing("", f"There is no project {project_id}."):
                connection.execute(statement, grant | {"role": role, "created_at": to_micros(now)})
            append_audit(connection, now, detailed(audit, {"from": before}))
            return before

    def remove_project(self, organization_id: str, team_id: str, project_id: str, **act: Unpack[Act]) -> ProjectRole:
        grant = {"organization_id": organization_id, "team_id": team_id, "project_id": project_id}
        audit = act.pop("audit", None)
        with self._changing(organization_id, **act) as connection:
            before = _role_in(connection, grant)
            if before is None:
                raise NotFound("The team has no role in the project.")
            connection.execute(sql.delete(team_projects).where(*equal_to(team_projects, **grant)))
            append_audit(connection, self._clock(), detailed(audit, {"from": before}))
            return before


def _there(connection: sql.Connection, organization_id: str, team_id: str) -> Team:
    team = _teams.one(connection, organization_id=organization_id, id=team_id)
    if team is None:
        raise NotFound(f"There is no team {team_id}.")
    return team


def _role_in(connection: sql.Connection, grant: dict[str, str]) -> ProjectRole | None:
    found = sql.select(team_projects.c.role).where(*equal_to(team_projects, **grant))
    role: ProjectRole | None = connection.execute(found).scalar()
    return role


_grants = project_members
_projects = schema.project_access
_of_users: sql.BindParameter[str] = sql.bindparam("of_users", expanding=True)
_of_projects: sql.BindParameter[str] = sql.bindparam("of_projects", expanding=True)
_granted_to = sql.union_all(
    sql.select(_grants.c.user_id, _grants.c.project_id, _grants.c.role).where(
        here(_grants, "of_organization"), _grants.c.user_id.in_(_of_users), _grants.c.project_id.in_(_of_projects)
    ),
    sql.select(team_members.c.user_id, team_projects.c.project_id, team_projects.c.role)
    .join(team_projects, beside(team_projects.c.team_id, team_members.c.team_id))
    .where(
        here(team_members, "of_organization"),
        team_members.c.user_id.in_(_of_users),
        team_projects.c.project_id.in_(_of_projects),
    ),
    sql.select(_projects.c.creator_id, _projects.c.project_id, sql.literal("project_owner")).where(
        here(_projects, "of_organization"),
        _projects.c.creator_id.in_(_of_users),
        _projects.c.project_id.in_(_of_projects),
    ),
)


class ProjectPermit(Permit):
    """Its `check` is called with the actor's present identity and access."""

    def ask(self, connection: sql.Connection, organization_id: str, now: datetime, before: Role | None = None) -> None:
        identity = identity_of(connection, self.actor_id, organization_id)
        self.check(identity, access_of(connection, self.actor_id, organization_id, now))


class ProjectMembers(OrganizationStore):
    def of_project(self, organization_id: str, project_id: str) -> list[ProjectMember]:
        """Return a project's creator, if still a member, then the granted members."""
        place = {"organization_id": organization_id, "project_id": project_id}
        owns = (
            sql.select(*USERS.columns)
            .join(_memberships, _memberships.c.user_id == schema.users.c.id)
            .join(_projects, beside(_projects.c.creator_id, _memberships.c.user_id))
            .where(*equal_to(_projects, **place))
        )
        granted = (
            sql.select(*USERS.columns, _grants.c.role, _grants.c.created_at)
            .join(_grants, _grants.c.user_id == schema.users.c.id)
            .where(*equal_to(_grants, **place))
            .order_by(_grants.c.created_at, _grants.c.user_id)
        )
        with self._database.read() as connection:
            _require_project(connection, organization_id, project_id)
            owner = connection.execute(owns).first()
            rows = connection.execute(granted).all()
        found = [] if owner is None else [ProjectMember(USERS.read(owner), "project_owner", None)]
        members = (ProjectMember(USERS.read(row), row[-2], from_micros(row[-1])) for row in rows)
        return found + [each for each in members if owner is None or each.user.id != owner.id]

    def granted(
        self, organization_id: str, user_ids: Collection[str], project_ids: Collection[str]
    ) -> dict[tuple[str, str], ProjectRole]:
        """Return the greatest role by user and project, direct or through a team."""
        found: dict[tuple[str, str], ProjectRole] = {}
        with self._database.read() as connection:
            for users, projects in product(list(in_chunks(user_ids)), list(in_chunks(project_ids))):
                values = {"of_organization": organization_id, "of_users": users, "of_projects": projects}
                for user_id, project_id, role in connection.execute(_granted_to, values):
                    found[user_id, project_id] = greater_role(found.get((user_id, project_id)), role)
        return found

    def add(self, organization_id: str, project_id: str, user_id: str, role: ProjectRole, **act: Unpack[Act]) -> None:
        """Give a member a role in a project; Conflict if it has one or is the creator."""
        row = {"organization_id": organization_id, "project_id": project_id, "user_id": user_id, "role": role}
        with self._changing(organization_id, **act) as connection:
            if _require_project(connection, organization_id, project_id) == user_id:
                raise Conflict("The user owns the project already.", remediation=TAKEN)
            require_member(connection, organization_id, user_id)
            with clashing("The user is a member of the project already."):
                connection.execute(sql.insert(_grants), row | {"created_at": to_micros(self._clock())})

    def set_role(
        self, organization_id: str, project_id: str, user_id: str, role: ProjectRole, **act: Unpack[Act]
    ) -> ProjectRole:
        """Change a role in a project and return the one before; the creator's cannot change."""
        with self._changing(organization_id, **act) as connection:
            which, before = _granted(connection, organization_id, project_id, user_id)
            connection.execute(sql.update(_grants).where(*which).values(role=role))
            return before

    def remove(self, organization_id: str, project_id: str, user_id: str, **act: Unpack[Act]) -> ProjectRole:
        with self._changing(organization_id, **act) as connection:
            which, before = _granted(connection, organization_id, project_id, user_id)
            connection.execute(sql.delete(_grants).where(*which))
            return before


def _require_project(connection: sql.Connection, organization_id: str, project_id: str) -> str:
    which = equal_to(_projects, organization_id=organization_id, project_id=project_id)
    creator: str | None = connection.execute(sql.select(_projects.c.creator_id).where(*which)).scalar()
    if creator is None:
        raise NotFound(f"There is no project {project_id}.")
    return creator


def _granted(
    connection: sql.Connection, organization_id: str, project_id: str, user_id: str
) -> tuple[list[sql.ColumnElement[bool]], ProjectRole]:
    if _require_project(connection, organization_id, project_id) == user_id:
        raise InvalidRequest(
            "The role of a project's owner cannot be changed.", remediation="Change another member's role."
        )
    which = equal_to(_grants, organization_id=organization_id, project_id=project_id, user_id=user_id)
    found = sql.select(_grants.c.role).where(*which).with_for_update()
    role: ProjectRole | None = connection.execute(found).scalar()
    if role is None:
        raise NotFound("The user has no direct role in the project.")
    return which, role
