"""One-time tickets between steps of a sign-in, and device logins."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from stores.credentials import DeviceLogin
from stores.errors import NotFound
from stores.ledger.account_tables import device_logins, memberships, tickets
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.columns import columns_of, here, reader, to_values
from stores.ledger.encoding import check_id, dump_json, load_object, to_micros
from stores.ledger.sessions import insert_session
from stores.ledger.store import Store, clashing
from stores.records import JsonObject, Session

SLOWER_S = 5
"""Added to the interval of a device that polls too often (RFC 8628, section 3.5)."""

_tickets = tickets
_devices = device_logins
_one = (_tickets.c.kind == bindparam("of_kind"), _tickets.c.token_hash == bindparam("token"))
_holds = _tickets.c.expires_at > bindparam("now")
_data = select(_tickets.c.data).where(*_one, _holds)
_take = delete(_tickets).where(*_one).returning(_tickets.c.data, _tickets.c.expires_at)

_membership = select(memberships.c.role).where(memberships.c.user_id == bindparam("user"), here(memberships))

DeviceRefusal = Literal["authorization_pending", "slow_down", "access_denied", "expired_token"]
"""Error codes of RFC 8628; `expired_token` also for unknown and spent codes."""


_columns = columns_of(_devices, DeviceLogin)
_to_login = reader(DeviceLogin)
_waiting = (
    _devices.c.user_code_hash == bindparam("code"),
    _devices.c.state == "pending",
    _devices.c.expires_at > bindparam("now"),
)
_by_code = select(*_columns).where(*_waiting)
_by_device = (
    select(*_columns, _devices.c.state, _devices.c.polled_at)
    .where(_devices.c.device_hash == bindparam("device"), _devices.c.expires_at > bindparam("now"))
    .with_for_update()
)


class Tickets(Store):
    """Tickets of every kind, such as `oauth_state` and `consent`."""

    def keep(self, kind: str, token_hash: str, data: JsonObject, expires_at: datetime) -> None:
        """Store the data behind a secret until it expires."""
        check_id(kind)
        check_id(token_hash)
        values = {"kind": kind, "token_hash": token_hash, "data": dump_json(data), "expires_at": to_micros(expires_at)}
        with self._database.write() as connection, clashing("There is such a ticket already."):
            connection.execute(insert(_tickets), values)

    def read(self, kind: str, token_hash: str) -> JsonObject | None:
        """Return the data of a valid ticket, without spending it."""
        values = {"of_kind": kind, "token": token_hash, "now": to_micros(self._clock())}
        row = self._first(_data, values)
        return None if row is None else load_object(row[0])

    def take(self, kind: str, token_hash: str) -> JsonObject | None:
        """Spend a ticket and return its data, once."""
        with self._database.write() as connection:
            row = connection.execute(_take, {"of_kind": kind, "token": token_hash}).first()
        expired = row is None or row.expires_at <= to_micros(self._clock())
        return None if row is None or expired else load_object(row.data)


class DeviceLogins(Store):
    """Device logins (RFC 8628)."""

    def start(self, login: DeviceLogin) -> None:
        """Store a waiting device; Conflict if one of its codes is taken."""
        check_id(login.device_hash)
        check_id(login.user_code_hash)
        with self._database.write() as connection, clashing("The code is taken."):
            connection.execute(insert(_devices), to_values(login) | {"state": "pending"})

    def by_user_code(self, user_code_hash: str) -> DeviceLogin | None:
        """Return the waiting device that shows a code."""
        return self._one(_by_code, {"code": user_code_hash, "now": to_micros(self._clock())}, _to_login)

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
            values = {"user": login.user_id, "organization": login.organization_id}
            if connection.execute(_membership, values).first() is None:
                return "access_denied"
            session, audit = begin(login)
            insert_session(connection, session)
            append_audit(connection, self._clock(), audit)
            return session

    def _poll(self, connection: Connection, device_hash: str) -> DeviceLogin | DeviceRefusal:
        now = to_micros(self._clock())
        row = connection.execute(_by_device, {"device": device_hash, "now": now}).first()
        if row is None:
            return "expired_token"
        this = _devices.c.device_hash == device_hash
        if row.polled_at is not None and now - row.polled_at < row.interval_s * 1_000_000:
            slower = {"interval_s": row.interval_s + SLOWER_S, "polled_at": now}
            connection.execute(update(_devices).where(this).values(slower))
            return "slow_down"
        if row.state == "pending":
            connection.execute(update(_devices).where(this).values(polled_at=now))
            return "authorization_pending"
        connection.execute(delete(_devices).where(this))
        return _to_login(row) if row.state == "approved" else "access_denied"

    def _decide(self, user_code_hash: str, audit: AuditDraft | None, **values: str) -> None:
        statement = update(_devices).where(*_waiting).values(values)
        with self._database.write() as connection:
            now = self._clock()
            with clashing("", "The user or the organization does not exist."):
                decided = connection.execute(statement, {"code": user_code_hash, "now": to_micros(now)}).rowcount
            if decided == 0:
                raise NotFound("No device waits with that code.", remediation="Start the login on the device again.")
            append_audit(connection, now, audit)
