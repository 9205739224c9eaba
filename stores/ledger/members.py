"""Memberships and roles. Only a sign-in provider can remove the last owner."""

from datetime import datetime
from typing import Unpack

from sqlalchemy import ColumnElement, Connection, delete, select, update

from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.account_rows import USER_WIDTH, USERS
from stores.ledger.account_tables import api_keys
from stores.ledger.audit import AuditDraft, append_audit, detailed
from stores.ledger.columns import equal_to
from stores.ledger.encoding import from_micros, to_micros
from stores.ledger.organizations import OrganizationStore, insert_membership, lock_organization
from stores.ledger.permits import Act, revoke_invitations_to, revoke_unvouched, role_in
from stores.ledger.sessions import end_sign_ins, revoke_owned
from stores.ledger.spaces import end_memberships_in_spaces
from stores.ledger.store import Cells
from stores.records import Member, Organization, Role

_memberships = schema.memberships
_projects = schema.project_access
_members = (
    select(*USERS.columns, _memberships.c.role, _memberships.c.created_at)
    .join(_memberships, _memberships.c.user_id == schema.users.c.id)
    .order_by(_memberships.c.created_at, _memberships.c.user_id)
)


class Members(OrganizationStore):
    def members(self, organization_id: str) -> list[Member]:
        statement = _members.where(_memberships.c.organization_id == organization_id)
        return [_to_member(row) for row in self._all(statement)]

    def member(self, organization_id: str, user_id: str) -> Member | None:
        return self._one(_members.where(*_membership(organization_id, user_id)), {}, _to_member)

    def add_membership(self, user_id: str, organization_id: str, role: Role, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            insert_membership(connection, to_micros(self._clock()), user_id, organization_id, role)

    def set_member_role(self, organization_id: str, user_id: str, role: Role, **act: Unpack[Act]) -> Role:
        """Change a role and return the one before, also audited. Conflict for the last owner and at home."""
        with self._database.write() as connection:
            now = self._clock()
            organization, before = _locked(connection, now, organization_id, user_id, act)
            if before == "owner" and role != "owner":
                _require_dispensable(connection, organization, user_id)
            _update_role(connection, to_micros(now), organization_id, user_id, role)
            append_audit(connection, now, detailed(act.get("audit"), {"from": before}))
            return before

    def put_member(
        self, user_id: str, organization_id: str, role: Role, audit: AuditDraft | None = None
    ) -> Role | None:
        """Set the role claimed by the sign-in provider, even for the last owner; return the one before."""
        with self._database.write() as connection:
            lock_organization(connection, organization_id)
            now = self._clock()
            before = role_in(connection, organization_id, user_id)
            if before == role:
                return before
            if before is None:
                insert_membership(connection, to_micros(now), user_id, organization_id, role)
            else:
                _update_role(connection, to_micros(now), organization_id, user_id, role)
            append_audit(connection, now, audit)
            return before

    def remove_member(self, organization_id: str, user_id: str, **act: Unpack[Act]) -> Role:
        """End a membership and return its role. Conflict for the last owner and at home."""
        with self._database.write() as connection:
            now = self._clock()
            organization, before = _locked(connection, now, organization_id, user_id, act)
            if before == "owner":
                _require_dispensable(connection, organization, user_id)
            end_membership(connection, to_micros(now), organization_id, user_id)
            append_audit(connection, now, detailed(act.get("audit"), {"from": before}))
            return before

    def drop_member(self, user_id: str, organization_id: str, audit: AuditDraft | None = None) -> Role | None:
        """End a membership that the sign-in provider no longer claims, even of the last owner, but never at home."""
        with self._database.write() as connection:
            organization = lock_organization(connection, organization_id)
            before = role_in(connection, organization_id, user_id)
            if before is None or is_home(connection, organization, user_id):
                return None
            now = self._clock()
            end_membership(connection, to_micros(now), organization_id, user_id)
            append_audit(connection, now, detailed(audit, {"from": before}))
            return before


def end_membership(connection: Connection, now: int, organization_id: str, user_id: str) -> None:
    """End a membership of a locked organization with the roles, credentials and invitations that depend on it."""
    connection.execute(delete(_memberships).where(*_membership(organization_id, user_id)))
    created = (_projects.c.organization_id == organization_id, _projects.c.creator_id == user_id)
    connection.execute(update(_projects).where(*created).values(creator_id=""))
    end_memberships_in_spaces(connection, user_id, organization_id)
    revoke_invitations_to(connection, now, organization_id, user_id)
    revoke_unvouched(connection, now, user_id)
    end_sign_ins(connection, now, user_id, organization_id=organization_id)
    revoke_owned(connection, api_keys, now, user_id, organization_id)


def is_last_owner(connection: Connection, organization_id: str) -> bool:
    owners = equal_to(_memberships, organization_id=organization_id, role="owner")
    return len(connection.execute(select(_memberships.c.user_id).where(*owners).limit(2)).all()) < 2


def is_home(connection: Connection, organization: Organization, user_id: str) -> bool:
    """Tell whether a locked organization is the user's personal one."""
    oldest = (
        select(_memberships.c.user_id)
        .where(_memberships.c.organization_id == organization.id)
        .order_by(_memberships.c.created_at, _memberships.c.user_id)
        .limit(1)
    )
    return organization.is_personal and connection.execute(oldest).scalar() == user_id


def _require_dispensable(connection: Connection, organization: Organization, user_id: str) -> None:
    if is_home(connection, organization, user_id):
        # It is where the user signs in when every other organization has gone.
        raise Conflict(
            "The owner of a personal organization cannot be changed.",
            remediation="Make another organization to share; this one lasts as long as its user's account.",
        )
    if is_last_owner(connection, organization.id):
        raise Conflict(
            "This is the last owner of the organization, which needs one.",
            remediation="Make another member an owner first, or delete the organization.",
        )


def _locked(
    connection: Connection, now: datetime, organization_id: str, user_id: str, act: Act
) -> tuple[Organization, Role]:
    organization = lock_organization(connection, organization_id)
    role = role_in(connection, organization_id, user_id)
    if role is None:
        raise NotFound("There is no such member.")
    if (permit := act.get("permit")) is not None:
        permit.ask(connection, organization_id, now, role)
    return organization, role


def _update_role(connection: Connection, now: int, organization_id: str, user_id: str, role: Role) -> None:
    connection.execute(update(_memberships).where(*_membership(organization_id, user_id)).values(role=role))
    revoke_unvouched(connection, now, user_id)


def _membership(organization_id: str, user_id: str) -> list[ColumnElement[bool]]:
    return equal_to(_memberships, organization_id=organization_id, user_id=user_id)


def _to_member(row: Cells) -> Member:
    return Member(USERS.read(row), row[USER_WIDTH], from_micros(row[USER_WIDTH + 1]))
