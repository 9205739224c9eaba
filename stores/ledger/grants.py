"""OAuth 2.1 grants to MCP clients. Codes and tokens are stored as hashes only."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, cast

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from stores.errors import NotFound
from stores.ledger.account_tables import oauth_clients, oauth_codes, oauth_grants, oauth_tokens
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.columns import columns_of, reader, to_values
from stores.ledger.encoding import check_id, check_text, dump_json, from_micros, load_strings, to_micros
from stores.ledger.identities import IDENTITY_WIDTH, identity_beside, to_identity
from stores.ledger.store import Store, clashing
from stores.records import Identity, JsonObject

REFRESH_GRACE = timedelta(seconds=30)
"""Time in which processes that share a grant may refresh it at once."""
GrantRefusal = Literal["reused", "ended"]
"""`reused`: spent before, so its grant is revoked now. `ended`: unknown, expired or revoked."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    id: str
    secret_hash: str | None
    """None for a public client."""
    metadata: JsonObject
    """As registered (RFC 7591)."""
    created_at: datetime
    last_used_at: datetime

    @property
    def name(self) -> str:
        return str(self.metadata["client_name"])

    @property
    def redirect_uris(self) -> list[str]:
        return cast("list[str]", self.metadata["redirect_uris"])

    @property
    def refreshes(self) -> bool:
        """Return True if the client asked for refresh tokens."""
        return "refresh_token" in cast("list[str]", self.metadata["grant_types"])


