"""API keys, of which uses are buffered, and OAuth 2.1 grants to MCP clients. Secrets are stored as hashes only."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, bindparam, insert, or_, select, update

from stores.clock import Clock
from stores.credentials import AuthorizationCode, Grant, OAuthClient
from stores.errors import NotFound, Unavailable
from stores.ledger.account_tables import api_keys, oauth_clients, oauth_codes, oauth_grants, oauth_tokens
from stores.ledger.audit import AuditDraft, AuditedStore, append_audit
from stores.ledger.columns import RecordTable, Rows
from stores.ledger.encoding import dump_json, from_micros, load_strings, to_micros
from stores.ledger.engine import Database
from stores.ledger.store import clashing
from stores.records import ApiKey, JsonObject

_keys = RecordTable(api_keys, ApiKey, "-created_at", "id")
_note = update(api_keys).where(
    api_keys.c.id == bindparam("of_key"),
    or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at < bindparam("at")),
)


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

    def find(self, prefix: str) -> tuple[ApiKey, str] | None:
        """Return a valid key with its hash."""
        ends = api_keys.c.expires_at
        holds = (*_keys.where(prefix=prefix, revoked_at=None), or_(ends.is_(None), ends > to_micros(self._clock())))
        row = self._first(select(*_keys.columns, api_keys.c.key_hash).where(*holds))
        return None if row is None else (_keys.read(row), row.key_hash)

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


REFRESH_GRACE = timedelta(seconds=30)
"""Time in which processes that share a grant may refresh it at once."""
GrantRefusal = Literal["reused", "ended"]
"""`reused`: spent before, so its grant is revoked now. `ended`: unknown, expired or revoked."""


@dataclass(frozen=True, slots=True)
class TokenPair:
    access_hash: str
    access_expires_at: datetime
    refresh_hash: str
    refresh_expires_at: datetime
    scopes: tuple[str, ...]
    """Scopes of the access token: those of the grant, or fewer."""


class GrantedAccess(NamedTuple):
    grant: Grant
    scopes: tuple[str, ...]
    expires_at: datetime
    """End of the access token."""


_clients = RecordTable(oauth_clients, OAuthClient)
_codes = RecordTable(oauth_codes, AuthorizationCode)
_grants = RecordTable(oauth_grants, Grant, "-created_at", "id")
_tokens = Rows(oauth_tokens)


class Grants(AuditedStore):
    def add_client(self, client: OAuthClient) -> None:
        with self._database.write() as connection, clashing("A client of that id exists already."):
            _clients.insert(connection, client)

    def client(self, client_id: str) -> OAuthClient | None:
        return self._find(_clients, id=client_id)

    def add_code(self, code_hash: str, code: AuthorizationCode, audit: AuditDraft | None = None) -> None:
        gone = "The client, the user or the organization does not exist."
        with self._audited(audit) as connection, clashing("The code is taken.", gone):
            _codes.insert(connection, code, code_hash=code_hash)

    def code(self, code_hash: str) -> AuthorizationCode | None:
        return self._find(_codes, *_unspent(code_hash, to_micros(self._clock())))

    def redeem_code(
        self, code_hash: str, grant_id: str, tokens: TokenPair, *, request: JsonObject | None = None
    ) -> Grant | GrantRefusal:
        """Exchange a code for a grant with its first tokens, once.

        A second exchange means theft (OAuth 2.1, section 4.1.3): the grant is revoked and `oauth.reuse` audited.
        """
        with self._database.write() as connection:
            at = self._clock()
            now = to_micros(at)
            code = _codes.renew(connection, {"grant_id": grant_id}, *_unspent(code_hash, now))
            if code is None:
                spent_for = _codes.cell(connection, "grant_id", code_hash=code_hash)
                return _revoke_reused(connection, at, spent_for, request)
            of_user = (code.client_id, code.user_id, code.organization_id)
            grant = Grant(grant_id, *of_user, code.resource, code.scopes, at, at, tokens.refresh_expires_at)
            _grants.insert(connection, grant)
            _insert_tokens(connection, grant_id, tokens)
            _clients.change(connection, {"last_used_at": now}, id=code.client_id)
            return grant

    def refreshable(self, refresh_hash: str) -> Grant | None:
        """Return the grant of a refresh token; pass even a spent one to `rotate`, to detect theft."""
        row = self._first(_by_token("refresh", refresh_hash, to_micros(self._clock())))
        return None if row is None else _grants.read(row)

    def rotate(
        self, refresh_hash: str, client_id: str, tokens: TokenPair, *, request: JsonObject | None = None
    ) -> Grant | GrantRefusal:
        """Exchange a client's refresh token, once; a spent one revokes the grant, audited as `oauth.reuse`.

        Within `REFRESH_GRACE` it gives the same successors again, valid again even if they were spent or replaced: the
        next exchange of them leads to where the grant is, unless that was left longer ago.
        """
        with self._database.write() as connection:
            now = to_micros(self._clock())
            found = connection.execute(_by_token("refresh", refresh_hash, now).with_for_update()).first()
            if found is None or found.client_id != client_id:
                return "ended"
            by_hash = select(_tokens.c.spent_at).where(_tokens.c.token_hash == tokens.refresh_hash)
            successor = connection.execute(by_hash).first()
            spent = [each.spent_at for each in (found, successor) if each is not None and each.spent_at is not None]
            is_other = found.spent_at is not None and successor is None
            if is_other or (spent and min(spent) <= to_micros(self._clock() - REFRESH_GRACE)):
                return _revoke_reused(connection, self._clock(), found.id, request)
            if found.spent_at is None:
                _tokens.change(connection, {"spent_at": now}, token_hash=refresh_hash)
            given = (tokens.access_hash, tokens.refresh_hash)
            replaced = _tokens.c.kind == "access" if successor is None else _tokens.c.token_hash.in_(given)
            _tokens.remove(connection, replaced, grant_id=found.id)
            _insert_tokens(connection, found.id, tokens)
            until = to_micros(tokens.refresh_expires_at)
            _clients.change(connection, {"last_used_at": now}, id=client_id)
            return _grants.renew(connection, {"last_used_at": now, "expires_at": until}, id=found.id) or "ended"

    def granted(self, access_hash: str) -> GrantedAccess | None:
        """Return the grant behind a valid access token."""
        found = _by_token("access", access_hash, to_micros(self._clock()))
        row = self._first(found.where(_tokens.c.spent_at.is_(None)))
        if row is None:
            return None
        return GrantedAccess(_grants.read(row), load_strings(row.token_scopes), from_micros(row.until))

    def of_user(self, user_id: str) -> list[Grant]:
        return self._list(_grants, *_alive(to_micros(self._clock())), user_id=user_id)

    def revoke(self, user_id: str, grant_id: str, audit: AuditDraft | None = None) -> None:
        with self._audited(audit) as connection:
            now = {"revoked_at": to_micros(self._clock())}
            if not _grants.change(connection, now, id=grant_id, user_id=user_id, revoked_at=None):
                raise NotFound("There is no such grant.")

    def revoke_token(self, token_hash: str, client_id: str, *, request: JsonObject | None = None) -> bool:
        """Revoke the grant of a client's token (RFC 7009), audited as `oauth.return`."""
        of_token = select(_tokens.c.grant_id).where(_tokens.c.token_hash == token_hash).scalar_subquery()
        which = (oauth_grants.c.id == of_token, oauth_grants.c.client_id == client_id)
        with self._database.write() as connection:
            return _revoke(connection, self._clock(), "oauth.return", request, *which)


