"""Deletion of users and their personal organizations."""

from sqlalchemy import Connection, bindparam, delete, select

from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.accounts import lock_accounts, require_other_admin
from stores.ledger.audit import AuditDraft
from stores.ledger.columns import here
from stores.ledger.encoding import to_micros
from stores.ledger.members import is_home, is_last_owner
from stores.ledger.organizations import Organizations, close_organization, lock_organization
from stores.ledger.revoke_invitations import revoke_unvouched
from stores.ledger.spaces import end_memberships_in_spaces
from stores.records import Organization

_memberships = schema.memberships
_of_user = (
    select(_memberships.c.organization_id, _memberships.c.role)
    .where(_memberships.c.user_id == bindparam("user"))
    .order_by(_memberships.c.organization_id)
)
_other_member = (
    select(_memberships.c.user_id).where(here(_memberships), _memberships.c.user_id != bindparam("user")).limit(1)
)
_lock_user = select(schema.users.c.id).where(schema.users.c.id == bindparam("user")).with_for_update()


class Departures(Organizations):
    def delete_user(self, user_id: str, audit: AuditDraft | None = None) -> list[str]:
        """Delete a user and the organizations without another member; return their ids. Records elsewhere stay.

        Conflict if others are in the personal organization, or need the user as an owner or as the admin.
        """
        with self._audited(audit) as connection:
            connection.execute(lock_accounts)
            owned = self._lock_memberships(connection, user_id)
            require_other_admin(connection, user_id)
            alone = [each.id for each in owned if _is_alone(connection, each, user_id)]
            shared = [each for each in owned if each.id not in alone]
            _require_empty_home(connection, shared, user_id)
            _require_successors(connection, shared)
            now = to_micros(self._clock())
            for organization_id in alone:
                close_organization(connection, now, organization_id)
            connection.execute(delete(_memberships).where(_memberships.c.user_id == user_id))
            connection.execute(delete(schema.users).where(schema.users.c.id == user_id))
            end_memberships_in_spaces(connection, user_id)
            revoke_unvouched(connection, now, user_id)
        self._erase(alone)
        return alone

    def _lock_memberships(self, connection: Connection, user_id: str) -> list[Organization]:
        user = {"user": user_id}
        seen = [row.organization_id for row in connection.execute(_of_user, user)]
        locked = {each: lock_organization(connection, each) for each in seen}
        if connection.execute(_lock_user, user).first() is None:
            raise NotFound(f"User {user_id} does not exist.")
        now_there = connection.execute(_of_user, user).all()
        if {row.organization_id for row in now_there} != locked.keys():
            raise Conflict("The user joined or left an organization at this moment.")
        return [locked[row.organization_id] for row in now_there if row.role == "owner"]


def _is_alone(connection: Connection, organization: Organization, user_id: str) -> bool:
    values = {"organization": organization.id, "user": user_id}
    return connection.execute(_other_member, values).first() is None


def _require_empty_home(connection: Connection, shared: list[Organization], user_id: str) -> None:
    for each in shared:
        if is_home(connection, each, user_id):
            raise Conflict(
                f"Your personal organization {each.name} has other members, and would go with your account.",
                remediation="Remove its other members first: DELETE /api/orgs/{slug}/members/{user_id}.",
            )


def _require_successors(connection: Connection, owned: list[Organization]) -> None:
    alone = [each.name for each in owned if is_last_owner(connection, each.id)]
    if alone:
        raise Conflict(
            f"You are the last owner of {', '.join(alone)}.",
            remediation="Make another member an owner, remove the other members, or delete the organization first.",
        )
