"""Teams: members of an organization who get project roles together."""

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

from sqlalchemy import Connection, delete, insert, select

from stores.errors import NotFound
from stores.ledger import schema
from stores.ledger.account_rows import USERS, check_slug
from stores.ledger.account_tables import team_members, team_projects, teams
from stores.ledger.audit import append_audit, detailed
from stores.ledger.columns import RecordTable, beside, equal_to
from stores.ledger.encoding import from_micros, to_micros
from stores.ledger.engine import upsert
from stores.ledger.organizations import OrganizationStore, require_member
from stores.ledger.permits import Act
from stores.ledger.store import clashing
from stores.records import Member, ProjectRole, Team

_teams = RecordTable(teams, Team, "created_at", "id")
_members = team_members
_projects = team_projects
_memberships = schema.memberships


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
        """Return the members of a team with organization roles, in order of joining."""
        statement = (
            select(*USERS.columns, _memberships.c.role, _members.c.created_at)
            .join(_members, _members.c.user_id == schema.users.c.id)
            .join(_memberships, beside(_memberships.c.user_id, _members.c.user_id))
            .where(*equal_to(_members, organization_id=organization_id, team_id=team_id))
            .order_by(_members.c.created_at, _members.c.user_id)
        )
        return [Member(USERS.read(row), row[-2], from_micros(row[-1])) for row in self._all(statement)]

    def add_member(self, organization_id: str, team_id: str, user_id: str, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            require_member(connection, organization_id, user_id)
            values = {"organization_id": organization_id, "team_id": team_id, "user_id": user_id}
            with clashing("The user is in the team already."):
                connection.execute(insert(_members), values | {"created_at": to_micros(self._clock())})

    def remove_member(self, organization_id: str, team_id: str, user_id: str, **act: Unpack[Act]) -> None:
        which = equal_to(_members, organization_id=organization_id, team_id=team_id, user_id=user_id)
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            if connection.execute(delete(_members).where(*which)).rowcount == 0:
                raise NotFound("The user is not in the team.")

    def projects(self, organization_id: str, team_id: str) -> dict[str, ProjectRole]:
        of_team = equal_to(_projects, organization_id=organization_id, team_id=team_id)
        statement = select(_projects.c.project_id, _projects.c.role).where(*of_team).order_by(_projects.c.project_id)
        return {row[0]: row[1] for row in self._all(statement)}

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
            insertion = upsert(connection.dialect.name, _projects)
            key = [_projects.c[name] for name in grant]
            statement = insertion.on_conflict_do_update(index_elements=key, set_={"role": insertion.excluded.role})
            with clashing("", f"There is no project {project_id}."):
                connection.execute(statement, grant | {"role": role, "created_at": to_micros(now)})
            append_audit(connection, now, detailed(audit, {"from": before}))
            return before

    def remove_project(self, organization_id: str, team_id: str, project_id: str, **act: Unpack[Act]) -> ProjectRole:
        """Remove a team's role in a project; return it."""
        grant = {"organization_id": organization_id, "team_id": team_id, "project_id": project_id}
        audit = act.pop("audit", None)
        with self._changing(organization_id, **act) as connection:
            before = _role_in(connection, grant)
            if before is None:
                raise NotFound("The team has no role in the project.")
            connection.execute(delete(_projects).where(*equal_to(_projects, **grant)))
            append_audit(connection, self._clock(), detailed(audit, {"from": before}))
            return before


def _there(connection: Connection, organization_id: str, team_id: str) -> Team:
    team = _teams.one(connection, organization_id=organization_id, id=team_id)
    if team is None:
        raise NotFound(f"There is no team {team_id}.")
    return team


def _role_in(connection: Connection, grant: dict[str, str]) -> ProjectRole | None:
    found = select(_projects.c.role).where(*equal_to(_projects, **grant))
    role: ProjectRole | None = connection.execute(found).scalar()
    return role
