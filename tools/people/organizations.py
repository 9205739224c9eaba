"""Organizations of the caller: list, create, change, delete and switch."""

import uuid
from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import Field, JsonValue, StringConstraints

from auth.accounts import SignedIn
from auth.principal import Principal
from auth.rights import require_admin, require_may_give, require_owner, require_session
from stores.errors import AuthenticationRequired, Conflict, Forbidden, InvalidRequest, NotFound
from stores.ledger import PERSONAL_SLUG, Permit
from stores.records import Organization, Role
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Nothing, Request, Result, Route, entry, move, mutation
from tools.people.account import MeRequest, OrganizationView, TokensView
from tools.records.projects import slug_of

Slug = Annotated[str, StringConstraints(min_length=1, max_length=64)]
OrganizationName = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"\S")]

Done = TypeVar("Done")


class OrganizationRequest(Request):
    """One of the caller's organizations."""

    org_slug: Slug = Field(description="The organization's slug.")


class CreateOrganizationRequest(Request):
    """A new organization."""

    name: OrganizationName = Field(description="Name.")
    slug: Slug | None = Field(
        None, description="Its name in paths: lower-case letters, digits and hyphens; made from the name when absent."
    )


class UpdateOrganizationRequest(OrganizationRequest):
    """The fields to change; those that are absent stay."""

    name: OrganizationName | None = Field(None, description="New name.")
    slug: Slug | None = Field(None, description="Its name in paths from now on.")


class DescribedOrganizationView(OrganizationView):
    """An organization, and whether it came with its user's account."""

    is_personal: bool


class OwnOrganizationView(DescribedOrganizationView):
    """An organization of the caller's."""

    role: Role


class OrganizationsView(Result):
    """The caller's organizations, the personal one first."""

    orgs: list[OwnOrganizationView]


class MembershipView(Result):
    """An organization and the caller's role in it."""

    organization: DescribedOrganizationView
    role: Role


class SwitchedView(TokensView):
    """The session's organization and both tokens."""

    organization: OrganizationView


def membership(app: App, caller: Principal, slug: str) -> tuple[Organization, Role]:
    """Return one of the caller's organizations, and the role in it. Blocks."""
    require_session(caller)
    found = app.ledger.people.membership_by_slug(caller.user_id, slug)
    if found is None:
        raise no_organization(slug)
    return found


def no_organization(slug: str) -> NotFound:
    return NotFound(f"There is no organization {slug}.", remediation="GET /api/orgs lists yours, with slugs.")


def permit(call: Call, check: Callable[[Role, Role | None], None], slug: str | None = None) -> Permit:
    """Check the role again in the transaction, where it can no longer change.

    `check` is called with the caller's role and the one that the write takes away. Who is no member any more is told
    that there is no organization of that slug, or without one that the session has ended.
    """

    def check_again(actor: Role | None, before: Role | None) -> None:
        if actor is None:
            raise AuthenticationRequired("The session has ended.") if slug is None else no_organization(slug)
        check(actor, before)

    return Permit(call.caller.user_id, check_again)


def permit_to_give(call: Call, request: OrganizationRequest, *given: Role) -> Permit:
    def check(actor: Role, before: Role | None) -> None:
        require_may_give(actor, *given, *([] if before is None else [before]))

    return permit(call, check, request.org_slug)


def switched_view(signed: SignedIn) -> SwitchedView:
    return SwitchedView.of(signed, organization=OrganizationView.of(signed.identity.organization))


def _membership_view(organization: Organization, role: Role) -> MembershipView:
    return MembershipView(organization=DescribedOrganizationView.of(organization), role=role)


@entry(Route("GET", "/api/orgs", tag="organizations"))
def list_organizations(app: App, call: Call, _request: MeRequest) -> OrganizationsView:
    """List the caller's organizations, the personal one first."""
    require_session(call.caller)
    found = app.ledger.people.memberships(call.caller.user_id)
    return OrganizationsView(orgs=[OwnOrganizationView.of(each, role=role) for each, role in found])


