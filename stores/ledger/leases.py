"""Leases: exclusive rights to long work, across processes."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, select, update

from stores.errors import Conflict
from stores.ledger import schema
from stores.ledger.encoding import check_keys, to_micros
from stores.ledger.engine import upsert
from stores.ledger.record_table import equal_to
from stores.ledger.rows import Values
from stores.ledger.store import Store
from stores.ledger.writing import Writing

LEASE_S = 30.0

_leases = schema.leases


@dataclass(frozen=True, slots=True)
class Lease:
    """Exclusive right until it expires."""

    organization_id: str
    name: str
    holder: str
    token: int
    """Fencing token, larger than every earlier holder's."""
    expires_at: datetime


class Leases(Store):
    def acquire(self, organization_id: str, name: str, holder: str, ttl_s: float = LEASE_S) -> Lease:
        """Take a free lease, or raise Conflict."""
        check_keys((organization_id, name, holder))
        now = self._clock()
        expires_at = now + timedelta(seconds=ttl_s)
        values: Values = {"organization_id": organization_id, "name": name, "holder": holder, "token": 1}
        with self._database.write() as connection:
            insert = upsert(connection.dialect.name, _leases)
            renewed = {name: insert.excluded[name] for name in ("holder", "expires_at")}
            statement = insert.on_conflict_do_update(
                index_elements=list(_leases.primary_key),
                set_=renewed | {"token": _leases.c.token + 1},
                where=_leases.c.expires_at <= to_micros(now),
            ).returning(_leases.c.token)
            row = connection.execute(statement, values | {"expires_at": to_micros(expires_at)}).first()
        if row is None:
            raise Conflict(f"{name} is being worked on by another request.")
        return Lease(organization_id, name, holder, row[0], expires_at)

    def release(self, lease: Lease) -> None:
        with self._database.write() as connection:
            connection.execute(update(_leases).where(*_mine(lease)).values(expires_at=0))

    def release_holder(self, holder: str) -> int:
        """Release everything a dead process holds; return how many."""
        statement = update(_leases).where(_leases.c.holder == holder, _leases.c.expires_at > 0).values(expires_at=0)
        with self._database.write() as connection:
            return connection.execute(statement).rowcount


def require_lease(writing: Writing, lease: Lease) -> None:
    """Raise Conflict if a lease was lost; inside a transaction."""
    held = select(_leases.c.token).where(*_mine(lease), _leases.c.expires_at > to_micros(writing.now))
    if writing.connection.execute(held).first() is None:
        raise Conflict(f"The lease on {lease.name} was lost; nothing was changed.")


def _mine(lease: Lease) -> list[ColumnElement[bool]]:
    return equal_to(_leases, organization_id=lease.organization_id, name=lease.name, token=lease.token)
