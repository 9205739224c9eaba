"""Links between users and their accounts at sign-in providers."""

from sqlalchemy import Connection

from stores.errors import Conflict, NotFound
from stores.ledger.account_rows import USERS
from stores.ledger.account_tables import external_identities, users
from stores.ledger.audit import AuditDraft, AuditedStore
from stores.ledger.encoding import address_key
from stores.ledger.reclaiming import lock_account, reclaim
from stores.ledger.record_table import RecordTable
from stores.ledger.store import clashing
from stores.records import ExternalIdentity, User

CODEHOST = "codehost"
"""Provider whose subjects are account numbers of the code host."""

_links = RecordTable(external_identities, ExternalIdentity)


class Links(AuditedStore):
    def user_by_link(self, provider: str, subject: str) -> User | None:
        by_link = USERS.select(*_links.where(provider=provider, subject=subject))
        return self._one(by_link.join(_links.table, _links.table.c.user_id == users.c.id), {}, USERS.read)

    def link_user(self, link: ExternalIdentity, *, vouched: bool = False, audit: AuditDraft | None = None) -> User:
        """Link a provider's account to an existing user, and set `codehost_id` if it is the code host; return the user.

        With `vouched` the provider vouches for the user's address: the address is verified, and the account
        reclaimed if it was not. Conflict if the account is another user's, the user has another one, or the
        address differs.
        """
        with self._audited(audit) as connection:
            account = lock_account(connection, link.user_id)
            if account is None:
                raise NotFound(f"User {link.user_id} does not exist.")
            if vouched:
                _require_address(account[0], link)
                reclaim(connection, self._clock(), account, audit)
            insert_link(connection, link)
            if link.provider == CODEHOST:
                _set_codehost(connection, link)
            return USERS.read(connection.execute(USERS.select(id=link.user_id)).one())


def insert_link(connection: Connection, link: ExternalIdentity) -> None:
    with clashing(f"That account of {link.provider} is linked to a user already.", "The user does not exist."):
        _links.insert(connection, link)


def _require_address(user: User, link: ExternalIdentity) -> None:
    if address_key(user.email) != address_key(link.email or ""):
        # The address changed since the look-up: the provider vouches for another one.
        raise Conflict("The account has another e-mail address now.", remediation="Sign in again.")


def _set_codehost(connection: Connection, link: ExternalIdentity) -> None:
    taken = "The account belongs to another account of the code host already."
    with clashing(taken):
        if not USERS.change(connection, {"codehost_id": int(link.subject)}, id=link.user_id, codehost_id=None):
            raise Conflict(taken, remediation="Sign in with the account of the code host that you used before.")
