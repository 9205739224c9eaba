"""User accounts, profiles and passwords."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.account_rows import USER_COLUMNS, organization_values, to_user, user_values
from stores.ledger.account_tables import password_resets
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.columns import among
from stores.ledger.encoding import address_key, dump_json, load_object, to_micros
from stores.ledger.external_identities import insert_link
from stores.ledger.sessions import replace_password
from stores.ledger.store import Store, clashing
from stores.records import ExternalIdentity, JsonObject, Organization, User

_users = schema.users

# Locked to create or delete an account: two first users must not both see an empty ledger.
lock_accounts = select(schema.meta.c.value).where(schema.meta.c.name == "epoch").with_for_update()
_some_user = select(_users.c.id).limit(1)
_by_email = select(*USER_COLUMNS).where(_users.c.email_key == bindparam("email"))
_by_id = select(*USER_COLUMNS).where(_users.c.id == bindparam("user"))
_lock_user = _by_id.with_for_update()
_first_admin = select(*USER_COLUMNS).where(_users.c.is_admin).order_by(_users.c.created_at, _users.c.id).limit(1)
_other_admin = select(_users.c.id).where(_users.c.is_admin, _users.c.id != bindparam("user")).limit(1)
_other_user = select(_users.c.id).where(_users.c.id != bindparam("user")).limit(1)
_names = select(_users.c.id, _users.c.name).where(among(_users.c.id, "users"))
_preferences = select(_users.c.preferences).where(_users.c.id == bindparam("user"))

EMAIL_TAKEN = "Email is already in use"


class Accounts(Store):
    def create_account(
        self,
        user: User,
        organization: Organization,
        link: ExternalIdentity | None = None,
        audit: AuditDraft | None = None,
    ) -> User:
        """Store a user as the owner of a new organization; the first one becomes admin. Conflict if a name is taken."""
        with self._database.write() as connection:
            connection.execute(lock_accounts)
            if connection.execute(_by_email, {"email": address_key(user.email)}).first() is not None:
                raise _email_taken()
            is_first = connection.execute(_some_user).first() is None
            values = user_values(user) | {"is_admin": user.is_admin or is_first}
            now = self._clock()
            owner = {"user_id": user.id, "organization_id": organization.id, "role": "owner"}
            try:
                connection.execute(insert(_users), values)
                connection.execute(insert(schema.organizations), organization_values(organization))
                connection.execute(insert(schema.memberships), owner | {"created_at": to_micros(now)})
            except IntegrityError as error:
                raise Conflict("An account or organization of that id or slug exists already.") from error
            if link is not None:
                insert_link(connection, link)
            append_audit(connection, now, audit)
            return to_user(connection.execute(_by_id, {"user": user.id}).one())

    def user(self, user_id: str) -> User | None:
        return self._one(_by_id, {"user": user_id}, to_user)

    def names(self, user_ids: Iterable[str]) -> dict[str, str]:
        """Return the names of existing users, by id."""
        rows = self._all(_names, {"users": sorted(set(user_ids))})
        return {row.id: row.name for row in rows}

    def user_by_email(self, email: str) -> User | None:
        return self._one(_by_email, {"email": address_key(email)}, to_user)

    def first_admin(self) -> User | None:
        """Return the server's first admin."""
        return self._one(_first_admin, {}, to_user)

    def edit_user(self, user_id: str, edit: Callable[[User], User], audit: AuditDraft | None = None) -> User:
        """Edit a user's profile, but neither id, password, admin right nor creation time; Conflict for a taken address.

        A new address counts as unverified unless `edit` sets the time, and ends mailed password resets.
        """
        with self._database.write() as connection:
            before = _locked_user(connection, user_id)
            after = _edited(before, edit(before))
            if address_key(after.email) != address_key(before.email):
                if connection.execute(_by_email, {"email": address_key(after.email)}).first() is not None:
                    raise _email_taken()
                connection.execute(delete(password_resets).where(password_resets.c.user_id == user_id))
            with clashing("The e-mail or the code-host account belongs to another user."):
                connection.execute(update(_users).where(_users.c.id == user_id).values(user_values(after)))
            append_audit(connection, self._clock(), audit)
            return after

    def set_password_hash(self, user_id: str, password_hash: str | None, audit: AuditDraft | None = None) -> int:
        """Replace a password; end sessions, grants and resets, but no API keys; return how many sessions."""
        with self._database.write() as connection:
            _locked_user(connection, user_id)
            now = self._clock()
            ended = replace_password(connection, to_micros(now), user_id, password_hash)
            append_audit(connection, now, audit)
            return ended

    def preferences(self, user_id: str) -> JsonObject:
        row = self._first(_preferences, {"user": user_id})
        return load_object((row and row[0]) or "{}")

    def edit_preferences(self, user_id: str, changes: JsonObject) -> JsonObject:
        """Merge top-level keys into a user's preferences; return all."""
        with self._database.write() as connection:
            row = connection.execute(_preferences.with_for_update(), {"user": user_id}).first()
            if row is None:
                raise _no_user(user_id)
            merged = load_object(row[0] or "{}") | changes
            connection.execute(update(_users).where(_users.c.id == user_id).values(preferences=dump_json(merged)))
            return merged


def require_other_admin(connection: Connection, user_id: str) -> None:
    """Raise Conflict if the user is the only admin among others; the accounts are locked."""
    user = {"user": user_id}
    if connection.execute(_other_user, user).first() and not connection.execute(_other_admin, user).first():
        raise Conflict(
            "This is the last admin of the server, which needs one.", remediation="Make another user an admin first."
        )


def _locked_user(connection: Connection, user_id: str) -> User:
    row = connection.execute(_lock_user, {"user": user_id}).first()
    if row is None:
        raise _no_user(user_id)
    return to_user(row)


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


def _no_user(user_id: str) -> NotFound:
    return NotFound(f"User {user_id} does not exist.")


def _email_taken() -> Conflict:
    return Conflict(
        EMAIL_TAKEN, remediation="Log in, or sign up with another address.", details={"field": "body.email"}
    )
