"""Project members: roles in one project. A project belongs to its creator."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Unpack

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    bindparam,
    delete,
    insert,
    literal,
    select,
    union_all,
    update,
)

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger import schema
from stores.ledger.account_rows import USERS
from stores.ledger.account_tables import project_members, team_members, team_projects
from stores.ledger.columns import beside, equal_to, here
from stores.ledger.encoding import from_micros, to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.identities import access_of, greater_role, identity_of
from stores.ledger.organizations import OrganizationStore, require_member
from stores.ledger.permits import Act
from stores.ledger.store import TAKEN, clashing
from stores.records import Access, Identity, ProjectMember, ProjectRole, Role

_grants = project_members
_memberships = schema.memberships
_projects = schema.project_access
_of_users: BindParameter[str] = bindparam("of_users", expanding=True)
_of_projects: BindParameter[str] = bindparam("of_projects", expanding=True)
_granted_to = union_all(
    select(_grants.c.user_id, _grants.c.project_id, _grants.c.role).where(
        here(_grants, "of_organization"), _grants.c.user_id.in_(_of_users), _grants.c.project_id.in_(_of_projects)
    ),
    select(team_members.c.user_id, team_projects.c.project_id, team_projects.c.role)
    .join(team_projects, beside(team_projects.c.team_id, team_members.c.team_id))
    .where(
        here(team_members, "of_organization"),
        team_members.c.user_id.in_(_of_users),
        team_projects.c.project_id.in_(_of_projects),
    ),
    select(_projects.c.creator_id, _projects.c.project_id, literal("project_owner")).where(
        here(_projects, "of_organization"),
        _projects.c.creator_id.in_(_of_users),
        _projects.c.project_id.in_(_of_projects),
    ),
)


@dataclass(frozen=True, slots=True)
class ProjectPermit:
    actor_id: str
    check: Callable[[Identity | None, Access], None]
    """Called with the actor's present identity and access; raises to refuse."""

    def ask(self, connection: Connection, organization_id: str, now: datetime, _before: Role | None = None) -> None:
        identity = identity_of(connection, self.actor_id, organization_id)
        self.check(identity, access_of(connection, self.actor_id, organization_id, now))


class ProjectMembers(OrganizationStore):
    """Changes take a permit, checked first in the transaction."""

    def of_project(self, organization_id: str, project_id: str) -> list[ProjectMember]:
        """Return a project's creator, if still a member, then the granted members."""
        place = {"organization_id": organization_id, "project_id": project_id}
        owns = (
            select(*USERS.columns)
            .join(_memberships, _memberships.c.user_id == schema.users.c.id)
            .join(_projects, beside(_projects.c.creator_id, _memberships.c.user_id))
            .where(*equal_to(_projects, **place))
        )
        granted = (
            select(*USERS.columns, _grants.c.role, _grants.c.created_at)
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
                connection.execute(insert(_grants), row | {"created_at": to_micros(self._clock())})

    def set_role(
        self, organization_id: str, project_id: str, user_id: str, role: ProjectRole, **act: Unpack[Act]
    ) -> ProjectRole:
        """Change a role in a project and return the one before; the creator's cannot change."""
        with self._changing(organization_id, **act) as connection:
            which, before = _granted(connection, organization_id, project_id, user_id)
            connection.execute(update(_grants).where(*which).values(role=role))
            return before

    def remove(self, organization_id: str, project_id: str, user_id: str, **act: Unpack[Act]) -> ProjectRole:
        """Remove a role in a project and return it."""
        with self._changing(organization_id, **act) as connection:
            which, before = _granted(connection, organization_id, project_id, user_id)
            connection.execute(delete(_grants).where(*which))
            return before


def _require_project(connection: Connection, organization_id: str, project_id: str) -> str:
    which = equal_to(_projects, organization_id=organization_id, project_id=project_id)
    creator: str | None = connection.execute(select(_projects.c.creator_id).where(*which)).scalar()
    if creator is None:
        raise NotFound(f"There is no project {project_id}.")
    return creator


def _granted(
    connection: Connection, organization_id: str, project_id: str, user_id: str
) -> tuple[list[ColumnElement[bool]], ProjectRole]:
    if _require_project(connection, organization_id, project_id) == user_id:
        raise InvalidRequest(
            "The role of a project's owner cannot be changed.", remediation="Change another member's role."
        )
    which = equal_to(_grants, organization_id=organization_id, project_id=project_id, user_id=user_id)
    found = select(_grants.c.role).where(*which).with_for_update()
    role: ProjectRole | None = connection.execute(found).scalar()
    if role is None:
        raise NotFound("The user has no direct role in the project.")
    return which, role
