"""Project roles: of members, and of teams of an organization. A project belongs to its creator."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import Unpack

import sqlalchemy as sql

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger import account_tables as tables
from stores.ledger.account_tables import MEMBERSHIPS, PROJECTS, USERS, check_slug, with_people
from stores.ledger.audit import append_audit, detailed
from stores.ledger.columns import RecordTable, Rows, among, beside, here, json_list
from stores.ledger.encoding import Values, from_micros, to_micros
from stores.ledger.identities import access_of, greater_role, identity_of
from stores.ledger.members import to_member
from stores.ledger.organizations import Act, OrganizationStore, Permit, require_member
from stores.ledger.store import TAKEN, clashing
from stores.records import Member, ProjectMember, ProjectRole, Role, Team

_teams = RecordTable(tables.teams, Team, "created_at", "id")
_team_members, _team_projects = Rows(tables.team_members), Rows(tables.team_projects)


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
        of_team = _team_members.where(organization_id=organization_id, team_id=team_id)
        joined = with_people(_team_members, MEMBERSHIPS.c.role).where(*of_team)
        members = joined.join(MEMBERSHIPS.table, beside(MEMBERSHIPS.c.user_id, _team_members.c.user_id))
        return [to_member(row) for row in self._all(members)]

    def add_member(self, organization_id: str, team_id: str, user_id: str, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            require_member(connection, organization_id, user_id)
            values = {"organization_id": organization_id, "team_id": team_id, "user_id": user_id}
            with clashing("The user is in the team already."):
                _team_members.put(connection, values | {"created_at": to_micros(self._clock())})

    def remove_member(self, organization_id: str, team_id: str, user_id: str, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            if not _team_members.remove(connection, organization_id=organization_id, team_id=team_id, user_id=user_id):
                raise NotFound("The user is not in the team.")

    def projects(self, organization_id: str, team_id: str) -> dict[str, ProjectRole]:
        of_team = _team_projects.where(organization_id=organization_id, team_id=team_id)
        statement = sql.select(_team_projects.c.project_id, _team_projects.c.role).where(*of_team)
        return {row[0]: row[1] for row in self._all(statement.order_by(_team_projects.c.project_id))}

    def put_project(
        self, organization_id: str, team_id: str, project_id: str, role: ProjectRole, **act: Unpack[Act]
    ) -> ProjectRole | None:
        """Set a team's role in a project; return the one before, also audited."""
        grant: Values = {"organization_id": organization_id, "team_id": team_id, "project_id": project_id}
        audit = act.pop("audit", None)
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            now = self._clock()
            before: ProjectRole | None = _team_projects.cell(connection, "role", **grant)
            if before is not None:
                _team_projects.change(connection, {"role": role}, **grant)
            else:
                with clashing("", f"There is no project {project_id}."):
                    _team_projects.put(connection, grant | {"role": role, "created_at": to_micros(now)})
            append_audit(connection, now, detailed(audit, {"from": before}))
            return before

    def remove_project(self, organization_id: str, team_id: str, project_id: str, **act: Unpack[Act]) -> ProjectRole:
        grant: Values = {"organization_id": organization_id, "team_id": team_id, "project_id": project_id}
        audit = act.pop("audit", None)
        with self._changing(organization_id, **act) as connection:
            before: ProjectRole | None = _team_projects.cell(connection, "role", **grant)
            if before is None:
                raise NotFound("The team has no role in the project.")
            _team_projects.remove(connection, **grant)
            append_audit(connection, self._clock(), detailed(audit, {"from": before}))
            return before


def _there(connection: sql.Connection, organization_id: str, team_id: str) -> Team:
    team = _teams.one(connection, organization_id=organization_id, id=team_id)
    if team is None:
        raise NotFound(f"There is no team {team_id}.")
    return team


_grants = Rows(tables.project_members)
_granted_to = sql.union_all(
    sql.select(_grants.c.user_id, _grants.c.project_id, _grants.c.role).where(
        here(_grants), among(_grants.c.user_id, "users"), among(_grants.c.project_id, "projects")
    ),
    sql.select(_team_members.c.user_id, _team_projects.c.project_id, _team_projects.c.role)
    .join(_team_projects.table, beside(_team_projects.c.team_id, _team_members.c.team_id))
    .where(
        here(_team_members), among(_team_members.c.user_id, "users"), among(_team_projects.c.project_id, "projects")
    ),
    sql.select(PROJECTS.c.creator_id, PROJECTS.c.project_id, sql.literal("project_owner")).where(
        here(PROJECTS), among(PROJECTS.c.creator_id, "users"), among(PROJECTS.c.project_id, "projects")
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
            with_people(MEMBERSHIPS, MEMBERSHIPS.c.role)
            .join(PROJECTS.table, beside(PROJECTS.c.creator_id, MEMBERSHIPS.c.user_id))
            .where(*PROJECTS.where(**place))
        )
        granted = with_people(_grants, _grants.c.role).where(*_grants.where(**place))
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
        values = {"organization": organization_id, "users": json_list(user_ids), "projects": json_list(project_ids)}
        for user_id, project_id, role in self._all(_granted_to, values):
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
                _grants.put(connection, row | {"created_at": to_micros(self._clock())})

    def set_role(
        self, organization_id: str, project_id: str, user_id: str, role: ProjectRole, **act: Unpack[Act]
    ) -> ProjectRole:
        """Change a role in a project and return the one before; the creator's cannot change."""
        with self._changing(organization_id, **act) as connection:
            grant, before = _granted(connection, organization_id, project_id, user_id)
            _grants.change(connection, {"role": role}, **grant)
            return before

    def remove(self, organization_id: str, project_id: str, user_id: str, **act: Unpack[Act]) -> ProjectRole:
        with self._changing(organization_id, **act) as connection:
            grant, before = _granted(connection, organization_id, project_id, user_id)
            _grants.remove(connection, **grant)
            return before


def _require_project(connection: sql.Connection, organization_id: str, project_id: str) -> str:
    place: Values = {"organization_id": organization_id, "project_id": project_id}
    creator: str | None = PROJECTS.cell(connection, "creator_id", **place)
    if creator is None:
        raise NotFound(f"There is no project {project_id}.")
    return creator


def _granted(
    connection: sql.Connection, organization_id: str, project_id: str, user_id: str
) -> tuple[Values, ProjectRole]:
    if _require_project(connection, organization_id, project_id) == user_id:
        raise InvalidRequest("The role of a project's owner cannot be changed.", remediation="Change another role.")
    grant: Values = {"organization_id": organization_id, "project_id": project_id, "user_id": user_id}
    role: ProjectRole | None = _grants.cell(connection, "role", lock=True, **grant)
    if role is None:
        raise NotFound("The user has no direct role in the project.")
    return grant, role
