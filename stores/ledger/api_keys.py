"""API keys: found by prefix; the caller compares the hash. Uses are buffered."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Lock
from typing import Any

from sqlalchemy import Select, bindparam, insert, or_, select, update

from stores.clock import Clock
from stores.errors import NotFound
from stores.ledger.account_tables import api_keys
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.columns import columns_of, here, reader, to_values
from stores.ledger.encoding import check_id, check_text, from_micros, to_micros
from stores.ledger.engine import Database
from stores.ledger.identities import IDENTITY_WIDTH, identity_beside, to_identity
from stores.ledger.rows import Values
from stores.ledger.store import Store, clashing
from stores.records import ApiKey, Identity

USE_NOTED_EVERY = timedelta(minutes=1)

_keys = api_keys
_columns = columns_of(_keys, ApiKey)
_read = reader(ApiKey)
_by_prefix = identity_beside(_keys, *_columns, _keys.c.key_hash).where(
    _keys.c.prefix == bindparam("prefix"),
    _keys.c.revoked_at.is_(None),
    or_(_keys.c.expires_at.is_(None), _keys.c.expires_at > bindparam("now")),
)
_one = select(*_columns).where(here(_keys), _keys.c.id == bindparam("key"))
_of_organization = select(*_columns).where(here(_keys)).order_by(_keys.c.created_at.desc(), _keys.c.id)
_note = update(_keys).where(
    _keys.c.id == bindparam("of_key"), or_(_keys.c.last_used_at.is_(None), _keys.c.last_used_at < bindparam("at"))
)


@dataclass(frozen=True, slots=True)
class KeyIdentity:
    """Owner of a key prefix, and the expected key hash."""

    identity: Identity
    key: ApiKey
    key_hash: str = field(repr=False)


class ApiKeys(Store):
    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock)
        self._lock = Lock()
        self._noted: dict[str, int] = {}
        """Last use of each key in microseconds, stored or pending."""
        self._unwritten: set[str] = set()

    def create(self, key: ApiKey, key_hash: str, audit: AuditDraft | None = None) -> None:
        """Store a key; Conflict if its id or prefix is taken."""
        values = _values(key, key_hash)
        with self._database.write() as connection:
            with clashing("A key of that prefix exists already.", "The user or the organization does not exist."):
                connection.execute(insert(_keys), values)
            append_audit(connection, self._clock(), audit)

    def find(self, prefix: str) -> KeyIdentity | None:
        """Return the owner of a valid key with the present role, in one query."""
        row = self._first(_by_prefix, {"prefix": prefix, "now": to_micros(self._clock())})
        if row is None:
            return None
        return KeyIdentity(to_identity(row, None), self._to_key(row[IDENTITY_WIDTH:-1]), row[-1])

    def key(self, organization_id: str, key_id: str) -> ApiKey | None:
        row = self._first(_one, {"organization": organization_id, "key": key_id})
        return None if row is None else self._to_key(row)

    def of_organization(self, organization_id: str, *, user_id: str | None = None) -> list[ApiKey]:
        """List keys of an organization or member, ended ones too, newest first."""
        statement: Select[Any] = _of_organization
        if user_id is not None:
            statement = statement.where(_keys.c.user_id == user_id)
        return [self._to_key(row) for row in self._all(statement, {"organization": organization_id})]

    def revoke(self, organization_id: str, key_id: str, audit: AuditDraft | None = None) -> None:
        """Revoke a key; if it had ended, write nothing."""
        with self._database.write() as connection:
            if connection.execute(_one, {"organization": organization_id, "key": key_id}).first() is None:
                raise NotFound(f"There is no API key {key_id}.")
            now = self._clock()
            statement = update(_keys).where(_keys.c.id == key_id, _keys.c.revoked_at.is_(None))
            if connection.execute(statement.values(revoked_at=to_micros(now))).rowcount:
                append_audit(connection, now, audit)

    def note_use(self, key_id: str) -> None:
        """Note a use in memory, without I/O."""
        now = to_micros(self._clock())
        with self._lock:
            if now - self._noted.get(key_id, 0) >= USE_NOTED_EVERY // timedelta(microseconds=1):
                self._noted[key_id] = now
                self._unwritten.add(key_id)

    def write_uses(self) -> int:
        """Write the noted uses, one per key and minute; return how many. After an Unavailable they stay noted."""
        with self._lock:
            uses: list[dict[str, Any]] = [
                {"of_key": key_id, "at": self._noted[key_id]} for key_id in sorted(self._unwritten)
            ]
        if uses:
            with self._database.write() as connection:
                connection.execute(_note.values(last_used_at=bindparam("at")), uses)
        with self._lock:
            self._unwritten -= {use["of_key"] for use in uses if self._noted[use["of_key"]] == use["at"]}
        return len(uses)

    def _to_key(self, row: Sequence[Any]) -> ApiKey:
        key = _read(row)
        with self._lock:
            noted = self._noted.get(key.id)
        if noted is None:
            return key
        used_at = from_micros(noted)
        return replace(key, last_used_at=used_at if key.last_used_at is None else max(used_at, key.last_used_at))


def _values(key: ApiKey, key_hash: str) -> Values:
    check_id(key.id)
    check_id(key.prefix)
    check_text((key.name, key_hash))
    return to_values(key) | {"key_hash": key_hash}
