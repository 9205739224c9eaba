"""Memberships, roles and invitations, whose tokens are hashes. Only a sign-in provider can remove the last owner."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Unpack

from sqlalchemy import ColumnElement, Connection, bindparam, select

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger.account_tables import INVITATIONS, MEMBERSHIPS, PROJECTS, UNANSWERED, USERS, api_keys, with_people
from stores.ledger.audit import AuditDraft, append_audit, detailed
from stores.ledger.columns import here
from stores.ledger.encoding import address_key, from_micros, to_micros
from stores.ledger.organizations import (
    Act,
    OrganizationStore,
    insert_membership,
    lock_organization,
    revoke_invitations_to,
    revoke_unvouched,
    role_in,
    vouched,
)
from stores.ledger.sessions import end_sign_ins, revoke_owned
from stores.ledger.spaces import end_memberships_in_spaces
from stores.ledger.store import TAKEN, Cells, clashing
from stores.records import Invitation, Member, Organization, Role

_members = with_people(MEMBERSHIPS, MEMBERSHIPS.c.role)


class Members(OrganizationStore):
    def members(self, organization_id: str) -> list[Member]:
        statement = _members.where(MEMBERSHIPS.c.organization_id == organization_id)
        return [to_member(row) for row in self._all(statement)]

    def member(self, organization_id: str, user_id: str) -> Member | None:
        of_user = MEMBERSHIPS.where(organization_id=organization_id, user_id=user_id)
        return self._one(_members.where(*of_user), {}, to_member)

    def add_membership(self, user_id: str, organization_id: str, role: Role, **act: Unpack[Act]) -> None:
        with self._changing(organization_id, **act) as connection:
            insert_membership(connection, to_micros(self._clock()), user_id, organization_id, role)

    def set_member_role(self, organization_id: str, user_id: str, role: Role, **act: Unpack[Act]) -> Role:
        """Change a role and return the one before, also audited. Conflict for the last owner and at home."""
        with self._changing_member(organization_id, user_id, act) as (connection, organization, before):
            if before == "owner" and role != "owner":
                _require_dispensable(connection, organization, user_id)
            _update_role(connection, to_micros(self._clock()), organization_id, user_id, role)
            return before

    def put_member(
        self, user_id: str, organization_id: str, role: Role, audit: AuditDraft | None = None
    ) -> Role | None:
        """Set the role claimed by the sign-in provider, even for the last owner; return the one before."""
        with self._database.write() as connection:
            lock_organization(connection, organization_id)
            now = self._clock()
            before = role_in(connection, organization_id, user_id)
            if before is None:
                insert_membership(connection, to_micros(now), user_id, organization_id, role)
            elif before != role:
                _update_role(connection, to_micros(now), organization_id, user_id, role)
            append_audit(connection, now, audit if before != role else None)
            return before

    def remove_member(self, organization_id: str, user_id: str, **act: Unpack[Act]) -> Role:
        """End a membership and return its role. Conflict for the last owner and at home."""
        with self._changing_member(organization_id, user_id, act) as (connection, organization, before):
            if before == "owner":
                _require_dispensable(connection, organization, user_id)
            end_membership(connection, to_micros(self._clock()), organization_id, user_id)
            return before

    def drop_member(self, user_id: str, organization_id: str, audit: AuditDraft | None = None) -> Role | None:
        """End a membership that the sign-in provider no longer claims, even of the last owner, but never at home."""
        with self._database.write() as connection:
            organization = lock_organization(connection, organization_id)
            before = role_in(connection, organization_id, user_id)
            if before is None or is_home(connection, organization, user_id):
                return None
            now = self._clock()
            end_membership(connection, to_micros(now), organization_id, user_id)
            append_audit(connection, now, detailed(audit, {"from": before}))
            return before

    @contextmanager
    def _changing_member(
        self, organization_id: str, user_id: str, act: Act
    ) -> Iterator[tuple[Connection, Organization, Role]]:
        with self._database.write() as connection:
            organization = lock_organization(connection, organization_id)
            before = role_in(connection, organization_id, user_id)
            if before is None:
                raise NotFound("There is no such member.")
            if (permit := act.get("permit")) is not None:
                permit.ask(connection, organization_id, self._clock(), before)
            yield connection, organization, before
            append_audit(connection, self._clock(), detailed(act.get("audit"), {"from": before}))


def end_membership(connection: Connection, now: int, organization_id: str, user_id: str) -> None:
    """End a membership of a locked organization with the roles, credentials and invitations that depend on it."""
    MEMBERSHIPS.remove(connection, organization_id=organization_id, user_id=user_id)
    PROJECTS.change(connection, {"creator_id": ""}, organization_id=organization_id, creator_id=user_id)
    end_memberships_in_spaces(connection, user_id, organization_id)
    revoke_invitations_to(connection, now, organization_id, user_id)
    revoke_unvouched(connection, now, user_id)
    end_sign_ins(connection, now, user_id, organization_id=organization_id)
    revoke_owned(connection, api_keys, now, user_id, organization_id)


def is_last(connection: Connection, organization_id: str, **role: Role) -> bool:
    """Tell whether a locked organization has one member, or one with the role, at most."""
    these = MEMBERSHIPS.where(organization_id=organization_id, **role)
    return len(connection.execute(select(MEMBERSHIPS.c.user_id).where(*these).limit(2)).all()) < 2


def is_home(connection: Connection, organization: Organization, user_id: str) -> bool:
    """Tell whether a locked organization is the user's personal one."""
    oldest = (
        select(MEMBERSHIPS.c.user_id)
        .where(MEMBERSHIPS.c.organization_id == organization.id)
        .order_by(MEMBERSHIPS.c.created_at, MEMBERSHIPS.c.user_id)
        .limit(1)
    )
    return organization.is_personal and connection.execute(oldest).scalar() == user_id


