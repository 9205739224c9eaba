"""User accounts: profiles, passwords, deletion, and proofs of an address, which take over unverified accounts."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, func, select
from sqlalchemy.exc import IntegrityError

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger import account_tables as tables
from stores.ledger.account_tables import MEMBERSHIPS, NO_FEED, ORGANIZATIONS, PASSWORD_RESETS, USERS, user_values
from stores.ledger.audit import AuditDraft, AuditedStore, append_audit
from stores.ledger.columns import RecordTable
from stores.ledger.encoding import address_key, dump_json, load_object, to_micros
from stores.ledger.members import end_membership, is_home, is_last
from stores.ledger.organizations import Organizations, close_organization, lock_organization, revoke_unvouched
from stores.ledger.schema import meta
from stores.ledger.sessions import end_sign_ins, replace_password, revoke_owned
from stores.ledger.spaces import end_memberships_in_spaces
from stores.ledger.store import clashing
from stores.records import ExternalIdentity, JsonObject, Organization, User

# Locked to create or delete an account: two first users must not both see an empty ledger.
lock_accounts = select(meta.c.value).where(meta.c.name == "epoch").with_for_update()

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
            is_first = connection.execute(select(USERS.c.id).limit(1)).first() is None
            values = user_values(user) | {"is_admin": user.is_admin or is_first}
            owner = {"user_id": user.id, "organization_id": organization.id, "role": "owner"}
            try:
                USERS.put(connection, values)
                ORGANIZATIONS.insert(connection, organization, **NO_FEED)
                MEMBERSHIPS.put(connection, owner | {"created_at": to_micros(self._clock())})
            except IntegrityError as error:
                raise Conflict("An account or organization of that id or slug exists already.") from error
            if link is not None:
                insert_link(connection, link)
            return locked_user(connection, user.id)

    def user(self, user_id: str) -> User | None:
        return self._find(USERS, id=user_id)

    def names(self, user_ids: Iterable[str]) -> dict[str, str]:
        rows = self._all(select(USERS.c.id, USERS.c.name).where(USERS.c.id.in_(sorted(set(user_ids)))))
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
                PASSWORD_RESETS.remove(connection, user_id=user_id)
            with clashing("The e-mail or the code-host account belongs to another user."):
                USERS.change(connection, user_values(after), id=user_id)
            return after

    def set_password_hash(self, user_id: str, password_hash: str | None, audit: AuditDraft | None = None) -> int:
        """Replace a password; end sessions, grants and resets, but no API keys; return how many sessions."""
        with self._audited(audit) as connection:
            locked_user(connection, user_id)
            return replace_password(connection, to_micros(self._clock()), user_id, password_hash)

    def preferences(self, user_id: str) -> JsonObject:
        return load_object(self._cell(USERS, "preferences", id=user_id) or "{}")

    def edit_preferences(self, user_id: str, changes: JsonObject) -> JsonObject:
        """Merge top-level keys into a user's preferences; return all."""
        with self._database.write() as connection:
            locked_user(connection, user_id)
            merged = load_object(USERS.cell(connection, "preferences", id=user_id) or "{}") | changes
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
            MEMBERSHIPS.remove(connection, user_id=user_id)
            USERS.remove(connection, id=user_id)
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
    others = select(USERS.c.is_admin).where(USERS.c.id != user_id).order_by(USERS.c.is_admin.desc())
    if connection.execute(others.limit(1)).scalar() is False:
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
        raise Conflict(EMAIL_TAKEN, remediation="Log in, or take another address.", details={"field": "body.email"})


