"""Teams: members of an organization who get project roles together."""

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from stores.errors import NotFound
from stores.ledger import schema
from stores.ledger.account_rows import USER_COLUMNS, check_slug, to_user
from stores.ledger.account_tables import team_members, team_projects, teams
from stores.ledger.audit import append_audit, detailed
from stores.ledger.columns import beside, columns_of, here, reader, to_values
from stores.ledger.encoding import check_id, check_text, from_micros, to_micros
from stores.ledger.engine import upsert
from stores.ledger.organizations import OrganizationStore, require_member
from stores.ledger.permits import Act
from stores.ledger.rows import Values
from stores.ledger.store import clashing
from stores.records import Member, ProjectRole, Team

_teams = teams
_members = team_members
_projects = team_projects
_memberships = schema.memberships
_columns = columns_of(_teams, Team)
_to_team = reader(Team)
_of_organization = select(*_columns).where(here(_teams, "of_organization")).order_by(_teams.c.created_at, _teams.c.id)
_one = (here(_teams, "of_organization"), _teams.c.id == bindparam("of_team"))
_team = select(*_columns).where(*_one)
_members_of = (
    select(*USER_COLUMNS, _memberships.c.role, _members.c.created_at)
    .join(_members, _members.c.user_id == schema.users.c.id)
    .join(_memberships, beside(_memberships.c.user_id, _members.c.user_id))
    .where(here(_members, "of_organization"), _members.c.team_id == bindparam("of_team"))
    .order_by(_members.c.created_at, _members.c.user_id)
)
_of_team = (here(_projects, "of_organization"), _projects.c.team_id == bindparam("of_team"))
_projects_of = select(_projects.c.project_id, _projects.c.role).where(*_of_team).order_by(_projects.c.project_id)
_grant = (*_of_team, _projects.c.project_id == bindparam("of_project"))


class Teams(OrganizationStore):
    """Changes take a permit, checked first. A team's memories outlive it."""

    def create(self, team: Team, **act: Unpack[Act]) -> None:
        check_id(team.id)
        check_slug(team.slug)
        check_text((team.name, team.description))
        with self._changing(team.organization_id, **act) as connection, clashing(f"A team {team.slug} exists already."):
            connection.execute(insert(_teams), to_values(team))

    def of_organization(self, organization_id: str) -> list[Team]:
        return [_to_team(row) for row in self._all(_of_organization, {"of_organization": organization_id})]

    def team(self, organization_id: str, team_id: str) -> Team | None:
        return self._one(_team, _values(organization_id, team_id), _to_team)

    def edit(self, organization_id: str, team_id: str, edit: Callable[[Team], Team], **act: Unpack[Act]) -> Team:
        with self._changing(organization_id, **act) as connection:
            before = _there(connection, organization_id, team_id)
            after = replace(
                edit(before), organization_id=before.organization_id, id=before.id, created_at=before.created_at
            )
            check_slug(after.slug)
            check_text((after.name, after.description))
            changes = {"name": after.name, "slug": after.slug, "description": after.description}
            with clashing(f"A team {after.slug} exists already."):
                connection.execute(update(_teams).where(*_one).values(changes), _values(organization_id, team_id))
            return after

    def delete(self, organization_id: str, team_id: str, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            connection.execute(delete(_teams).where(*_one), _values(organization_id, team_id))

    def members(self, organization_id: str, team_id: str) -> list[Member]:
        """Return the members of a team with organization roles, in order of joining."""
        rows = self._all(_members_of, _values(organization_id, team_id))
        return [Member(to_user(row), row[-2], from_micros(row[-1])) for row in rows]

    def add_member(self, organization_id: str, team_id: str, user_id: str, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            require_member(connection, organization_id, user_id)
            values = {"organization_id": organization_id, "team_id": team_id, "user_id": user_id}
            with clashing("The user is in the team already."):
                connection.execute(insert(_members), values | {"created_at": to_micros(self._clock())})

    def remove_member(self, organization_id: str, team_id: str, user_id: str, **act: Unpack[Act]) -> None:
        statement = delete(_members).where(
            _members.c.organization_id == organization_id, _members.c.team_id == team_id, _members.c.user_id == user_id
        )
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            if connection.execute(statement).rowcount == 0:
                raise NotFound("The user is not in the team.")

    def projects(self, organization_id: str, team_id: str) -> dict[str, ProjectRole]:
        return {row[0]: row[1] for row in self._all(_projects_of, _values(organization_id, team_id))}

    def put_project(
        self, organization_id: str, team_id: str, project_id: str, role: ProjectRole, **act: Unpack[Act]
    ) -> ProjectRole | None:
        """Set a team's role in a project; return the one before, also audited."""
        values = {"organization_id": organization_id, "team_id": team_id, "project_id": project_id, "role": role}
        audit = act.pop("audit", None)
        with self._changing(organization_id, **act) as connection:
            _there(connection, organization_id, team_id)
            now = self._clock()
            before = _role_in(connection, organization_id, team_id, project_id)
            insertion = upsert(connection.dialect.name, _projects)
            key = [_projects.c.organization_id, _projects.c.team_id, _projects.c.project_id]
            statement = insertion.on_conflict_do_update(index_elements=key, set_={"role": insertion.excluded.role})
            with clashing("", f"There is no project {project_id}."):
                connection.execute(statement, values | {"created_at": to_micros(now)})
            append_audit(connection, now, detailed(audit, {"from": before}))
            return before

    def remove_project(self, organization_id: str, team_id: str, project_id: str, **act: Unpack[Act]) -> ProjectRole:
        """Remove a team's role in a project; return it."""
        audit = act.pop("audit", None)
        with self._changing(organization_id, **act) as connection:
            before = _role_in(connection, organization_id, team_id, project_id)
            if before is None:
                raise NotFound("The team has no role in the project.")
            connection.execute(
                delete(_projects).where(*_grant), _values(organization_id, team_id) | {"of_project": project_id}
            )
            append_audit(connection, self._clock(), detailed(audit, {"from": before}))
            return before


def _there(connection: Connection, organization_id: str, team_id: str) -> Team:
    row = connection.execute(_team, _values(organization_id, team_id)).first()
    if row is None:
        raise NotFound(f"There is no team {team_id}.")
    return _to_team(row)


def _role_in(connection: Connection, organization_id: str, team_id: str, project_id: str) -> ProjectRole | None:
    values = _values(organization_id, team_id) | {"of_project": project_id}
    role: ProjectRole | None = connection.execute(select(_projects.c.role).where(*_grant), values).scalar()
    return role


def _values(organization_id: str, team_id: str) -> Values:
    return {"of_organization": organization_id, "of_team": team_id}
