"""Invitations by mail, each accepted once. Tokens are stored as hashes only."""

from typing import Any, Unpack

from sqlalchemy import Connection, bindparam, insert, select, update

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger import schema
from stores.ledger.account_tables import invitations
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.columns import columns_of, here, reader, to_values
from stores.ledger.encoding import address_key, check_id, check_keys, check_text, to_micros
from stores.ledger.organizations import OrganizationStore, insert_membership, lock_organization
from stores.ledger.permits import Act
from stores.ledger.revoke_invitations import revoke_open, vouched
from stores.ledger.store import TAKEN, clashing
from stores.records import Invitation, Role

_invitations = invitations
_columns = columns_of(_invitations, Invitation)
_to_invitation = reader(Invitation)
_pending = (
    _invitations.c.accepted_at.is_(None),
    _invitations.c.revoked_at.is_(None),
    _invitations.c.expires_at > bindparam("now"),
    vouched,
)
_pending_of = (
    select(*_columns).where(here(_invitations), *_pending).order_by(_invitations.c.created_at.desc(), _invitations.c.id)
)
_by_token = select(*_columns).where(_invitations.c.token_hash == bindparam("token"), *_pending)
_member_of_email = (
    select(schema.users.c.id)
    .join(schema.memberships, schema.memberships.c.user_id == schema.users.c.id)
    .where(schema.users.c.email_key == bindparam("email"), here(schema.memberships))
)


class Invitations(OrganizationStore):
    def create(self, invitation: Invitation, token_hash: str, **act: Unpack[Act]) -> None:
        """Store an invitation; a pending one to the same address is revoked."""
        values = _values(invitation, token_hash)
        with self._changing(invitation.organization_id, **act) as connection:
            wanted = {"email": address_key(invitation.email), "organization": invitation.organization_id}
            if connection.execute(_member_of_email, wanted).first() is not None:
                raise Conflict(f"{invitation.email} is a member of the organization already.", remediation=TAKEN)
            earlier = (_invitations.c.organization_id == invitation.organization_id,
                       _invitations.c.email_key == values["email_key"])  # fmt: skip
            revoke_open(connection, to_micros(self._clock()), *earlier)
            with clashing("An invitation of that id or token exists already."):
                connection.execute(insert(_invitations), values)

    def pending(self, organization_id: str) -> list[Invitation]:
        values = {"organization": organization_id, "now": to_micros(self._clock())}
        return [_to_invitation(row) for row in self._all(_pending_of, values)]

    def by_token(self, token_hash: str) -> Invitation | None:
        return self._one(_by_token, {"token": token_hash, "now": to_micros(self._clock())}, _to_invitation)

    def revoke(self, organization_id: str, invitation_id: str, **act: Unpack[Act]) -> None:
        with self._database.write() as connection:
            lock_organization(connection, organization_id)
            now = self._clock()
            which = (_invitations.c.organization_id == organization_id, _invitations.c.id == invitation_id)
            found = select(_invitations.c.role).where(*which, *_pending)
            role: Role | None = connection.execute(found, {"now": to_micros(now)}).scalar()
            if role is None:
                raise NotFound(
                    "There is no such pending invitation.",
                    remediation="List them with GET /api/orgs/{slug}/invitations and use an id.",
                )
            if (permit := act.get("permit")) is not None:
                permit.ask(connection, organization_id, now, role)
            connection.execute(update(_invitations).where(*which).values(revoked_at=to_micros(now)))
            append_audit(connection, now, act.get("audit"))

    def accept(self, token_hash: str, user_id: str, audit: AuditDraft | None = None) -> Invitation:
        """Spend an invitation, once: make the user a member.

        InvalidRequest if it does not hold or is for another address, Conflict for a member: then it stays.
        """
        with self._database.write() as connection:
            now = self._clock()
            invitation = _spend(connection, to_micros(now), token_hash)
            email = select(schema.users.c.email_key).where(schema.users.c.id == user_id)
            found = connection.execute(email).scalar()
            if found is None:
                raise NotFound(f"User {user_id} does not exist.")
            if found != address_key(invitation.email):
                raise InvalidRequest(
                    "The invitation is for another e-mail address.",
                    remediation="Log in with the address that the invitation was sent to.",
                )
            insert_membership(connection, to_micros(now), user_id, invitation.organization_id, invitation.role)
            append_audit(connection, now, audit)
            return invitation


def _spend(connection: Connection, now: int, token_hash: str) -> Invitation:
    row = connection.execute(_by_token, {"token": token_hash, "now": now}).first()
    if row is not None:
        # Lock the organization before the invitation, as deletions do.
        lock_organization(connection, row.organization_id)
        statement = update(_invitations).where(_invitations.c.id == row.id, *_pending).values(accepted_at=now)
        if connection.execute(statement, {"now": now}).rowcount == 1:
            return _to_invitation(row)
    raise InvalidRequest(
        "The invitation is not valid, was used or revoked, or has expired.", remediation="Ask for a new invitation."
    )


def _values(invitation: Invitation, token_hash: str) -> dict[str, Any]:
    check_id(invitation.id)
    check_id(token_hash)
    check_keys((address_key(invitation.email), invitation.invited_by))
    check_text((invitation.email,))
    named = {"token_hash": token_hash, "email_key": address_key(invitation.email)}
    return to_values(invitation) | named
