"""Sessions, which are families of refresh tokens; tickets between steps of a sign-in; device logins; expiry."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, Connection, Table, delete, exists, select, update

from stores.credentials import DeviceLogin
from stores.errors import NotFound
from stores.ledger import account_tables as tables
from stores.ledger import schema
from stores.ledger.account_tables import PASSWORD_RESETS, SESSIONS, USERS
from stores.ledger.audit import AuditDraft, AuditedStore, append_audit
from stores.ledger.columns import RecordTable, Rows, check_cells
from stores.ledger.encoding import dump_json, load_object, to_micros
from stores.ledger.organizations import role_in
from stores.ledger.store import Store, clashing
from stores.records import JsonObject, Session

_sessions = tables.sessions

RotationRefusal = Literal["reused", "ended"]
"""`reused`: the refresh token was used before, so the session is revoked now. `ended`: it was over."""


class Sessions(AuditedStore):
    def create_session(self, session: Session, audit: AuditDraft | None = None) -> None:
        with self._audited(audit) as connection:
            insert_session(connection, session)

    def session(self, session_id: str) -> Session | None:
        return self._find(SESSIONS, id=session_id)

    def sessions(self, user_id: str) -> list[Session]:
        return self._list(SESSIONS, *_alive(self._clock()), user_id=user_id)

    def rotate_session(
        self, session_id: str, old_refresh_id: str, new_refresh_id: str, now: datetime
    ) -> Session | RotationRefusal:
        """Replace the refresh token of a session, once; an old one may be stolen, and revokes the session."""
        mine = (_sessions.c.id == session_id, *_alive(now))
        with self._database.write() as connection:
            values = {"refresh_id": new_refresh_id, "last_used_at": to_micros(now)}
            rotated = SESSIONS.renew(connection, values, *mine, refresh_id=old_refresh_id)
            if rotated is not None:
                return rotated
            return "reused" if SESSIONS.change(connection, {"revoked_at": to_micros(now)}, *mine) else "ended"

    def switch_session(
        self,
        session_id: str,
        organization_id: str,
        new_refresh_id: str,
        audit: AuditDraft | None = None,
        *,
        seen: tuple[str, str] = ("", ""),
    ) -> Session | None:
        """Move a session to another organization, with a new refresh token; None if it is over.

        `seen` is the new address and program; empty ones stay. NotFound if the user is no member.
        """
        with self._database.write() as connection:
            now = self._clock()
            session = SESSIONS.one(connection, *_alive(now), lock=True, id=session_id)
            if session is None:
                return None
            if role_in(connection, organization_id, session.user_id) is None:
                raise NotFound("There is no such organization.")
            moved = {"organization_id": organization_id, "refresh_id": new_refresh_id, "last_used_at": to_micros(now)}
            whence = {name: text for name, text in zip(("ip_address", "user_agent"), seen, strict=True) if text}
            append_audit(connection, now, audit)
            return SESSIONS.renew(connection, moved | whence, id=session_id)

    def revoke_session(self, session_id: str, *, user_id: str | None = None, audit: AuditDraft | None = None) -> bool:
        """End a session (of `user_id`, if given); return whether it was active."""
        which = SESSIONS.where(id=session_id, revoked_at=None, **({} if user_id is None else {"user_id": user_id}))
        with self._database.write() as connection:
            now = self._clock()
            if not SESSIONS.change(connection, {"revoked_at": to_micros(now)}, *which):
                return False
            append_audit(connection, now, audit)
            return True

    def prune_expired(self) -> int:
        """Delete expired credentials and answers; return how many rows."""
        now = self._clock()
        at, before, unused = (to_micros(now - age) for age in (timedelta(0), REMEMBERED, UNUSED))
        clients, grants = tables.oauth_clients, tables.oauth_grants
        codes, tokens = tables.oauth_codes, tables.oauth_tokens
        granted, coded = (exists().where(each.c.client_id == clients.c.id) for each in (grants, codes))
        expiring = (
            (at, (schema.idempotency_keys, tables.tickets, tables.device_logins, tables.password_resets)),
            (before, (_sessions, tables.invitations, tokens, codes, grants)),
        )
        over = [
            *((table, table.c.expires_at <= until) for until, some in expiring for table in some),
            (tokens, (tokens.c.kind == "access") & (tokens.c.expires_at < at)),
            (grants, grants.c.revoked_at < before),
            (clients, (clients.c.last_used_at < unused) & ~granted & ~coded),
        ]
        with self._database.write() as connection:
            return sum(connection.execute(delete(table).where(which)).rowcount for table, which in over)


def insert_session(connection: Connection, session: Session) -> None:
    with clashing("A session of that id exists already.", "The user or the organization does not exist."):
        SESSIONS.insert(connection, session)


def end_sign_ins(connection: Connection, now: int, user_id: str, *, organization_id: str | None = None) -> int:
    """End a user's sessions, grants and codes; return how many sessions."""
    for table in (tables.oauth_codes, tables.device_logins):
        connection.execute(delete(table).where(*_owned(table, user_id, organization_id)))
    revoke_owned(connection, tables.oauth_grants, now, user_id, organization_id)
    return revoke_owned(connection, _sessions, now, user_id, organization_id)


def revoke_owned(
    connection: Connection, table: Table, now: int, user_id: str, organization_id: str | None = None
) -> int:
    """Revoke a user's sessions, grants or API keys; return how many."""
    which = (*_owned(table, user_id, organization_id), table.c.revoked_at.is_(None))
    return connection.execute(update(table).where(*which).values(revoked_at=now)).rowcount


