"""Permission checks inside the transaction, where roles cannot change; revocation of invitations by the same rules."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, or_, select, update

from stores.ledger.account_tables import invitations, memberships, users
from stores.ledger.audit import AuditDraft
from stores.ledger.columns import here
from stores.records import GIVEN_BY, Role

_role = select(memberships.c.role).where(
    here(memberships, "of_organization"), memberships.c.user_id == bindparam("of_user")
)


@dataclass(frozen=True, slots=True)
class Permit:
    actor_id: str
    check: Callable[[Any, Any], None]
    """Called with the actor's role and the role to be taken away; raises to refuse."""

    def ask(self, connection: Connection, organization_id: str, now: datetime, before: Role | None = None) -> None:
        self.check(role_in(connection, organization_id, self.actor_id), before)


class Act(TypedDict, total=False):
    """Audit entry of a change, and the permit that it needs; without one all is permitted."""

    audit: AuditDraft | None
    permit: Permit | None


def role_in(connection: Connection, organization_id: str, user_id: str) -> Role | None:
    values = {"of_organization": organization_id, "of_user": user_id}
    role: Role | None = connection.execute(_role, values).scalar()
    return role


_giver = memberships.alias("giver")

vouched = exists(
    select(_giver.c.role)
    .where(
        _giver.c.organization_id == invitations.c.organization_id,
        _giver.c.user_id == invitations.c.invited_by,
        or_(*(and_(_giver.c.role == giver, invitations.c.role.in_(given)) for giver, given in GIVEN_BY.items())),
    )
    .correlate(invitations)
)
"""SQL condition: the inviter may still give the role."""


def revoke_open(connection: Connection, now: int, *which: ColumnElement[bool]) -> None:
    """Revoke those of these invitations that are neither accepted nor revoked."""
    unanswered = (invitations.c.accepted_at.is_(None), invitations.c.revoked_at.is_(None))
    connection.execute(update(invitations).where(*which, *unanswered).values(revoked_at=now))


def revoke_invitations_to(connection: Connection, now: int, organization_id: str, user_id: str) -> None:
    """Revoke invitations to a user who joins or leaves a locked organization."""
    address = select(users.c.email_key).where(users.c.id == user_id).scalar_subquery()
    revoke_open(connection, now, invitations.c.organization_id == organization_id, invitations.c.email_key == address)


def revoke_unvouched(connection: Connection, now: int, user_id: str) -> None:
    """Revoke a user's invitations to roles that the user may not give any more."""
    revoke_open(connection, now, invitations.c.invited_by == user_id, ~vouched)
