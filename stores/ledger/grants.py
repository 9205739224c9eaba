"""OAuth 2.1 grants to MCP clients. Codes and tokens are stored as hashes only."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Select, delete, insert, select, update

from stores.credentials import AuthorizationCode, Grant, OAuthClient
from stores.errors import NotFound
from stores.ledger.account_tables import oauth_clients, oauth_codes, oauth_grants, oauth_tokens
from stores.ledger.audit import AuditDraft, AuditedStore, append_audit
from stores.ledger.columns import RecordTable, equal_to
from stores.ledger.encoding import dump_json, from_micros, load_strings, to_micros
from stores.ledger.identities import IDENTITY_WIDTH, identity_beside, to_identity
from stores.ledger.store import clashing
from stores.records import Identity, JsonObject

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


@dataclass(frozen=True, slots=True)
class GrantIdentity:
    identity: Identity
    grant: Grant
    scopes: tuple[str, ...]
    expires_at: datetime
    """End of the access token."""


_clients = RecordTable(oauth_clients, OAuthClient)
_codes = RecordTable(oauth_codes, AuthorizationCode)
_grants = RecordTable(oauth_grants, Grant, "-created_at", "id")
_tokens = oauth_tokens


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
            spend = update(oauth_codes).where(*_unspent(code_hash, now)).values(grant_id=grant_id)
            row = connection.execute(spend.returning(*_codes.columns)).first()
            if row is None:
                spent_for = select(oauth_codes.c.grant_id).where(oauth_codes.c.code_hash == code_hash)
                spent = connection.execute(spent_for).scalar()
                return _revoke_reused(connection, at, spent, request)
            code = _codes.read(row)
            of_user = (code.client_id, code.user_id, code.organization_id)
            grant = Grant(grant_id, *of_user, code.resource, code.scopes, at, at, tokens.refresh_expires_at)
            _grants.insert(connection, grant)
            _insert_tokens(connection, grant_id, tokens)
            _clients.change(connection, {"last_used_at": now}, id=code.client_id)
            return grant

    def refreshable(self, refresh_hash: str) -> Grant | None:
        """Return the grant of a refresh token; pass even a spent one to `rotate`, to detect theft."""
        row = self._first(_by_refresh_token(refresh_hash, to_micros(self._clock())))
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
            found = connection.execute(_by_refresh_token(refresh_hash, now).with_for_update()).first()
            if found is None or found.client_id != client_id:
                return "ended"
            by_hash = select(_tokens.c.spent_at).where(_tokens.c.token_hash == tokens.refresh_hash)
            successor = connection.execute(by_hash).first()
            spent = [each.spent_at for each in (found, successor) if each is not None and each.spent_at is not None]
            is_other = found.spent_at is not None and successor is None
            if is_other or (spent and min(spent) <= to_micros(self._clock() - REFRESH_GRACE)):
                return _revoke_reused(connection, self._clock(), found.id, request)
            if found.spent_at is None:
                connection.execute(update(_tokens).where(_tokens.c.token_hash == refresh_hash).values(spent_at=now))
            given = (tokens.access_hash, tokens.refresh_hash)
            replaced = _tokens.c.kind == "access" if successor is None else _tokens.c.token_hash.in_(given)
            connection.execute(delete(_tokens).where(_tokens.c.grant_id == found.id, replaced))
            _insert_tokens(connection, found.id, tokens)
            until = to_micros(tokens.refresh_expires_at)
            renew = update(oauth_grants).where(oauth_grants.c.id == found.id).returning(*_grants.columns)
            row = connection.execute(renew.values(last_used_at=now, expires_at=until)).one()
            _clients.change(connection, {"last_used_at": now}, id=client_id)
            return _grants.read(row)

    def identity(self, access_hash: str) -> GrantIdentity | None:
        """Return the identity behind a valid access token of a current member, in one query."""
        now = to_micros(self._clock())
        statement = (
            identity_beside(oauth_grants, *_grants.columns, _tokens.c.scopes, _tokens.c.expires_at)
            .join(_tokens, _tokens.c.grant_id == oauth_grants.c.id)
            .where(*_holding("access", access_hash, now), _tokens.c.spent_at.is_(None))
        )
        row = self._first(statement)
        if row is None:
            return None
        grant = _grants.read(row[IDENTITY_WIDTH:])
        return GrantIdentity(to_identity(row, None), grant, load_strings(row[-2]), from_micros(row[-1]))

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


def _holding(kind: str, token_hash: str, now: int) -> list[ColumnElement[bool]]:
    return [*equal_to(_tokens, token_hash=token_hash, kind=kind), _tokens.c.expires_at > now, *_alive(now)]


def _by_refresh_token(token_hash: str, now: int) -> Select[Any]:
    joined = select(*_grants.columns, _tokens.c.spent_at).join(_tokens, _tokens.c.grant_id == oauth_grants.c.id)
    return joined.where(*_holding("refresh", token_hash, now))


def _revoke_reused(
    connection: Connection, now: datetime, grant_id: str | None, request: JsonObject | None
) -> GrantRefusal:
    if grant_id is None:
        return "ended"
    return "reused" if _revoke(connection, now, "oauth.reuse", request, oauth_grants.c.id == grant_id) else "ended"


def _revoke(
    connection: Connection, now: datetime, action: str, request: JsonObject | None, *which: ColumnElement[bool]
) -> bool:
    statement = update(oauth_grants).where(*which, oauth_grants.c.revoked_at.is_(None)).returning(*_grants.columns)
    row = connection.execute(statement.values(revoked_at=to_micros(now))).first()
    if row is None:
        return False
    details: JsonObject = {"grant_id": row.id, "user_id": row.user_id}
    append_audit(connection, now, AuditDraft(action, row.organization_id, None, row.client_id, details, request or {}))
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
    connection.execute(insert(_tokens), rows)