@dataclass(frozen=True, slots=True)
class AuthorizationCode:
    """Consent of a user, to be exchanged for tokens."""

    client_id: str
    user_id: str
    organization_id: str
    redirect_uri: str
    redirect_uri_explicit: bool
    """The client named it and must name it again."""
    code_challenge: str
    """PKCE, method S256."""
    resource: str | None
    scopes: tuple[str, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Grant:
    """Consent of a user to a client: a family of tokens, the latest pair valid."""

    id: str
    client_id: str
    user_id: str
    organization_id: str
    resource: str | None
    scopes: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    """Same as the refresh token's."""
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TokenPair:
    """Hashes of new tokens."""

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


_clients = oauth_clients
_codes = oauth_codes
_grants = oauth_grants
_tokens = oauth_tokens

_to_client, _to_code, _to_grant = reader(OAuthClient), reader(AuthorizationCode), reader(Grant)
_client = select(*columns_of(_clients, OAuthClient)).where(_clients.c.id == bindparam("client"))
_code_columns = columns_of(_codes, AuthorizationCode)
_code = select(*_code_columns).where(
    _codes.c.code_hash == bindparam("code"), _codes.c.grant_id.is_(None), _codes.c.expires_at > bindparam("now")
)
_grant_columns = columns_of(_grants, Grant)
_alive = (_grants.c.revoked_at.is_(None), _grants.c.expires_at > bindparam("now"))
_token_holds = (_tokens.c.spent_at.is_(None), _tokens.c.expires_at > bindparam("now"))
_by_access_token = (
    identity_beside(_grants, *_grant_columns, _tokens.c.scopes, _tokens.c.expires_at)
    .join(_tokens, _tokens.c.grant_id == _grants.c.id)
    .where(_tokens.c.token_hash == bindparam("token"), _tokens.c.kind == "access", *_token_holds, *_alive)
)
_by_refresh_token = (
    select(*_grant_columns, _tokens.c.spent_at)
    .join(_tokens, _tokens.c.grant_id == _grants.c.id)
    .where(
        _tokens.c.token_hash == bindparam("token"),
        _tokens.c.kind == "refresh",
        _tokens.c.expires_at > bindparam("now"),
        *_alive,
    )
)
_by_hash = select(_tokens.c.spent_at).where(_tokens.c.token_hash == bindparam("token"))
_of_user = (
    select(*_grant_columns)
    .where(_grants.c.user_id == bindparam("user"), *_alive)
    .order_by(_grants.c.created_at.desc(), _grants.c.id)
)


class Grants(Store):
    """Clients, codes and grants of the authorization server."""

    def add_client(self, client: OAuthClient) -> None:
        check_id(client.id)
        check_text((client.secret_hash,))
        with self._database.write() as connection, clashing("A client of that id exists already."):
            connection.execute(insert(_clients), to_values(client))

    def client(self, client_id: str) -> OAuthClient | None:
        return self._one(_client, {"client": client_id}, _to_client)

    def add_code(self, code_hash: str, code: AuthorizationCode, audit: AuditDraft | None = None) -> None:
        check_id(code_hash)
        check_text((code.redirect_uri, code.code_challenge, code.resource))
        with self._database.write() as connection:
            with clashing("The code is taken.", "The client, the user or the organization does not exist."):
                connection.execute(insert(_codes), to_values(code) | {"code_hash": code_hash})
            append_audit(connection, self._clock(), audit)

    def code(self, code_hash: str) -> AuthorizationCode | None:
        """Return an unspent, unexpired code."""
        return self._one(_code, {"code": code_hash, "now": to_micros(self._clock())}, _to_code)

    def redeem_code(
        self, code_hash: str, grant_id: str, tokens: TokenPair, *, request: JsonObject | None = None
    ) -> Grant | GrantRefusal:
        """Exchange a code for a grant with its first tokens, once.

        A second exchange means theft (OAuth 2.1, section 4.1.3): the grant is revoked and `oauth.reuse` audited.
        """
        check_id(grant_id)
        with self._database.write() as connection:
            at = self._clock()
            now = to_micros(at)
            spend = (
                update(_codes)
                .where(_codes.c.code_hash == code_hash, _codes.c.grant_id.is_(None), _codes.c.expires_at > now)
                .values(grant_id=grant_id)
                .returning(*_code_columns)
            )
            row = connection.execute(spend).first()
            if row is None:
                spent_for = select(_codes.c.grant_id).where(_codes.c.code_hash == code_hash)
                spent = connection.execute(spent_for).scalar()
                return _revoke_reused(connection, at, spent, request)
            code = _to_code(row)
            of_user = (code.client_id, code.user_id, code.organization_id)
            grant = Grant(grant_id, *of_user, code.resource, code.scopes, at, at, tokens.refresh_expires_at)
            connection.execute(insert(_grants), to_values(grant))
            _insert_tokens(connection, grant_id, tokens)
            connection.execute(update(_clients).where(_clients.c.id == code.client_id).values(last_used_at=now))
            return grant

    def refreshable(self, refresh_hash: str) -> Grant | None:
        """Return the grant of a refresh token; pass even a spent one to `rotate`, to detect theft."""
        row = self._first(_by_refresh_token, {"token": refresh_hash, "now": to_micros(self._clock())})
        return None if row is None else _to_grant(row)

    def rotate(
        self, refresh_hash: str, client_id: str, tokens: TokenPair, *, request: JsonObject | None = None
    ) -> Grant | GrantRefusal:
        """Exchange a client's refresh token, once; a spent one revokes the grant, audited as `oauth.reuse`.

        Within `REFRESH_GRACE` it gives the same successors again, valid again even if they were spent or replaced: the
        next exchange of them leads to where the grant is, unless that was left longer ago.
        """
        with self._database.write() as connection:
            now = to_micros(self._clock())
            found = connection.execute(_by_refresh_token.with_for_update(), {"token": refresh_hash, "now": now}).first()
            if found is None or found.client_id != client_id:
                return "ended"
            successor = connection.execute(_by_hash, {"token": tokens.refresh_hash}).first()
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
            renew = update(_grants).where(_grants.c.id == found.id).returning(*_grant_columns)
            row = connection.execute(renew.values(last_used_at=now, expires_at=until)).one()
            connection.execute(update(_clients).where(_clients.c.id == client_id).values(last_used_at=now))
            return _to_grant(row)

    def identity(self, access_hash: str) -> GrantIdentity | None:
        """Return the identity behind a valid access token of a current member, in one query."""
        row = self._first(_by_access_token, {"token": access_hash, "now": to_micros(self._clock())})
        if row is None:
            return None
        grant = _to_grant(row[IDENTITY_WIDTH:])
        return GrantIdentity(to_identity(row, None), grant, load_strings(row[-2]), from_micros(row[-1]))

    def of_user(self, user_id: str) -> list[Grant]:
        """Return a user's current grants, newest first."""
        return [_to_grant(row) for row in self._all(_of_user, {"user": user_id, "now": to_micros(self._clock())})]

    def revoke(self, user_id: str, grant_id: str, audit: AuditDraft | None = None) -> None:
        mine = (_grants.c.id == grant_id, _grants.c.user_id == user_id, _grants.c.revoked_at.is_(None))
        with self._database.write() as connection:
            now = self._clock()
            if connection.execute(update(_grants).where(*mine).values(revoked_at=to_micros(now))).rowcount == 0:
                raise NotFound("There is no such grant.")
            append_audit(connection, now, audit)

    def revoke_token(self, token_hash: str, client_id: str, *, request: JsonObject | None = None) -> bool:
        """Revoke the grant of a client's token (RFC 7009), audited as `oauth.return`."""
        of_token = select(_tokens.c.grant_id).where(_tokens.c.token_hash == token_hash).scalar_subquery()
        which = (_grants.c.id == of_token, _grants.c.client_id == client_id)
        with self._database.write() as connection:
            return _revoke(connection, self._clock(), "oauth.return", request, *which)


def _revoke_reused(
    connection: Connection, now: datetime, grant_id: str | None, request: JsonObject | None
) -> GrantRefusal:
    if grant_id is None:
        return "ended"
    return "reused" if _revoke(connection, now, "oauth.reuse", request, _grants.c.id == grant_id) else "ended"


def _revoke(
    connection: Connection, now: datetime, action: str, request: JsonObject | None, *which: ColumnElement[bool]
) -> bool:
    named = (_grants.c.id, _grants.c.user_id, _grants.c.organization_id, _grants.c.client_id)
    statement = update(_grants).where(*which, _grants.c.revoked_at.is_(None)).returning(*named)
    row = connection.execute(statement.values(revoked_at=to_micros(now))).first()
    if row is None:
        return False
    details: JsonObject = {"grant_id": row.id, "user_id": row.user_id}
    append_audit(connection, now, AuditDraft(action, row.organization_id, None, row.client_id, details, request or {}))
    return True


def _insert_tokens(connection: Connection, grant_id: str, tokens: TokenPair) -> None:
    check_id(tokens.access_hash)
    check_id(tokens.refresh_hash)
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
