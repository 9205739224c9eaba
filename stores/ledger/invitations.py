"""Invitations by mail, each accepted once. Tokens are stored as hashes only."""

from datetime import datetime
from typing import Unpack

from sqlalchemy import ColumnElement, Connection, bindparam, select

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger import schema
from stores.ledger.account_tables import invitations
from stores.ledger.audit import AuditDraft, append_audit
from stores.ledger.columns import RecordTable, here
from stores.ledger.encoding import address_key, to_micros
from stores.ledger.organizations import OrganizationStore, insert_membership, lock_organization
from stores.ledger.permits import Act, revoke_open, vouched
from stores.ledger.store import TAKEN, clashing
from stores.records import Invitation

_invitations = RecordTable(invitations, Invitation, "-created_at", "id")
_member_of_email = (
    select(schema.users.c.id)
    .join(schema.memberships, schema.memberships.c.user_id == schema.users.c.id)
    .where(schema.users.c.email_key == bindparam("email"), here(schema.memberships))
)


class Invitations(OrganizationStore):
    def create(self, invitation: Invitation, token_hash: str, **act: Unpack[Act]) -> None:
        """Store an invitation; a pending one to the same address is revoked."""
        email_key = address_key(invitation.email)
        with self._changing(invitation.organization_id, **act) as connection:
            wanted = {"email": email_key, "organization": invitation.organization_id}
            if connection.execute(_member_of_email, wanted).first() is not None:
                raise Conflict(f"{invitation.email} is a member of the organization already.", remediation=TAKEN)
            earlier = _invitations.where(organization_id=invitation.organization_id, email_key=email_key)
            revoke_open(connection, to_micros(self._clock()), *earlier)
            with clashing("An invitation of that id or token exists already."):
                _invitations.insert(connection, invitation, token_hash=token_hash, email_key=email_key)

    def pending(self, organization_id: str) -> list[Invitation]:
        return self._list(_invitations, *_pending(self._clock()), organization_id=organization_id)

    def by_token(self, token_hash: str) -> Invitation | None:
        return self._find(_invitations, *_pending(self._clock()), token_hash=token_hash)

    def revoke(self, organization_id: str, invitation_id: str, **act: Unpack[Act]) -> None:
        with self._database.write() as connection:
            lock_organization(connection, organization_id)
            now = self._clock()
            found = _invitations.one(connection, *_pending(now), organization_id=organization_id, id=invitation_id)
            if found is None:
                raise NotFound(
                    "There is no such pending invitation.",
                    remediation="List them with GET /api/orgs/{slug}/invitations and use an id.",
                )
            if (permit := act.get("permit")) is not None:
                permit.ask(connection, organization_id, now, found.role)
            _invitations.change(connection, {"revoked_at": to_micros(now)}, id=invitation_id)
            append_audit(connection, now, act.get("audit"))

    def accept(self, token_hash: str, user_id: str, audit: AuditDraft | None = None) -> Invitation:
        """Spend an invitation, once: make the user a member.

        InvalidRequest if it does not hold or is for another address, Conflict for a member: then it stays.
        """
        with self._database.write() as connection:
            now = self._clock()
            invitation = _spend(connection, now, token_hash)
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


def _pending(now: datetime) -> list[ColumnElement[bool]]:
    open_ = _invitations.where(accepted_at=None, revoked_at=None)
    return [*open_, invitations.c.expires_at > to_micros(now), vouched]


def _spend(connection: Connection, now: datetime, token_hash: str) -> Invitation:
    found = _invitations.one(connection, *_pending(now), token_hash=token_hash)
    if found is not None:
        # Lock the organization before the invitation, as deletions do.
        lock_organization(connection, found.organization_id)
        if _invitations.change(connection, {"accepted_at": to_micros(now)}, *_pending(now), id=found.id):
            return found
    raise InvalidRequest(
        "The invitation is not valid, was used or revoked, or has expired.", remediation="Ask for a new invitation."
    )
