"""Departures: deleting a user, with the personal organization and without what others share."""

from sqlalchemy import Connection, bindparam, delete, select

from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.accounts import lock_accounts, require_other_admin
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.encoding import to_micros
from stores.ledger.members import is_last_owner
from stores.ledger.organizations import Organizations, close_organization, lock_organization
from stores.records import Organization

_memberships = schema.memberships
_of_user = (
    select(_memberships.c.organization_id, _memberships.c.role)
    .where(_memberships.c.user_id == bindparam("user"))
    .order_by(_memberships.c.organization_id)
)
_oldest = (
    select(_memberships.c.user_id)
    .where(_memberships.c.organization_id == bindparam("organization"))
    .order_by(_memberships.c.created_at, _memberships.c.user_id)
    .limit(1)
)
_lock_user = select(schema.users.c.id).where(schema.users.c.id == bindparam("user")).with_for_update()


class Departures(Organizations):
    """Deletions of users."""

    def delete_user(self, user_id: str, audit: AuditDraft | None = None) -> list[str]:
        """Delete a user; return the ids of the organizations that went along: the user's personal one.

        Sessions, keys, links, grants and memberships end at once. What the user wrote elsewhere stays, under the
        same principal id.

        Raises:
            NotFound: There is no such user.
            Conflict: The user is the last owner of another organization, or the last admin of other users' server;
                or was made a member of one more organization at this moment.
        """
        with self._database.write() as connection:
            connection.execute(lock_accounts)
            owned = self._lock_memberships(connection, user_id)
            require_other_admin(connection, user_id)
            personal = [each.id for each in owned if each.is_personal and _is_of(connection, each, user_id)]
            _require_successors(connection, [each for each in owned if each.id not in personal])
            now = self._clock()
            for organization_id in personal:
                close_organization(connection, to_micros(now), organization_id)
            for table in (schema.sessions, _memberships):
                connection.execute(delete(table).where(table.c.user_id == user_id))
            connection.execute(delete(schema.users).where(schema.users.c.id == user_id))
            append_audit(connection, now, audit)
        self._erase(personal)
        return personal

    def _lock_memberships(self, connection: Connection, user_id: str) -> list[Organization]:
        """Lock a user and the user's organizations; return those of which the user is an owner."""
        user = {"user": user_id}
        seen = [row.organization_id for row in connection.execute(_of_user, user)]
        locked = {each: lock_organization(connection, each) for each in seen}
        if connection.execute(_lock_user, user).first() is None:
            raise NotFound(f"User {user_id} does not exist.")
        now_there = connection.execute(_of_user, user).all()
        if {row.organization_id for row in now_there} != locked.keys():
            raise Conflict("The user joined or left an organization at this moment.")
        return [locked[row.organization_id] for row in now_there if row.role == "owner"]


def _is_of(connection: Connection, organization: Organization, user_id: str) -> bool:
    """Tell whose personal organization it is: that of its first member, who may have made others its owners too."""
    return connection.execute(_oldest, {"organization": organization.id}).scalar() == user_id


def _require_successors(connection: Connection, owned: list[Organization]) -> None:
    alone = [each.name for each in owned if is_last_owner(connection, each.id)]
    if alone:
        raise Conflict(
            f"You are the last owner of {', '.join(alone)}.",
            remediation="Make another member an owner, or delete the organization first.",
        )
