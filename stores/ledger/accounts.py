"""User accounts: profiles, passwords, and deletion with the personal organization."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, insert, select
from sqlalchemy.exc import IntegrityError

from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.account_tables import NO_FEED, ORGANIZATIONS, USERS, password_resets, user_values
from stores.ledger.audit import AuditDraft
from stores.ledger.encoding import address_key, dump_json, load_object, to_micros
from stores.ledger.external_identities import insert_link
from stores.ledger.members import is_home, is_last
from stores.ledger.organizations import Organizations, close_organization, lock_organization
from stores.ledger.permits import revoke_unvouched
from stores.ledger.sessions import replace_password
from stores.ledger.spaces import end_memberships_in_spaces
from stores.ledger.store import clashing
from stores.records import ExternalIdentity, JsonObject, Organization, User

_users = schema.users

# Locked to create or delete an account: two first users must not both see an empty ledger.
lock_accounts = select(schema.meta.c.value).where(schema.meta.c.name == "epoch").with_for_update()
_some_user = select(_users.c.id).limit(1)
_other_admin = select(_users.c.id).where(_users.c.is_admin, _users.c.id != bindparam("user")).limit(1)
_other_user = select(_users.c.id).where(_users.c.id != bindparam("user")).limit(1)

EMAIL_TAKEN = "Email is already in use"


class Accounts(Organizations):
    def create_account(
        self,
        user: User,
        organization: Organization,
        link: ExternalIdentity | None = None,
        audit: AuditDraft | None = None,
    ) -> User:
        """Store a user as the owner of a new organization; the first one becomes admin. Conflict if a name is taken."""
        with self._audited(audit) as connection:
            connection.execute(lock_accounts)
            _require_free(connection, user.email)
            is_first = connection.execute(_some_user).first() is None
            values = user_values(user) | {"is_admin": user.is_admin or is_first}
            owner = {"user_id": user.id, "organization_id": organization.id, "role": "owner"}
            try:
                connection.execute(insert(_users), values)
                ORGANIZATIONS.insert(connection, organization, **NO_FEED)
                connection.execute(insert(schema.memberships), owner | {"created_at": to_micros(self._clock())})
            except IntegrityError as error:
                raise Conflict("An account or organization of that id or slug exists already.") from error
            if link is not None:
                insert_link(connection, link)
            return locked_user(connection, user.id)

    def user(self, user_id: str) -> User | None:
        return self._find(USERS, id=user_id)

    def names(self, user_ids: Iterable[str]) -> dict[str, str]:
        rows = self._all(select(_users.c.id, _users.c.name).where(_users.c.id.in_(sorted(set(user_ids)))))
        return {row.id: row.name for row in rows}

    def user_by_email(self, email: str) -> User | None:
        return self._find(USERS, email_key=address_key(email))

    def first_admin(self) -> User | None:
        return self._find(USERS, is_admin=True)

    def edit_user(self, user_id: str, edit: Callable[[User], User], audit: AuditDraft | None = None) -> User:
        """Edit a user's profile, but neither id, password, admin right nor creation time; Conflict for a taken address.

        A new address counts as unverified unless `edit` sets the time, and ends mailed password resets.
        """
        with self._audited(audit) as connection:
            before = locked_user(connection, user_id)
            after = _edited(before, edit(before))
            if address_key(after.email) != address_key(before.email):
                _require_free(connection, after.email)
                connection.execute(delete(password_resets).where(password_resets.c.user_id == user_id))
            with clashing("The e-mail or the code-host account belongs to another user."):
                USERS.change(connection, user_values(after), id=user_id)
            return after

    def set_password_hash(self, user_id: str, password_hash: str | None, audit: AuditDraft | None = None) -> int:
        """Replace a password; end sessions, grants and resets, but no API keys; return how many sessions."""
        with self._audited(audit) as connection:
            locked_user(connection, user_id)
            return replace_password(connection, to_micros(self._clock()), user_id, password_hash)

    def preferences(self, user_id: str) -> JsonObject:
        row = self._first(select(_users.c.preferences).where(_users.c.id == user_id))
        return load_object((row and row[0]) or "{}")

    def edit_preferences(self, user_id: str, changes: JsonObject) -> JsonObject:
        """Merge top-level keys into a user's preferences; return all."""
        with self._database.write() as connection:
            locked_user(connection, user_id)
            before = connection.execute(select(_users.c.preferences).where(_users.c.id == user_id)).scalar()
            merged = load_object(before or "{}") | changes
            USERS.change(connection, {"preferences": dump_json(merged)}, id=user_id)
            return merged

    def delete_user(self, user_id: str, audit: AuditDraft | None = None) -> list[str]:
        """Delete a user and the organizations without another member; return their ids. Records elsewhere stay.

        Conflict if others are in the personal organization, or need the user as an owner or as the admin.
        """
        with self._audited(audit) as connection:
            connection.execute(lock_accounts)
            owned = self._lock_memberships(connection, user_id)
            require_other_admin(connection, user_id)
            alone = [each.id for each in owned if is_last(connection, each.id)]
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
        locked_user(connection, user_id)
        now_there = connection.execute(_of_user, user).all()
        if {row.organization_id for row in now_there} != locked.keys():
            raise Conflict("The user joined or left an organization at this moment.")
        return [locked[row.organization_id] for row in now_there if row.role == "owner"]


def require_other_admin(connection: Connection, user_id: str) -> None:
    """Raise Conflict if the user is the only admin among others; the accounts are locked."""
    user = {"user": user_id}
    if connection.execute(_other_user, user).first() and not connection.execute(_other_admin, user).first():
        raise Conflict(
            "This is the last admin of the server, which needs one.", remediation="Make another user an admin first."
        )


def locked_user(connection: Connection, user_id: str) -> User:
    user = USERS.one(connection, lock=True, id=user_id)
    if user is None:
        raise NotFound(f"User {user_id} does not exist.")
    return user


def _edited(before: User, after: User) -> User:
    moved = address_key(after.email) != address_key(before.email)
    verified_at = after.email_verified_at
    return replace(
        after,
        id=before.id,
        password_hash=before.password_hash,
        is_admin=before.is_admin,
        created_at=before.created_at,
        email_verified_at=None if moved and verified_at == before.email_verified_at else verified_at,
    )


def _require_free(connection: Connection, email: str) -> None:
    if USERS.one(connection, email_key=address_key(email)) is not None:
        raise Conflict(
            EMAIL_TAKEN, remediation="Log in, or sign up with another address.", details={"field": "body.email"}
        )


_memberships = schema.memberships
_of_user = (
    select(_memberships.c.organization_id, _memberships.c.role)
    .where(_memberships.c.user_id == bindparam("user"))
    .order_by(_memberships.c.organization_id)
)


def _require_empty_home(connection: Connection, shared: list[Organization], user_id: str) -> None:
    for each in shared:
        if is_home(connection, each, user_id):
            raise Conflict(
                f"Your personal organization {each.name} has other members, and would go with your account.",
                remediation="Remove its other members first: DELETE /api/orgs/{slug}/members/{user_id}.",
            )


def _require_successors(connection: Connection, owned: list[Organization]) -> None:
    alone = [each.name for each in owned if is_last(connection, each.id, role="owner")]
    if alone:
        raise Conflict(
            f"You are the last owner of {', '.join(alone)}.",
            remediation="Make another member an owner, remove the other members, or delete the organization first.",
        )
