"""Sessions: families of refresh tokens of which only the latest is valid."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, insert, select, update

from stores.ledger import schema
from stores.ledger.encoding import from_micros, optional_instant, optional_micros, to_micros
from stores.ledger.store import Store
from stores.records import Session

_sessions = schema.sessions

SESSION_COLUMNS = [
    _sessions.c[name]
    for name in ("id", "user_id", "organization_id", "refresh_id", "created_at", "expires_at", "revoked_at")
]

RotationRefusal = Literal["reused", "ended"]
"""`reused`: the refresh token was used before, and the whole session is revoked now. `ended`: it was over already."""


class Sessions(Store):
    """Sign-ins."""

    def create_session(self, session: Session) -> None:
        """Store a sign-in."""
        values = {
            "id": session.id,
            "user_id": session.user_id,
            "organization_id": session.organization_id,
            "refresh_id": session.refresh_id,
            "created_at": to_micros(session.created_at),
            "expires_at": to_micros(session.expires_at),
            "revoked_at": optional_micros(session.revoked_at),
        }
        with self._database.write() as connection:
            connection.execute(insert(_sessions), values)

    def session(self, session_id: str) -> Session | None:
        """Return a session, over or not."""
        row = self._first(select(*SESSION_COLUMNS).where(_sessions.c.id == session_id), {})
        return None if row is None else to_session(row)

    def rotate_session(
        self, session_id: str, old_refresh_id: str, new_refresh_id: str, now: datetime
    ) -> Session | RotationRefusal:
        """Replace the valid refresh token of a session; of two that try with the same one, one succeeds.

        A token that is not the valid one was used before, by its owner or by a thief: the whole session is revoked.
        """
        alive = (
            _sessions.c.id == session_id,
            _sessions.c.revoked_at.is_(None),
            _sessions.c.expires_at > to_micros(now),
        )
        rotate = (
            update(_sessions)
            .where(*alive, _sessions.c.refresh_id == old_refresh_id)
            .values(refresh_id=new_refresh_id)
            .returning(*SESSION_COLUMNS)
        )
        with self._database.write() as connection:
            row = connection.execute(rotate).first()
            if row is not None:
                return to_session(row)
            revoked = connection.execute(update(_sessions).where(*alive).values(revoked_at=to_micros(now)))
            return "reused" if revoked.rowcount else "ended"

    def revoke_session(self, session_id: str) -> bool:
        """End a session; tell whether it had not been ended before."""
        return self._revoke(_sessions.c.id == session_id) == 1

    def revoke_sessions(self, user_id: str, *, keep: str | None = None) -> int:
        """End all sessions of a user but the one to keep; return how many."""
        owned = _sessions.c.user_id == user_id
        return self._revoke(owned if keep is None else owned & (_sessions.c.id != keep))

    def prune_sessions(self, before: datetime) -> int:
        """Delete the sessions that were over before; return how many."""
        statement = _sessions.delete().where(_sessions.c.expires_at < to_micros(before))
        with self._database.write() as connection:
            return connection.execute(statement).rowcount

    def _revoke(self, which: ColumnElement[bool]) -> int:
        statement = update(_sessions).where(which, _sessions.c.revoked_at.is_(None))
        with self._database.write() as connection:
            return connection.execute(statement.values(revoked_at=to_micros(self._clock()))).rowcount


def to_session(row: Sequence[Any]) -> Session:
    """Return the session of a row of `SESSION_COLUMNS`."""
    cells: list[Any] = list(row)
    cells[4:7] = from_micros(cells[4]), from_micros(cells[5]), optional_instant(cells[6])
    return Session(*cells)
