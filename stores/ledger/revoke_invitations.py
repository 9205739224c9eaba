"""Revocation of invitations: the inviter lost the right, or the invitee joined."""

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select, update

from stores.ledger.account_tables import invitations, memberships, users
from stores.records import GIVEN_BY

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
