"""Proofs of an address: password resets, and accounts at sign-in providers. Unverified accounts go to who proves it."""

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger.account_tables import (
    USERS,
    api_keys,
    external_identities,
    invitations,
    memberships,
    organizations,
    password_resets,
    users,
)
from stores.ledger.audit import AuditDraft, AuditedStore, append_audit
from stores.ledger.columns import RecordTable, here
from stores.ledger.encoding import address_key, to_micros
from stores.ledger.members import end_membership, is_home
from stores.ledger.organizations import lock_organization
from stores.ledger.permits import revoke_open
from stores.ledger.sessions import end_sign_ins, replace_password, revoke_owned
from stores.ledger.store import clashing
from stores.records import ExternalIdentity, User

_personal_of = (
    select(organizations.c.id)
    .join(memberships, memberships.c.organization_id == organizations.c.id)
    .where(
        memberships.c.user_id == bindparam("user"), organizations.c.is_personal, organizations.c.deleted_at.is_(None)
    )
    .order_by(organizations.c.id)
)
_others_in = (
    select(memberships.c.user_id)
    .where(here(memberships), memberships.c.user_id != bindparam("user"))
    .order_by(memberships.c.user_id)
)


def lock_account(connection: Connection, user_id: str) -> tuple[User, list[str]] | None:
    """Lock a personal organization, then its user; return the user and at most one id."""
    found = connection.execute(_personal_of, {"user": user_id}).scalars().all()
    locked = [lock_organization(connection, each) for each in found]
    user = USERS.one(connection, lock=True, id=user_id)
    return None if user is None else (user, [each.id for each in locked if is_home(connection, each, user_id)])


def reclaim(
    connection: Connection, now: datetime, account: tuple[User, list[str]], audit: AuditDraft | None = None
) -> None:
    """Give a locked, unverified account to whoever has just verified its address.

    Whoever signed up may be somebody else: password and links are cleared, API keys revoked, sign-ins ended; the
    personal organization loses all other members and pending invitations. Records stay.
    """
    user, homes = account
    if user.email_verified_at is not None:
        return
    micros = to_micros(now)
    cleared = {"password_hash": None, "codehost_id": None, "email_verified_at": micros}
    USERS.change(connection, cleared, id=user.id)
    for table in (password_resets, external_identities):
        connection.execute(delete(table).where(table.c.user_id == user.id))
    revoke_owned(connection, api_keys, micros, user.id)
    end_sign_ins(connection, micros, user.id)
    for organization_id in homes:
        _empty(connection, now, organization_id, user.id, audit)


def _empty(connection: Connection, now: datetime, organization_id: str, user_id: str, audit: AuditDraft | None) -> None:
    micros = to_micros(now)
    of_organization = {"organization": organization_id, "user": user_id}
    for other in connection.execute(_others_in, of_organization).scalars().all():
        end_membership(connection, micros, organization_id, other)
        if audit is not None:
            removal = replace(audit, action="member.remove", organization_id=organization_id, resource=other)
            append_audit(connection, now, replace(removal, details={"reason": "address_proved"}))
    revoke_open(connection, micros, invitations.c.organization_id == organization_id)
    own = update(memberships).where(memberships.c.organization_id == organization_id, memberships.c.user_id == user_id)
    connection.execute(own.values(role="owner"))


RESET_EVERY = timedelta(minutes=2)
"""Minimum time between mails to a user."""

_resets = password_resets


