"""One-time tickets between steps of a sign-in, and device logins."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from stores.credentials import DeviceLogin
from stores.errors import NotFound
from stores.ledger.account_tables import device_logins, tickets
from stores.ledger.audit import AuditDraft, AuditedStore, append_audit
from stores.ledger.columns import RecordTable, check_cells, equal_to
from stores.ledger.encoding import dump_json, load_object, to_micros
from stores.ledger.permits import role_in
from stores.ledger.sessions import insert_session
from stores.ledger.store import Store, clashing
from stores.records import JsonObject, Session

SLOWER_S = 5
"""Added to the interval of a device that polls too often (RFC 8628, section 3.5)."""

DeviceRefusal = Literal["authorization_pending", "slow_down", "access_denied", "expired_token"]
"""Error codes of RFC 8628; `expired_token` also for unknown and spent codes."""


_devices = RecordTable(device_logins, DeviceLogin)


class Tickets(Store):
    """Tickets of every kind, such as `oauth_state` and `consent`."""

    def keep(self, kind: str, token_hash: str, data: JsonObject, expires_at: datetime) -> None:
        """Store the data behind a secret until it expires."""
        values = {"kind": kind, "token_hash": token_hash, "data": dump_json(data), "expires_at": to_micros(expires_at)}
        check_cells(tickets, values)
        with self._database.write() as connection, clashing("There is such a ticket already."):
            connection.execute(insert(tickets), values)

    def read(self, kind: str, token_hash: str) -> JsonObject | None:
        """Return the data of a valid ticket, without spending it."""
        holds = (*equal_to(tickets, kind=kind, token_hash=token_hash), tickets.c.expires_at > to_micros(self._clock()))
        row = self._first(select(tickets.c.data).where(*holds))
        return None if row is None else load_object(row[0])

    def take(self, kind: str, token_hash: str) -> JsonObject | None:
        """Spend a ticket and return its data, once."""
        spend = delete(tickets).where(*equal_to(tickets, kind=kind, token_hash=token_hash))
        with self._database.write() as connection:
            row = connection.execute(spend.returning(tickets.c.data, tickets.c.expires_at)).first()
        expired = row is None or row.expires_at <= to_micros(self._clock())
        return None if row is None or expired else load_object(row.data)


class DeviceLogins(AuditedStore):
    """Device logins (RFC 8628)."""

    def start(self, login: DeviceLogin) -> None:
        """Store a waiting device; Conflict if one of its codes is taken."""
        with self._database.write() as connection, clashing("The code is taken."):
            _devices.insert(connection, login, state="pending")

    def by_user_code(self, user_code_hash: str) -> DeviceLogin | None:
        """Return the waiting device that shows a code."""
        return self._find(_devices, *self._waiting(user_code_hash))

    def approve(self, user_code_hash: str, user_id: str, organization_id: str, audit: AuditDraft | None = None) -> None:
        """Let a waiting device sign in as a user in an organization."""
        self._decide(user_code_hash, audit, state="approved", user_id=user_id, organization_id=organization_id)

    def deny(self, user_code_hash: str, audit: AuditDraft | None = None) -> None:
        """Turn a waiting device away."""
        self._decide(user_code_hash, audit, state="denied")

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
        now, columns = to_micros(self._clock()), device_logins.c
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
        return [*waiting, device_logins.c.expires_at > to_micros(self._clock())]

    def _decide(self, user_code_hash: str, audit: AuditDraft | None, **values: str) -> None:
        with self._audited(audit) as connection, clashing("", "The user or the organization does not exist."):
            if _devices.change(connection, values, *self._waiting(user_code_hash)) == 0:
                raise NotFound("No device waits with that code.", remediation="Start the login on the device again.")