def _require_dispensable(connection: Connection, organization: Organization, user_id: str) -> None:
    if is_home(connection, organization, user_id):
        # It is where the user signs in when every other organization has gone.
        raise Conflict(
            "The owner of a personal organization cannot be changed.",
            remediation="Make another organization to share; this one lasts as long as its user's account.",
        )
    if is_last(connection, organization.id, role="owner"):
        raise Conflict(
            "This is the last owner of the organization, which needs one.",
            remediation="Make another member an owner first, or delete the organization.",
        )


def _update_role(connection: Connection, now: int, organization_id: str, user_id: str, role: Role) -> None:
    MEMBERSHIPS.change(connection, {"role": role}, organization_id=organization_id, user_id=user_id)
    revoke_unvouched(connection, now, user_id)


def to_member(row: Cells) -> Member:
    return Member(USERS.read(row), row[-2], from_micros(row[-1]))


_member_of_email = (
    select(USERS.c.id)
    .join(MEMBERSHIPS.table, MEMBERSHIPS.c.user_id == USERS.c.id)
    .where(USERS.c.email_key == bindparam("email"), here(MEMBERSHIPS))
)


class Invitations(OrganizationStore):
    def create(self, invitation: Invitation, token_hash: str, **act: Unpack[Act]) -> None:
        """Store an invitation; a pending one to the same address is revoked."""
        email_key = address_key(invitation.email)
        with self._changing(invitation.organization_id, **act) as connection:
            wanted = {"email": email_key, "organization": invitation.organization_id}
            if connection.execute(_member_of_email, wanted).first() is not None:
                raise Conflict(f"{invitation.email} is a member of the organization already.", remediation=TAKEN)
            earlier = {"organization_id": invitation.organization_id, "email_key": email_key} | UNANSWERED
            INVITATIONS.change(connection, {"revoked_at": to_micros(self._clock())}, **earlier)
            with clashing("An invitation of that id or token exists already."):
                INVITATIONS.insert(connection, invitation, token_hash=token_hash, email_key=email_key)

    def pending(self, organization_id: str) -> list[Invitation]:
        return self._list(INVITATIONS, *_pending(self._clock()), organization_id=organization_id)

    def by_token(self, token_hash: str) -> Invitation | None:
        return self._find(INVITATIONS, *_pending(self._clock()), token_hash=token_hash)

    def revoke(self, organization_id: str, invitation_id: str, **act: Unpack[Act]) -> None:
        with self._database.write() as connection:
            lock_organization(connection, organization_id)
            now = self._clock()
            found = INVITATIONS.one(connection, *_pending(now), organization_id=organization_id, id=invitation_id)
            if found is None:
                raise NotFound(
                    "There is no such pending invitation.",
                    remediation="List them with GET /api/orgs/{slug}/invitations and use an id.",
                )
            if (permit := act.get("permit")) is not None:
                permit.ask(connection, organization_id, now, found.role)
            INVITATIONS.change(connection, {"revoked_at": to_micros(now)}, id=invitation_id)
            append_audit(connection, now, act.get("audit"))

    def accept(self, token_hash: str, user_id: str, audit: AuditDraft | None = None) -> Invitation:
        """Spend an invitation, once: make the user a member.

        InvalidRequest if it does not hold or is for another address, Conflict for a member: then it stays.
        """
        with self._database.write() as connection:
            now = self._clock()
            invitation = _spend(connection, now, token_hash)
            found = USERS.cell(connection, "email_key", id=user_id)
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
    return [*INVITATIONS.where(**UNANSWERED), INVITATIONS.c.expires_at > to_micros(now), vouched]


def _spend(connection: Connection, now: datetime, token_hash: str) -> Invitation:
    found = INVITATIONS.one(connection, *_pending(now), token_hash=token_hash)
    if found is not None:
        # Lock the organization before the invitation, as deletions do.
        lock_organization(connection, found.organization_id)
        if INVITATIONS.change(connection, {"accepted_at": to_micros(now)}, *_pending(now), id=found.id):
            return found
    raise InvalidRequest(
        "The invitation is not valid, was used or revoked, or has expired.", remediation="Ask for a new invitation."
    )
