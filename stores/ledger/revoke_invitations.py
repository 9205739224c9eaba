"""Revocation of invitations: the inviter lost the right, or the invitee joined."""

from sqlalchemy import Connection, and_, exists, or_, select, update

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

_open = (invitations.c.accepted_at.is_(None), invitations.c.revoked_at.is_(None))


def revoke_invitations_to(connection: Connection, now: int, organization_id: str, user_id: str) -> None:
    """Revoke invitations to a user who joins or leaves a locked organization."""
    address = select(users.c.email_key).where(users.c.id == user_id).scalar_subquery()
    of_address = (invitations.c.organization_id == organization_id, invitations.c.email_key == address)
    connection.execute(update(invitations).where(*of_address, *_open).values(revoked_at=now))


def revoke_unvouched(connection: Connection, now: int, user_id: str) -> None:
    """Revoke a user's invitations to roles that the user may not give any more."""
    made = update(invitations).where(invitations.c.invited_by == user_id, *_open, ~vouched)
    connection.execute(made.values(revoked_at=now))