_of_user = (
    select(MEMBERSHIPS.c.organization_id, MEMBERSHIPS.c.role)
    .where(MEMBERSHIPS.c.user_id == bindparam("user"))
    .order_by(MEMBERSHIPS.c.organization_id)
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


_personal_of = (
    select(ORGANIZATIONS.c.id)
    .join(MEMBERSHIPS.table, MEMBERSHIPS.c.organization_id == ORGANIZATIONS.c.id)
    .where(
        MEMBERSHIPS.c.user_id == bindparam("user"), ORGANIZATIONS.c.is_personal, ORGANIZATIONS.c.deleted_at.is_(None)
    )
    .order_by(ORGANIZATIONS.c.id)
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
    """Give a locked, unverified account to the verified owner of its address.

    A stranger may have signed up with it: password and links are cleared, API keys revoked and sessions ended; the
    personal organization loses all other members and pending invitations. Records stay.
    """
    user, homes = account
    if user.email_verified_at is not None:
        return
    micros = to_micros(now)
    cleared = {"password_hash": None, "codehost_id": None, "email_verified_at": micros}
    USERS.change(connection, cleared, id=user.id)
    for table in (tables.password_resets, tables.external_identities):
        connection.execute(delete(table).where(table.c.user_id == user.id))
    revoke_owned(connection, tables.api_keys, micros, user.id)
    end_sign_ins(connection, micros, user.id)
    for organization_id in homes:
        _empty(connection, now, organization_id, user.id, audit)


def _empty(connection: Connection, now: datetime, organization_id: str, user_id: str, audit: AuditDraft | None) -> None:
    micros = to_micros(now)
    others = select(MEMBERSHIPS.c.user_id).where(
        MEMBERSHIPS.c.organization_id == organization_id, MEMBERSHIPS.c.user_id != user_id
    )
    for other in connection.execute(others.order_by(MEMBERSHIPS.c.user_id)).scalars().all():
        end_membership(connection, micros, organization_id, other)
        if audit is not None:
            removal = replace(audit, action="member.remove", organization_id=organization_id, resource=other)
            append_audit(connection, now, replace(removal, details={"reason": "address_proved"}))
    of_home = {"organization_id": organization_id} | tables.UNANSWERED
    tables.INVITATIONS.change(connection, {"revoked_at": micros}, **of_home)
    MEMBERSHIPS.change(connection, {"role": "owner"}, organization_id=organization_id, user_id=user_id)


RESET_EVERY = timedelta(minutes=2)
"""Minimum time between mails to a user."""


class Proofs(AuditedStore):
    def create_password_reset(self, user_id: str, token_hash: str, expires_at: datetime, again: bool = False) -> bool:
        """Store the hash of a reset token; return whether to mail it: not within `RESET_EVERY`, unless `again`."""
        now = self._clock()
        with self._database.write() as connection:
            newest = select(func.max(PASSWORD_RESETS.c.created_at)).where(PASSWORD_RESETS.c.user_id == user_id)
            if USERS.cell(connection, "id", lock=True, id=user_id) is None:
                return False
            last = connection.execute(newest).scalar()
            if last is not None and last > to_micros(now - RESET_EVERY) and not again:
                return False
            times = {"created_at": to_micros(now), "expires_at": to_micros(expires_at)}
            with clashing("There is such a token already."):
                PASSWORD_RESETS.put(connection, {"token_hash": token_hash, "user_id": user_id} | times)
            return True

    def password_reset_user(self, token_hash: str) -> User | None:
        """Return the user of a valid token, without spending it."""
        holds = (PASSWORD_RESETS.c.token_hash == token_hash, PASSWORD_RESETS.c.expires_at > to_micros(self._clock()))
        return self._find(USERS, USERS.c.id.in_(select(PASSWORD_RESETS.c.user_id).where(*holds)))

    def reset_password(self, token_hash: str, password_hash: str, audit: AuditDraft | None = None) -> User:
        """Spend a token: replace the password, end all sign-ins, verify the address; return the user.

        The account is reclaimed if the address was not verified. InvalidRequest (`invalid_reset_token`) for a
        token that does not hold.
        """
        with self._audited(audit) as connection:
            now = self._clock()
            micros = to_micros(now)
            of_token = (PASSWORD_RESETS.c.token_hash == token_hash, PASSWORD_RESETS.c.expires_at > micros)
            user_id = connection.execute(select(PASSWORD_RESETS.c.user_id).where(*of_token)).scalar()
            account = None if user_id is None else lock_account(connection, user_id)
            # After the account's lock, in the order of deletions.
            if account is None or not PASSWORD_RESETS.remove(connection, *of_token):
                raise InvalidRequest(
                    "The reset token is not valid, was used, or has expired.",
                    code="invalid_reset_token",
                    remediation="Ask for a new password reset and use the newest mail.",
                )
            reclaim(connection, now, account, audit)
            replace_password(connection, micros, account[0].id, password_hash)
            return locked_user(connection, account[0].id)

    def user_by_link(self, provider: str, subject: str) -> User | None:
        by_link = USERS.select(*_links.where(provider=provider, subject=subject))
        return self._one(by_link.join(_links.table, _links.c.user_id == USERS.c.id), {}, USERS.read)

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
            return locked_user(connection, link.user_id)


CODEHOST = "codehost"
"""Provider whose subjects are account numbers of the code host."""

_links = RecordTable(tables.external_identities, ExternalIdentity)


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
