"""Sessions: families of refresh tokens of which the latest is valid; removal of expired credentials."""

from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, exists, insert, or_, select, update

from stores.errors import NotFound
from stores.ledger import schema
from stores.ledger.account_rows import SESSION_COLUMNS, session_values, to_session
from stores.ledger.account_tables import (
    device_logins,
    invitations,
    oauth_clients,
    oauth_codes,
    oauth_grants,
    oauth_tokens,
    password_resets,
    tickets,
    users,
)
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.encoding import to_micros
from stores.ledger.store import Store, clashing
from stores.records import Session

_sessions = schema.sessions
_members = schema.memberships

_alive_of_user = (
    select(*SESSION_COLUMNS)
    .where(
        _sessions.c.user_id == bindparam("user"),
        _sessions.c.revoked_at.is_(None),
        _sessions.c.expires_at > bindparam("now"),
    )
    .order_by(_sessions.c.created_at.desc(), _sessions.c.id)
)

RotationRefusal = Literal["reused", "ended"]
"""`reused`: the refresh token was used before, so the session is revoked now. `ended`: it was over."""


class Sessions(Store):
    def create_session(self, session: Session, audit: AuditDraft | None = None) -> None:
        with self._database.write() as connection:
            insert_session(connection, session)
            append_audit(connection, self._clock(), audit)

    def session(self, session_id: str) -> Session | None:
        return self._one(select(*SESSION_COLUMNS).where(_sessions.c.id == session_id), {}, to_session)

    def sessions(self, user_id: str) -> list[Session]:
        """Return a user's valid sessions, newest first."""
        rows = self._all(_alive_of_user, {"user": user_id, "now": to_micros(self._clock())})
        return [to_session(row) for row in rows]

    def rotate_session(
        self, session_id: str, old_refresh_id: str, new_refresh_id: str, now: datetime
    ) -> Session | RotationRefusal:
        """Replace the refresh token of a session, once; an old one may be stolen, and revokes the session."""
        rotate = (
            update(_sessions)
            .where(*_alive(session_id, now), _sessions.c.refresh_id == old_refresh_id)
            .values(refresh_id=new_refresh_id, last_used_at=to_micros(now))
            .returning(*SESSION_COLUMNS)
        )
        with self._database.write() as connection:
            row = connection.execute(rotate).first()
            if row is not None:
                return to_session(row)
            revoke = update(_sessions).where(*_alive(session_id, now)).values(revoked_at=to_micros(now))
            return "reused" if connection.execute(revoke).rowcount else "ended"

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
            found = select(_sessions.c.user_id).where(*_alive(session_id, now)).with_for_update()
            user_id = connection.execute(found).scalar()
            if user_id is None:
                return None
            member = select(_members.c.role).where(
                _members.c.user_id == user_id, _members.c.organization_id == organization_id
            )
            if connection.execute(member).first() is None:
                raise NotFound("There is no such organization.")
            move = update(_sessions).where(_sessions.c.id == session_id).returning(*SESSION_COLUMNS)
            moved = {"organization_id": organization_id, "refresh_id": new_refresh_id, "last_used_at": to_micros(now)}
            whence = {name: text for name, text in zip(("ip_address", "user_agent"), seen, strict=True) if text}
            row = connection.execute(move.values(moved | whence)).one()
            append_audit(connection, now, audit)
            return to_session(row)

    def revoke_session(self, session_id: str, *, user_id: str | None = None, audit: AuditDraft | None = None) -> bool:
        """End a session (of `user_id`, if given); return whether it was active."""
        which = [_sessions.c.id == session_id, _sessions.c.revoked_at.is_(None)]
        if user_id is not None:
            which.append(_sessions.c.user_id == user_id)
        with self._database.write() as connection:
            now = self._clock()
            if not connection.execute(update(_sessions).where(*which).values(revoked_at=to_micros(now))).rowcount:
                return False
            append_audit(connection, now, audit)
            return True


def insert_session(connection: Connection, session: Session) -> None:
    """Implement `Sessions.create_session` in a transaction."""
    with clashing("A session of that id exists already.", "The user or the organization does not exist."):
        connection.execute(insert(_sessions), session_values(session))


def end_sign_ins(connection: Connection, now: int, user_id: str, *, organization_id: str | None = None) -> int:
    """End a user's sessions, grants and codes; return how many sessions."""
    for table in (oauth_codes, device_logins):
        connection.execute(delete(table).where(*_owned(table, user_id, organization_id)))
    revoke_owned(connection, oauth_grants, now, user_id, organization_id)
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


def _alive(session_id: str, now: datetime) -> list[ColumnElement[bool]]:
    return [_sessions.c.id == session_id, _sessions.c.revoked_at.is_(None), _sessions.c.expires_at > to_micros(now)]


REMEMBERED = timedelta(days=30)
"""Ended credentials are kept this long, to recognise a replay."""

UNUSED = timedelta(days=90)
"""Clients without a grant are deleted after this time."""


class Expiry(Store):
    def prune_expired(self) -> int:
        """Delete expired credentials and answers; return how many rows."""
        now = self._clock()
        at, before, unused = (to_micros(now - age) for age in (timedelta(0), REMEMBERED, UNUSED))
        granted = exists(select(oauth_grants.c.id).where(oauth_grants.c.client_id == oauth_clients.c.id))
        coded = exists(select(oauth_codes.c.code_hash).where(oauth_codes.c.client_id == oauth_clients.c.id))
        over: list[tuple[Table, ColumnElement[bool]]] = [
            (schema.idempotency_keys, schema.idempotency_keys.c.expires_at <= at),
            (_sessions, _sessions.c.expires_at < before),
            (tickets, tickets.c.expires_at < at),
            (device_logins, device_logins.c.expires_at < at),
            (password_resets, password_resets.c.expires_at < at),
            (invitations, invitations.c.expires_at < before),
            (oauth_tokens, oauth_tokens.c.expires_at < before),
            (oauth_tokens, (oauth_tokens.c.kind == "access") & (oauth_tokens.c.expires_at < at)),
            (oauth_codes, oauth_codes.c.expires_at < before),
            (oauth_grants, or_(oauth_grants.c.expires_at < before, oauth_grants.c.revoked_at < before)),
            (oauth_clients, (oauth_clients.c.last_used_at < unused) & ~granted & ~coded),
        ]
        with self._database.write() as connection:
            return sum(connection.execute(delete(table).where(which)).rowcount for table, which in over)


def replace_password(connection: Connection, now: int, user_id: str, password_hash: str | None) -> int:
    """Implement `Accounts.set_password_hash` in a transaction; the user is locked."""
    connection.execute(update(users).where(users.c.id == user_id).values(password_hash=password_hash))
    connection.execute(delete(password_resets).where(password_resets.c.user_id == user_id))
    return end_sign_ins(connection, now, user_id)
