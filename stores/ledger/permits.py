"""Permission checks that run inside the transaction, where roles cannot change."""

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
    actor_id: str
    check: Callable[[Role | None, Role | None], None]
    """Called with the actor's role and the role to be taken away; raises to refuse."""


def role_in(connection: Connection, organization_id: str, user_id: str) -> Role | None:
    values = {"of_organization": organization_id, "of_user": user_id}
    role: Role | None = connection.execute(_role, values).scalar()
    return role


def ask_permit(connection: Connection, organization_id: str, permit: Permit | None, before: Role | None = None) -> None:
    """Run a permit in a locked organization; None permits all."""
    if permit is not None:
        permit.check(role_in(connection, organization_id, permit.actor_id), before)
