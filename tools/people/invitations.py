"""Invitations: offers of membership to an e-mail address, each accepted once."""

import uuid
from datetime import datetime, timedelta

from pydantic import Field

from auth.accounts import checked_email, require_invitation
from auth.rights import require_may_give, require_session
from auth.tokens import new_token, token_hash
from stores.records import Invitation, JsonObject, Organization, Role
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, DoneView, Request, Result, Route, entry, move, mutation
from tools.people.account import Email, Identifier, TokensView
from tools.people.organizations import OrganizationRequest, membership, permit_to_give
from tools.runtime.announcements import announce_member
from tools.runtime.mail import Delivery, Letter


class InviteRequest(OrganizationRequest):
    """An offer of membership."""

    email: Email = Field(description="Whom to invite: only an account of this address can accept.")
    role: Role = Field("member", description="The role in the organization.")
    expires_days: int = Field(7, ge=1, le=30, description="Days until the offer ends.")


class InvitationRequest(OrganizationRequest):
    """One invitation."""

    invitation_id: Identifier = Field(description="The invitation's id.")


class AcceptRequest(Request):
    """An invitation to accept."""

    token: Identifier = Field(description="The token at the end of the invitation's address.")


class MadeInvitationView(Result):
    """An invitation that was just made; its address is shown this once."""

    id: str
    email: str
    role: Role
    expires_at: datetime
    accept_url: str


class InvitedView(Result):
    """The invitation and the state of its mail."""

    invitation: MadeInvitationView
    mail: Delivery = Field(
        description="`sent`: the mail server took it; `kept`: there is none, and the letter lies in the data folder; "
        "`queued`: it is still on its way; `failed`: pass `accept_url` on yourself."
    )


class InvitationView(Result):
    """Pending invitation."""

    id: str
    email: str
    role: Role
    created_at: datetime
    expires_at: datetime


class InvitationsView(Result):
    """The pending invitations of an organization, the newest first."""

    invitations: list[InvitationView]


class AcceptedView(TokensView):
    """The session's organization and both tokens."""

    organization_id: str


def accept_url(app: App, token: str) -> str:
    """Return the URL that accepts an invitation: frontend page or route."""
    settings = app.settings
    if settings.frontend_url:
        return f"{settings.frontend_url.rstrip('/')}/invitations/{token}"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    base = settings.base_url or f"http://{host}:{settings.port}"
    return f"{base.rstrip('/')}/api/invitations/{token}/accept"


_PATH = "/api/orgs/{org_slug}/invitations"


@mutation(Route("POST", _PATH, tag="organizations", errors=(404, 409)), secret=True)
def invite(app: App, call: Call, request: InviteRequest) -> InvitedView:
    """Offer a membership to an e-mail address, and mail it there; an earlier offer to it ends.

    Admins may, and owners alone invite another owner. The `accept_url` in the answer is shown this once. Where the
    mail fails, the invitation holds all the same, and `mail` says so.
    """
    organization, role = membership(app, call.caller, request.org_slug)
    require_may_give(role, request.role)
    now, (token, stored) = app.clock(), new_token()
    invitation = Invitation(
        id=str(uuid.uuid4()),
        organization_id=organization.id,
        email=checked_email(request.email),
        role=request.role,
        invited_by=call.caller.user_id,
        created_at=now,
        expires_at=now + timedelta(days=request.expires_days),
    )
    details: JsonObject = {"email": invitation.email, "role": invitation.role}
    audit = audit_entry(call, "invitation.create", organization.id, invitation.id, details)
    permit = permit_to_give(call, request, request.role)
    app.ledger.invitations.create(invitation, stored, audit=audit, permit=permit)
    address = accept_url(app, token)
    delivery = app.mailer.send(_letter(app, call, organization, invitation, address))
    return InvitedView(invitation=MadeInvitationView.of(invitation, accept_url=address), mail=delivery)


def _letter(app: App, call: Call, organization: Organization, invitation: Invitation, address: str) -> Letter:
    inviter, name = _one_line(call.caller.user.name), _one_line(organization.name)
    if app.settings.frontend_url:
        way = f"Open {address}"
    else:
        way = f"Log in, or sign up with this e-mail address, and send POST to:\n\n{address}"
    return Letter(
        to=invitation.email,
        subject=f"{inviter} invites you to {name} on Engrain",
        text=f"Hello,\n\n{inviter} ({call.caller.user.email}) invites you to the organization {name} on Engrain,"
        f" as {invitation.role}.\n\n{way}\n\nIt works once, until {invitation.expires_at:%Y-%m-%d %H:%M} UTC. If you"
        " do not know who that is, there is nothing to do.\n",
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:80].replace("://", ": //")


@entry(Route("GET", _PATH, tag="organizations", errors=(404,)))
def list_invitations(app: App, call: Call, request: OrganizationRequest) -> InvitationsView:
    """List the pending invitations of an organization, the newest first; admins may."""
    organization, role = membership(app, call.caller, request.org_slug)
    require_may_give(role)
    return InvitationsView(
        invitations=[InvitationView.of(each) for each in app.ledger.invitations.pending(organization.id)]
    )


@mutation(Route("DELETE", _PATH + "/{invitation_id}", tag="organizations", errors=(404,)))
def revoke_invitation(app: App, call: Call, request: InvitationRequest) -> DoneView:
    """Withdraw a pending invitation; admins may, and owners alone that of an owner."""
    organization, role = membership(app, call.caller, request.org_slug)
    require_may_give(role)
    audit = audit_entry(call, "invitation.revoke", organization.id, request.invitation_id)
    permit = permit_to_give(call, request)
    app.ledger.invitations.revoke(organization.id, request.invitation_id, audit=audit, permit=permit)
    return DoneView()


@move(Route("POST", "/api/invitations/{token}/accept", errors=(400, 404, 409)), "permission_changed")
def accept_invitation(app: App, call: Call, request: AcceptRequest) -> AcceptedView:
    """Become a member of the organization that invited the caller's address, and move the session to it."""
    session_id = require_session(call.caller)
    invitation = require_invitation(app.accounts, request.token, call.caller.user.email)
    audit = audit_entry(call, "invitation.accept", invitation.organization_id, invitation.id)
    app.ledger.invitations.accept(token_hash(request.token), call.caller.user_id, audit)
    signed = app.accounts.switch(session_id, invitation.organization_id, origin=call.origin)
    identity = signed.identity
    call.then(announce_member, app, identity.organization.id, identity.user.id, "org_member_added", identity.role)
    call.then(app.events.renew_user, call.caller.user_id)
    return AcceptedView.of(signed, organization_id=identity.organization.id)
