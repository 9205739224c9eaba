"""API keys: found by prefix; the caller compares the hash. Uses are buffered."""

from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy import bindparam, or_, update

from stores.clock import Clock
from stores.errors import NotFound, Unavailable
from stores.ledger.account_tables import api_keys
from stores.ledger.audit import AuditDraft, AuditedStore, append_audit
from stores.ledger.columns import RecordTable
from stores.ledger.encoding import to_micros
from stores.ledger.engine import Database
from stores.ledger.identities import IDENTITY_WIDTH, identity_beside, to_identity
from stores.ledger.store import clashing
from stores.records import ApiKey, Identity

_keys = RecordTable(api_keys, ApiKey, "-created_at", "id")
_note = update(api_keys).where(
    api_keys.c.id == bindparam("of_key"),
    or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at < bindparam("at")),
)


@dataclass(frozen=True, slots=True)
class KeyIdentity:
    identity: Identity
    key: ApiKey
    key_hash: str = field(repr=False)


class ApiKeys(AuditedStore):
    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock)
        self._uses: dict[str, int] = {}
        """Last use of each key that is not written yet, in microseconds."""

    def create(self, key: ApiKey, key_hash: str, audit: AuditDraft | None = None) -> None:
        """Store a key; Conflict if its id or prefix is taken."""
        taken, gone = "A key of that prefix exists already.", "The user or the organization does not exist."
        with self._audited(audit) as connection, clashing(taken, gone):
            _keys.insert(connection, key, key_hash=key_hash)

    def find(self, prefix: str) -> KeyIdentity | None:
        """Return the owner of a valid key with the present role, in one query."""
        ends = api_keys.c.expires_at
        holds = (*_keys.where(prefix=prefix, revoked_at=None), or_(ends.is_(None), ends > to_micros(self._clock())))
        row = self._first(identity_beside(api_keys, *_keys.columns, api_keys.c.key_hash).where(*holds))
        if row is None:
            return None
        return KeyIdentity(to_identity(row, None), _keys.read(row[IDENTITY_WIDTH:-1]), row[-1])

    def key(self, organization_id: str, key_id: str) -> ApiKey | None:
        return self._find(_keys, organization_id=organization_id, id=key_id)

    def of_organization(self, organization_id: str, *, user_id: str | None = None) -> list[ApiKey]:
        """List keys of an organization or member, ended ones too, newest first."""
        of_user = {} if user_id is None else {"user_id": user_id}
        with suppress(Unavailable):
            self.write_uses()
        return self._list(_keys, organization_id=organization_id, **of_user)

    def revoke(self, organization_id: str, key_id: str, audit: AuditDraft | None = None) -> None:
        with self._database.write() as connection:
            if _keys.one(connection, organization_id=organization_id, id=key_id) is None:
                raise NotFound(f"There is no API key {key_id}.")
            now = self._clock()
            if _keys.change(connection, {"revoked_at": to_micros(now)}, id=key_id, revoked_at=None):
                append_audit(connection, now, audit)

    def note_use(self, key_id: str) -> None:
        """Note a use in memory, without I/O."""
        self._uses[key_id] = to_micros(self._clock())

    def write_uses(self) -> int:
        """Write the noted uses; return how many. After an Unavailable they stay noted."""
        uses, self._uses = self._uses, {}
        try:
            if uses:
                with self._database.write() as connection:
                    noted = [{"of_key": key_id, "at": at} for key_id, at in sorted(uses.items())]
                    connection.execute(_note.values(last_used_at=bindparam("at")), noted)
        except Unavailable:
            self._uses = uses | self._uses
            raise
        return len(uses)
