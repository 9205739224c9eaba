"""Accounts: users, organizations and who belongs to which. They write no feed rows."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.encoding import check_id, check_keys, check_text, fold, from_micros, to_micros
from stores.ledger.rows import Values
from stores.ledger.sessions import SESSION_COLUMNS, to_session
from stores.ledger.store import Store
from stores.records import Identity, Organization, ProjectAccess, Role, User

_users = schema.users
_organizations = schema.organizations
_memberships = schema.memberships
_sessions = schema.sessions

_USER_COLUMNS = [
    _users.c[name]
    for name in ("id", "email", "name", "password_hash", "is_admin", "avatar_url", "codehost_id", "created_at")
]
_ORGANIZATION_COLUMNS = [_organizations.c[name] for name in ("id", "name", "slug", "is_personal", "created_at")]

# Locked by whoever creates an account: two first users must not both find the ledger empty.
_lock_accounts = select(schema.meta.c.value).where(schema.meta.c.name == "epoch").with_for_update()
_some_user = select(_users.c.id).limit(1)
_by_email = select(*_USER_COLUMNS).where(_users.c.email_key == bindparam("email"))
_by_codehost = select(*_USER_COLUMNS).where(_users.c.codehost_id == bindparam("codehost"))
_by_id = select(*_USER_COLUMNS).where(_users.c.id == bindparam("user"))
_identity = (
    select(*_USER_COLUMNS, *_ORGANIZATION_COLUMNS, _memberships.c.role)
    .join(_memberships, _memberships.c.user_id == _users.c.id)
    .join(_organizations, _organizations.c.id == _memberships.c.organization_id)
    .where(_users.c.id == bindparam("user"), _organizations.c.id == bindparam("organization"))
)
_identity_in_session = (
    _identity.add_columns(*SESSION_COLUMNS)
    .join(_sessions, _sessions.c.user_id == _users.c.id)
    .where(
        _sessions.c.id == bindparam("session"),
        _sessions.c.revoked_at.is_(None),
        _sessions.c.expires_at > bindparam("now"),
    )
)
_memberships_of = (
    select(*_ORGANIZATION_COLUMNS, _memberships.c.role)
    .join(_memberships, _memberships.c.organization_id == _organizations.c.id)
    .where(_memberships.c.user_id == bindparam("user"))
    .order_by(_organizations.c.is_personal.desc(), _memberships.c.created_at, _organizations.c.id)
)
_all_organizations = select(*_ORGANIZATION_COLUMNS).order_by(_organizations.c.id)
_organization = select(*_ORGANIZATION_COLUMNS).where(_organizations.c.id == bindparam("organization"))
_access = select(
    schema.project_access.c.project_id, schema.project_access.c.visibility, schema.project_access.c.creator_id
).where(schema.project_access.c.organization_id == bindparam("organization"))
_first_admin = select(*_USER_COLUMNS).where(_users.c.is_admin).order_by(_users.c.created_at, _users.c.id).limit(1)
_user_count = select(func.count()).select_from(_users)


class Accounts(Store):
    """Users, organizations and memberships."""

    def create_account(self, user: User, organization: Organization) -> User:
        """Store a user as the owner of a new organization; the first user of the ledger becomes its admin.

        Returns the user as stored.

        Raises:
            Conflict: The e-mail is in use, in whatever case, or an id or the slug is taken.
        """
        with self._database.write() as connection:
            connection.execute(_lock_accounts)
            if connection.execute(_by_email, {"email": fold(user.email)}).first() is not None:
                raise Conflict("Email is already in use", remediation="Log in, or sign up with another address.")
            is_first = connection.execute(_some_user).first() is None
            values = _user_values(user) | {"is_admin": user.is_admin or is_first}
            try:
                connection.execute(insert(_users), values)
                connection.execute(insert(_organizations), _organization_values(organization))
            except IntegrityError as error:
                raise Conflict("An account or organization of that id or slug exists already.") from error
            self._insert_membership(connection, user.id, organization.id, "owner")
            return _to_user(connection.execute(_by_id, {"user": user.id}).one())

    def create_organization(self, organization: Organization, owner_id: str | None = None) -> None:
        """Store an organization, with its owner where one is named.

        Raises:
            Conflict: The id or the slug is taken.
        """
        with self._database.write() as connection:
            try:
                connection.execute(insert(_organizations), _organization_values(organization))
            except IntegrityError as error:
                raise Conflict(f"An organization {organization.slug} exists already.") from error
            if owner_id is not None:
                self._insert_membership(connection, owner_id, organization.id, "owner")

    def add_membership(self, user_id: str, organization_id: str, role: Role) -> None:
        """Make a user a member.

        Raises:
            NotFound: The user or the organization does not exist.
            Conflict: The user is a member already.
        """
        with self._database.write() as connection:
            known_user = connection.execute(_by_id, {"user": user_id}).first()
            known_organization = connection.execute(_organization, {"organization": organization_id}).first()
            if known_user is None or known_organization is None:
                raise NotFound("The user or the organization does not exist.")
            try:
                self._insert_membership(connection, user_id, organization_id, role)
            except IntegrityError as error:
                raise Conflict("The user is a member of the organization already.") from error

    def user(self, user_id: str) -> User | None:
        """Return a user."""
        row = self._first(_by_id, {"user": user_id})
        return None if row is None else _to_user(row)

    def user_by_email(self, email: str) -> User | None:
        """Return the user of an e-mail address, in whatever case it is written."""
        row = self._first(_by_email, {"email": fold(email)})
        return None if row is None else _to_user(row)

    def user_by_codehost(self, codehost_id: int) -> User | None:
        """Return the user that is linked to an account of the code host."""
        row = self._first(_by_codehost, {"codehost": codehost_id})
        return None if row is None else _to_user(row)

    def first_admin(self) -> User | None:
        """Return the server's first admin; None before the first sign-up."""
        row = self._first(_first_admin, {})
        return None if row is None else _to_user(row)

    def user_count(self) -> int:
        """Return how many users there are."""
        row = self._first(_user_count, {})
        return 0 if row is None else row[0]

    def set_password_hash(self, user_id: str, password_hash: str | None) -> None:
        """Replace a user's password; end the sessions apart, by `revoke_sessions`.

        Raises:
            NotFound: There is no such user.
        """
        statement = update(_users).where(_users.c.id == user_id).values(password_hash=password_hash)
        with self._database.write() as connection:
            if connection.execute(statement).rowcount == 0:
                raise NotFound(f"User {user_id} does not exist.")

    def identity(self, user_id: str, organization_id: str, session_id: str | None) -> Identity | None:
        """Return who a caller is, in one query.

        None when the user, the membership or the organization is gone, or the session is not the user's, was
        revoked or is over. Without a session id, none is asked for.
        """
        values: Values = {"user": user_id, "organization": organization_id}
        if session_id is None:
            row = self._first(_identity, values)
        else:
            now = to_micros(self._clock())
            row = self._first(_identity_in_session, values | {"session": session_id, "now": now})
        if row is None:
            return None
        session = None if session_id is None else to_session(row[14:])
        return Identity(_to_user(row[:8]), _to_organization(row[8:13]), row[13], session)

    def memberships(self, user_id: str) -> list[tuple[Organization, Role]]:
        """Return a user's organizations, the personal one first, then the oldest membership."""
        return [(_to_organization(row[:5]), row[5]) for row in self._all(_memberships_of, {"user": user_id})]

    def default_organization(self, user_id: str) -> Organization | None:
        """Return the organization that a user signs in to: the first of `memberships`."""
        row = self._first(_memberships_of, {"user": user_id})
        return None if row is None else _to_organization(row[:5])

    def organizations(self) -> list[Organization]:
        """Return every organization, ordered by id."""
        return [_to_organization(row) for row in self._all(_all_organizations, {})]

    def organization(self, organization_id: str) -> Organization | None:
        """Return an organization."""
        row = self._first(_organization, {"organization": organization_id})
        return None if row is None else _to_organization(row)

    def project_access(self, organization_id: str) -> list[ProjectAccess]:
        """Return who may read each project of an organization."""
        return [ProjectAccess(*row) for row in self._all(_access, {"organization": organization_id})]

    def _insert_membership(self, connection: Connection, user_id: str, organization_id: str, role: Role) -> None:
        connection.execute(
            insert(_memberships),
            {
                "user_id": user_id,
                "organization_id": organization_id,
                "role": role,
                "created_at": to_micros(self._clock()),
            },
        )


def _user_values(user: User) -> Values:
    check_id(user.id)
    check_keys((fold(user.email),))
    check_text((user.email, user.name, user.avatar_url))
    return {
        "id": user.id,
        "email": user.email,
        "email_key": fold(user.email),
        "name": user.name,
        "password_hash": user.password_hash,
        "is_admin": user.is_admin,
        "avatar_url": user.avatar_url,
        "codehost_id": user.codehost_id,
        "created_at": to_micros(user.created_at),
    }


def _organization_values(organization: Organization) -> Values:
    check_id(organization.id)
    check_keys((organization.slug,))
    check_text((organization.name,))
    return {
        "id": organization.id,
        "name": organization.name,
        "slug": organization.slug,
        "is_personal": organization.is_personal,
        "created_at": to_micros(organization.created_at),
        "seq": 0,
        "batch": "",
    }


def _to_user(row: Sequence[Any]) -> User:
    cells: list[Any] = list(row)
    cells[-1] = from_micros(cells[-1])
    return User(*cells)


def _to_organization(row: Sequence[Any]) -> Organization:
    cells: list[Any] = list(row)
    cells[-1] = from_micros(cells[-1])
    return Organization(*cells)
