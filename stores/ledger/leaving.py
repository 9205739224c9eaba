"""Leaving: what ends with a membership, and whose a personal organization is."""

from sqlalchemy import Connection, bindparam, delete, select, update

from stores.ledger.account_tables import api_keys, memberships
from stores.ledger.sessions import end_sign_ins
from stores.records import Organization

_first_member = (
    select(memberships.c.user_id)
    .where(memberships.c.organization_id == bindparam("organization"))
    .order_by(memberships.c.created_at, memberships.c.user_id)
    .limit(1)
)


def is_home_of(connection: Connection, organization: Organization, user_id: str) -> bool:
    """Tell whether a locked organization is a user's personal one.

    It is that of its first member, who stays in it and may have made others its owners too.
    """
    first = connection.execute(_first_member, {"organization": organization.id}).scalar()
    return organization.is_personal and first == user_id


def end_membership(connection: Connection, now: int, organization_id: str, user_id: str) -> None:
    """End a membership of a locked organization with all that came of it: roles, teams, sign-ins, API keys."""
    which = (memberships.c.organization_id == organization_id, memberships.c.user_id == user_id)
    connection.execute(delete(memberships).where(*which))
    end_sign_ins(connection, now, user_id, organization_id=organization_id)
    keys = update(api_keys).where(
        api_keys.c.organization_id == organization_id, api_keys.c.user_id == user_id, api_keys.c.revoked_at.is_(None)
    )
    connection.execute(keys.values(revoked_at=now))
