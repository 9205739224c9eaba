"""Removal of expired credentials."""

from datetime import timedelta

from sqlalchemy import ColumnElement, Table, delete, exists, or_, select

from stores.ledger.account_tables import (
    device_logins,
    invitations,
    oauth_clients,
    oauth_codes,
    oauth_grants,
    oauth_tokens,
    password_resets,
    tickets,
)
from stores.ledger.encoding import to_micros
from stores.ledger.store import Store

REMEMBERED = timedelta(days=30)
"""Ended credentials are kept this long, to recognise a replay."""

UNUSED = timedelta(days=90)
"""Clients without a grant are deleted after this time."""


class Expiry(Store):
    def prune_expired(self) -> int:
        """Delete expired credentials; return how many rows."""
        now = self._clock()
        at, before, unused = (to_micros(now - age) for age in (timedelta(0), REMEMBERED, UNUSED))
        granted = exists(select(oauth_grants.c.id).where(oauth_grants.c.client_id == oauth_clients.c.id))
        coded = exists(select(oauth_codes.c.code_hash).where(oauth_codes.c.client_id == oauth_clients.c.id))
        over: list[tuple[Table, ColumnElement[bool]]] = [
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