def _unspent(code_hash: str, now: int) -> list[ColumnElement[bool]]:
    return [*_codes.where(code_hash=code_hash, grant_id=None), oauth_codes.c.expires_at > now]


def _alive(now: int) -> list[ColumnElement[bool]]:
    return [oauth_grants.c.revoked_at.is_(None), oauth_grants.c.expires_at > now]


def _by_token(kind: str, token_hash: str, now: int) -> Select[Any]:
    of_token = (_tokens.c.spent_at, _tokens.c.scopes.label("token_scopes"), _tokens.c.expires_at.label("until"))
    joined = select(*_grants.columns, *of_token).join(_tokens.table, _tokens.c.grant_id == oauth_grants.c.id)
    holds = (*_tokens.where(token_hash=token_hash, kind=kind), _tokens.c.expires_at > now)
    return joined.where(*holds, *_alive(now))


def _revoke_reused(
    connection: Connection, now: datetime, grant_id: str | None, request: JsonObject | None
) -> GrantRefusal:
    if grant_id is None:
        return "ended"
    return "reused" if _revoke(connection, now, "oauth.reuse", request, oauth_grants.c.id == grant_id) else "ended"


def _revoke(
    connection: Connection, now: datetime, action: str, request: JsonObject | None, *which: ColumnElement[bool]
) -> bool:
    ended = _grants.renew(connection, {"revoked_at": to_micros(now)}, *which, revoked_at=None)
    if ended is None:
        return False
    details: JsonObject = {"grant_id": ended.id, "user_id": ended.user_id}
    audit = AuditDraft(action, ended.organization_id, None, ended.client_id, details, request or {})
    append_audit(connection, now, audit)
    return True


def _insert_tokens(connection: Connection, grant_id: str, tokens: TokenPair) -> None:
    scopes = dump_json(tokens.scopes)
    pair = (
        ("access", tokens.access_hash, tokens.access_expires_at),
        ("refresh", tokens.refresh_hash, tokens.refresh_expires_at),
    )
    rows = [
        {"token_hash": hashed, "grant_id": grant_id, "kind": kind, "scopes": scopes, "expires_at": to_micros(until)}
        for kind, hashed, until in pair
    ]
    connection.execute(insert(_tokens.table), rows)
