"""Permits: whether somebody may do a deed, asked in its transaction, where no role changes any more."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from stores.ledger.account_tables import memberships
from stores.records import Role

_role = select(memberships.c.role).where(
    memberships.c.organization_id == bindparam("of_organization"), memberships.c.user_id == bindparam("of_user")
)


@dataclass(frozen=True, slots=True)
class Permit:
    """Permission check for an actor, run inside the transaction."""

    actor_id: str
    check: Callable[[Role | None, Role | None], None]
    """Called with the role of the actor, and with the one that the deed takes away or withdraws, as they are; raises
    to refuse, and nothing is written."""


def role_in(connection: Connection, organization_id: str, user_id: str) -> Role | None:
    """Return the role of a user in an organization; None for no member."""
    values = {"of_organization": organization_id, "of_user": user_id}
    role: Role | None = connection.execute(_role, values).scalar()
    return role


def ask_permit(connection: Connection, organization_id: str, permit: Permit | None, before: Role | None = None) -> None:
    """Let a permit refuse, in the transaction of a locked organization; None refuses nothing."""
    if permit is not None:
        permit.check(role_in(connection, organization_id, permit.actor_id), before)
