"""Links between users and their accounts at sign-in providers."""

from sqlalchemy import Connection, bindparam, insert, select, update

from stores.errors import Conflict, NotFound
from stores.ledger.account_rows import USER_COLUMNS, to_user
from stores.ledger.account_tables import external_identities, users
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.columns import to_values
from stores.ledger.encoding import address_key, check_id, check_text
from stores.ledger.reclaiming import lock_account, reclaim
from stores.ledger.store import Store, clashing
from stores.records import ExternalIdentity, User

CODEHOST = "codehost"
"""Provider whose subjects are account numbers of the code host."""

_links = external_identities
_by_link = (
    select(*USER_COLUMNS)
    .join(_links, _links.c.user_id == users.c.id)
    .where(_links.c.provider == bindparam("provider"), _links.c.subject == bindparam("subject"))
)
_by_id = select(*USER_COLUMNS).where(users.c.id == bindparam("user"))


class Links(Store):
    def user_by_link(self, provider: str, subject: str) -> User | None:
        return self._one(_by_link, {"provider": provider, "subject": subject}, to_user)

    def link_user(self, link: ExternalIdentity, *, vouched: bool = False, audit: AuditDraft | None = None) -> User:
        """Link a provider's account to an existing user, and set `codehost_id` if it is the code host; return the user.

        With `vouched` the provider vouches for the user's address: the address is verified, and the account
        reclaimed if it was not. Conflict if the account is another user's, the user has another one, or the
        address differs.
        """
        with self._database.write() as connection:
            account = lock_account(connection, link.user_id)
            if account is None:
                raise NotFound(f"User {link.user_id} does not exist.")
            now = self._clock()
            if vouched:
                _require_address(account[0], link)
                reclaim(connection, now, account, audit)
            insert_link(connection, link)
            if link.provider == CODEHOST:
                _set_codehost(connection, link)
            append_audit(connection, now, audit)
            return to_user(connection.execute(_by_id, {"user": link.user_id}).one())


def insert_link(connection: Connection, link: ExternalIdentity) -> None:
    check_id(link.provider)
    check_id(link.subject)
    check_text((link.email,))
    with clashing(f"That account of {link.provider} is linked to a user already.", "The user does not exist."):
        connection.execute(insert(_links), to_values(link))


def _require_address(user: User, link: ExternalIdentity) -> None:
    if address_key(user.email) != address_key(link.email or ""):
        # The address changed since the look-up: the provider vouches for another one.
        raise Conflict("The account has another e-mail address now.", remediation="Sign in again.")


def _set_codehost(connection: Connection, link: ExternalIdentity) -> None:
    free = update(users).where(users.c.id == link.user_id, users.c.codehost_id.is_(None))
    taken = "The account belongs to another account of the code host already."
    with clashing(taken):
        if connection.execute(free.values(codehost_id=int(link.subject))).rowcount == 0:
            raise Conflict(taken, remediation="Sign in with the account of the code host that you used before.")
