"""Password resets: mailed one-time tokens, stored as hashes only."""

from datetime import datetime, timedelta

from sqlalchemy import delete, func, insert, select

from stores.errors import InvalidRequest
from stores.ledger.account_rows import USER_COLUMNS, to_user
from stores.ledger.account_tables import password_resets, users
from stores.ledger.accounts import replace_password
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.encoding import check_id, to_micros
from stores.ledger.reclaiming import lock_account, reclaim
from stores.ledger.store import Store, clashing
from stores.records import User

RESET_EVERY = timedelta(minutes=2)
"""Minimum time between mails to a user."""

_resets = password_resets


class Resets(Store):
    def create_password_reset(self, user_id: str, token_hash: str, expires_at: datetime) -> bool:
        """Store the hash of a reset token; return whether to mail it.

        False within `RESET_EVERY` of the last one. Earlier tokens stay valid: nobody can void another one's mail.
        """
        check_id(token_hash)
        now = self._clock()
        with self._database.write() as connection:
            user = select(users.c.id).where(users.c.id == user_id).with_for_update()
            newest = select(func.max(_resets.c.created_at)).where(_resets.c.user_id == user_id)
            if connection.execute(user).first() is None:
                return False
            last = connection.execute(newest).scalar()
            if last is not None and last > to_micros(now - RESET_EVERY):
                return False
            values = {
                "token_hash": token_hash,
                "user_id": user_id,
                "created_at": to_micros(now),
                "expires_at": to_micros(expires_at),
            }
            with clashing("There is such a token already."):
                connection.execute(insert(_resets), values)
            return True

    def password_reset_user(self, token_hash: str) -> User | None:
        """Return the user of a valid token, without spending it."""
        statement = (
            select(*USER_COLUMNS)
            .join(_resets, _resets.c.user_id == users.c.id)
            .where(_resets.c.token_hash == token_hash, _resets.c.expires_at > to_micros(self._clock()))
        )
        return self._one(statement, {}, to_user)

    def reset_password(self, token_hash: str, password_hash: str, audit: AuditDraft | None = None) -> User:
        """Spend a token: replace the password, end all sign-ins; return the user.

        The address is verified, and the account reclaimed if it was not.

        Raises:
            InvalidRequest: `invalid_reset_token`: the token is unknown, spent or expired.
        """
        with self._database.write() as connection:
            now = self._clock()
            micros = to_micros(now)
            of_token = (_resets.c.token_hash == token_hash, _resets.c.expires_at > micros)
            user_id = connection.execute(select(_resets.c.user_id).where(*of_token)).scalar()
            account = None if user_id is None else lock_account(connection, user_id)
            # After the account's lock, in the order of deletions.
            if account is None or connection.execute(delete(_resets).where(*of_token)).rowcount == 0:
                raise InvalidRequest(
                    "The reset token is not valid, was used, or has expired.",
                    code="invalid_reset_token",
                    remediation="Ask for a new password reset and use the newest mail.",
                )
            reclaim(connection, now, account, audit)
            replace_password(connection, micros, account[0].id, password_hash)
            append_audit(connection, now, audit)
            return to_user(connection.execute(select(*USER_COLUMNS).where(users.c.id == user_id)).one())