class Proofs(AuditedStore):
    def create_password_reset(self, user_id: str, token_hash: str, expires_at: datetime, again: bool = False) -> bool:
        """Store the hash of a reset token; return whether to mail it: not within `RESET_EVERY`, unless `again`."""
        now = self._clock()
        with self._database.write() as connection:
            user = select(users.c.id).where(users.c.id == user_id).with_for_update()
            newest = select(func.max(_resets.c.created_at)).where(_resets.c.user_id == user_id)
            if connection.execute(user).first() is None:
                return False
            last = connection.execute(newest).scalar()
            if last is not None and last > to_micros(now - RESET_EVERY) and not again:
                return False
            values = {
                "token_hash": token_hash,
                "user_id": user_id,
                "created_at": to_micros(now),
                "expires_at": to_micros(expires_at),
            }
            with clashing("There is such a token already."):
                connection.execute(insert(_resets), values)
            return True

    def password_reset_user(self, token_hash: str) -> User | None:
        """Return the user of a valid token, without spending it."""
        holds = (_resets.c.token_hash == token_hash, _resets.c.expires_at > to_micros(self._clock()))
        return self._find(USERS, users.c.id.in_(select(_resets.c.user_id).where(*holds)))

    def reset_password(self, token_hash: str, password_hash: str, audit: AuditDraft | None = None) -> User:
        """Spend a token: replace the password, end all sign-ins, verify the address; return the user.

        The account is reclaimed if the address was not verified. InvalidRequest (`invalid_reset_token`) for a
        token that does not hold.
        """
        with self._audited(audit) as connection:
            now = self._clock()
            micros = to_micros(now)
            of_token = (_resets.c.token_hash == token_hash, _resets.c.expires_at > micros)
            user_id = connection.execute(select(_resets.c.user_id).where(*of_token)).scalar()
            account = None if user_id is None else lock_account(connection, user_id)
            # After the account's lock, in the order of deletions.
            if account is None or connection.execute(delete(_resets).where(*of_token)).rowcount == 0:
                raise InvalidRequest(
                    "The reset token is not valid, was used, or has expired.",
                    code="invalid_reset_token",
                    remediation="Ask for a new password reset and use the newest mail.",
                )
            reclaim(connection, now, account, audit)
            replace_password(connection, micros, account[0].id, password_hash)
            return USERS.read(connection.execute(USERS.select(id=user_id)).one())

    def user_by_link(self, provider: str, subject: str) -> User | None:
        by_link = USERS.select(*_links.where(provider=provider, subject=subject))
        return self._one(by_link.join(_links.table, _links.table.c.user_id == users.c.id), {}, USERS.read)

    def link_user(self, link: ExternalIdentity, *, vouched: bool = False, audit: AuditDraft | None = None) -> User:
        """Link a provider's account to an existing user, and set `codehost_id` if it is the code host; return the user.

        With `vouched` the provider vouches for the user's address: the address is verified, and the account
        reclaimed if it was not. Conflict if the account is another user's, the user has another one, or the
        address differs.
        """
        with self._audited(audit) as connection:
            account = lock_account(connection, link.user_id)
            if account is None:
                raise NotFound(f"User {link.user_id} does not exist.")
            if vouched:
                _require_address(account[0], link)
                reclaim(connection, self._clock(), account, audit)
            insert_link(connection, link)
            if link.provider == CODEHOST:
                _set_codehost(connection, link)
            return USERS.read(connection.execute(USERS.select(id=link.user_id)).one())


CODEHOST = "codehost"
"""Provider whose subjects are account numbers of the code host."""

_links = RecordTable(external_identities, ExternalIdentity)


def insert_link(connection: Connection, link: ExternalIdentity) -> None:
    with clashing(f"That account of {link.provider} is linked to a user already.", "The user does not exist."):
        _links.insert(connection, link)


def _require_address(user: User, link: ExternalIdentity) -> None:
    if address_key(user.email) != address_key(link.email or ""):
        # The address changed since the look-up: the provider vouches for another one.
        raise Conflict("The account has another e-mail address now.", remediation="Sign in again.")


def _set_codehost(connection: Connection, link: ExternalIdentity) -> None:
    taken = "The account belongs to another account of the code host already."
    with clashing(taken):
        if not USERS.change(connection, {"codehost_id": int(link.subject)}, id=link.user_id, codehost_id=None):
            raise Conflict(taken, remediation="Sign in with the account of the code host that you used before.")