def _owned(table: Table, user_id: str, organization_id: str | None) -> list[ColumnElement[bool]]:
    owned = [table.c.user_id == user_id]
    return owned if organization_id is None else [*owned, table.c.organization_id == organization_id]


def _alive(now: datetime) -> list[ColumnElement[bool]]:
    return [_sessions.c.revoked_at.is_(None), _sessions.c.expires_at > to_micros(now)]


REMEMBERED = timedelta(days=30)
"""Ended credentials are kept this long, to recognise a replay."""

UNUSED = timedelta(days=90)
"""Clients without a grant are deleted after this time."""


def replace_password(connection: Connection, now: int, user_id: str, password_hash: str | None) -> int:
    """Implement `Accounts.set_password_hash` in a transaction; the user is locked."""
    USERS.change(connection, {"password_hash": password_hash}, id=user_id)
    PASSWORD_RESETS.remove(connection, user_id=user_id)
    return end_sign_ins(connection, now, user_id)


SLOWER_S = 5
"""Added to the interval of a device that polls too often (RFC 8628, section 3.5)."""

DeviceRefusal = Literal["authorization_pending", "slow_down", "access_denied", "expired_token"]
"""Error codes of RFC 8628; `expired_token` also for unknown and spent codes."""

_devices = RecordTable(tables.device_logins, DeviceLogin)
_tickets = Rows(tables.tickets)


class Tickets(Store):
    """Tickets of every kind, such as `oauth_state` and `consent`."""

    def keep(self, kind: str, token_hash: str, data: JsonObject, expires_at: datetime) -> None:
        """Store the data behind a secret until it expires."""
        values = {"kind": kind, "token_hash": token_hash, "data": dump_json(data), "expires_at": to_micros(expires_at)}
        check_cells(tables.tickets, values)
        with self._database.write() as connection, clashing("There is such a ticket already."):
            _tickets.put(connection, values)

    def read(self, kind: str, token_hash: str) -> JsonObject | None:
        """Return the data of a valid ticket, without spending it."""
        lasts = _tickets.c.expires_at > to_micros(self._clock())
        row = self._first(select(_tickets.c.data).where(*_tickets.where(kind=kind, token_hash=token_hash), lasts))
        return None if row is None else load_object(row[0])

    def take(self, kind: str, token_hash: str) -> JsonObject | None:
        """Spend a ticket and return its data, once."""
        spend = delete(tables.tickets).where(*_tickets.where(kind=kind, token_hash=token_hash))
        with self._database.write() as connection:
            row = connection.execute(spend.returning(_tickets.c.data, _tickets.c.expires_at)).first()
        expired = row is None or row.expires_at <= to_micros(self._clock())
        return None if row is None or expired else load_object(row.data)


class DeviceLogins(AuditedStore):
    def start(self, login: DeviceLogin) -> None:
        """Store a waiting device; Conflict if one of its codes is taken."""
        with self._database.write() as connection, clashing("The code is taken."):
            _devices.insert(connection, login, state="pending")

    def by_user_code(self, user_code_hash: str) -> DeviceLogin | None:
        return self._find(_devices, *self._waiting(user_code_hash))

    def decide(
        self, user_code_hash: str, user_id: str, organization_id: str | None, audit: AuditDraft | None = None
    ) -> None:
        """Approve a waiting device for an organization; deny it without one."""
        approved = {"state": "approved", "user_id": user_id, "organization_id": organization_id}
        values = {"state": "denied"} if organization_id is None else approved
        with self._audited(audit) as connection, clashing("", "The user or the organization does not exist."):
            if not _devices.change(connection, values, *self._waiting(user_code_hash)):
                raise NotFound("No device waits with that code.", remediation="Start the login on the device again.")

    def enter(
        self, device_hash: str, begin: Callable[[DeviceLogin], tuple[Session, AuditDraft]]
    ) -> Session | DeviceRefusal:
        """Answer a polling device; store the session of an approval in the same transaction, once."""
        with self._database.write() as connection:
            login = self._poll(connection, device_hash)
            if isinstance(login, str):
                return login
            if role_in(connection, str(login.organization_id), str(login.user_id)) is None:
                return "access_denied"
            session, audit = begin(login)
            insert_session(connection, session)
            append_audit(connection, self._clock(), audit)
            return session

    def _poll(self, connection: Connection, device_hash: str) -> DeviceLogin | DeviceRefusal:
        now, columns = to_micros(self._clock()), _devices.c
        asked = (columns.device_hash == device_hash, columns.expires_at > now)
        found = select(*_devices.columns, columns.state, columns.polled_at).where(*asked)
        row = connection.execute(found.with_for_update()).first()
        if row is None:
            return "expired_token"
        if row.polled_at is not None and now - row.polled_at < row.interval_s * 1_000_000:
            slower = {"interval_s": row.interval_s + SLOWER_S, "polled_at": now}
            _devices.change(connection, slower, device_hash=device_hash)
            return "slow_down"
        if row.state == "pending":
            _devices.change(connection, {"polled_at": now}, device_hash=device_hash)
            return "authorization_pending"
        _devices.remove(connection, device_hash=device_hash)
        return _devices.read(row) if row.state == "approved" else "access_denied"

    def _waiting(self, user_code_hash: str) -> list[ColumnElement[bool]]:
        waiting = _devices.where(user_code_hash=user_code_hash, state="pending")
        return [*waiting, _devices.c.expires_at > to_micros(self._clock())]