@move(Route("POST", "/api/orgs", status=201, errors=(404, 409)))
def create_organization(app: App, call: Call, request: CreateOrganizationRequest) -> SwitchedView:
    """Make an organization of which the caller is the owner, and move the session to it."""
    session_id = require_session(call.caller)
    name = request.name.strip()
    if request.slug:
        _require_unbound(app, call.caller, request.slug)
    organization_id, now = str(uuid.uuid4()), app.clock()
    audit = audit_entry(call, "organization.create", organization_id, organization_id)

    def store(slug: str) -> None:
        organization = Organization(organization_id, name, slug, is_personal=False, created_at=now)
        app.ledger.people.create_organization(organization, call.caller.user_id, audit)

    made = slug_of(name, "org")
    if made.startswith(PERSONAL_SLUG) or made in _bound_slugs(app):
        made = f"org-{made}-{uuid.uuid4().hex[:8]}"
    store_under(request.slug, made, store)
    call.then(app.events.renew_user, call.caller.user_id)
    return switched_view(app.accounts.switch(session_id, organization_id, origin=call.origin))


def store_under(asked: str | None, made: str, store: Callable[[str], Done]) -> Done:
    """Store under the requested slug, else under the made one, unique if taken.

    Storing is the test: between a look and a write, others write too.
    """
    if asked is not None:
        return store(asked)
    try:
        return store(made)
    except Conflict:
        return store(f"{made}-{uuid.uuid4().hex[:8]}")


def _bound_slugs(app: App) -> frozenset[str]:
    return app.settings.oidc.organization_slugs if app.settings.oidc else frozenset()


def _require_unbound(app: App, caller: Principal, *slugs: str) -> None:
    if not caller.user.is_admin and (bound := _bound_slugs(app) & set(slugs)):
        raise Forbidden(
            f"A sign-in provider is bound to the slug {min(bound)}.",
            remediation="Choose another slug, or ask an admin of the server.",
        )


@entry(Route("GET", "/api/orgs/{org_slug}", tag="organizations", errors=(404,)))
def get_organization(app: App, call: Call, request: OrganizationRequest) -> MembershipView:
    """Return one of the caller's organizations and the caller's role in it."""
    return _membership_view(*membership(app, call.caller, request.org_slug))


@mutation(Route("PATCH", "/api/orgs/{org_slug}", tag="organizations", errors=(400, 404, 409)))
def update_organization(app: App, call: Call, request: UpdateOrganizationRequest) -> MembershipView:
    """Give an organization another name, another slug, or both."""
    organization, role = membership(app, call.caller, request.org_slug)
    require_admin(role, "Changing it")
    given: list[JsonValue] = [name for name in ("name", "slug") if getattr(request, name) is not None]
    if not given:
        raise InvalidRequest("Nothing to change.", remediation="Send at least one of name, slug.")
    if request.slug is not None and request.slug != organization.slug:
        _require_unbound(app, call.caller, request.slug, organization.slug)
    edited = app.ledger.people.edit_organization(
        organization.id,
        name=request.name.strip() if request.name else None,
        slug=request.slug,
        audit=audit_entry(call, "organization.update", organization.id, organization.id, {"changed": given}),
        permit=permit(call, lambda actor, _: require_admin(actor, "Changing it"), request.org_slug),
    )
    return _membership_view(edited, role)


@mutation(Route("DELETE", "/api/orgs/{org_slug}", status=204, tag="organizations", errors=(404, 409)))
def delete_organization(app: App, call: Call, request: OrganizationRequest) -> Nothing:
    """Delete an organization with everything in it, at once for everybody; sessions in it end.

    A personal organization lasts as long as its user.
    """
    organization, role = membership(app, call.caller, request.org_slug)
    require_owner(role, "Deleting it")
    audit = audit_entry(call, "organization.delete", None, organization.id)
    still_owner = permit(call, lambda actor, _: require_owner(actor, "Deleting it"), request.org_slug)
    app.ledger.people.delete_organization(organization.id, audit=audit, permit=still_owner)
    call.then(app.events.renew, organization.id)
    return Nothing()


@move(Route("POST", "/api/orgs/{org_slug}/switch", errors=(404, 409)))
def switch_organization(app: App, call: Call, request: OrganizationRequest) -> SwitchedView:
    """Move the session to another of the caller's organizations; the tokens before hold no more."""
    organization, _ = membership(app, call.caller, request.org_slug)
    session_id = require_session(call.caller)
    audit = audit_entry(call, "session.switch", organization.id, session_id)
    call.then(app.events.renew_user, call.caller.user_id)
    return switched_view(app.accounts.switch(session_id, organization.id, audit, call.origin))
