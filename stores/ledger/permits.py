"""Permission checks that run inside the transaction, where roles cannot change."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypedDict

from sqlalchemy import Connection, bindparam, select

from stores.ledger.account_tables import memberships
from stores.ledger.audit import AuditDraft
from stores.ledger.columns import here
from stores.records import Role

_role = select(memberships.c.role).where(
    here(memberships, "of_organization"), memberships.c.user_id == bindparam("of_user")
)


class Asked(Protocol):
    def ask(self, connection: Connection, organization_id: str, now: datetime, before: Role | None = None) -> None:
        """Raise to refuse."""


@dataclass(frozen=True, slots=True)
class Permit:
    actor_id: str
    check: Callable[[Role | None, Role | None], None]
    """Called with the actor's role and the role to be taken away; raises to refuse."""

    def ask(self, connection: Connection, organization_id: str, now: datetime, before: Role | None = None) -> None:
        self.check(role_in(connection, organization_id, self.actor_id), before)


class Act(TypedDict, total=False):
    """Audit entry of a change, and the permit that it needs; without one all is permitted."""

    audit: AuditDraft | None
    permit: Asked | None


def role_in(connection: Connection, organization_id: str, user_id: str) -> Role | None:
    values = {"of_organization": organization_id, "of_user": user_id}
    role: Role | None = connection.execute(_role, values).scalar()
    return role
