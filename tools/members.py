"""Members of an organization: who they are, and the roles that they get, change and lose."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.rights import require_may_give
from stores.errors import NotFound
from stores.records import Member, Role, User
from tools.announcements import announce_member
from tools.app import App
from tools.deeds import deed
from tools.operation import Call, Operation, Result, Route
from tools.organizations import OrganizationRequest, membership, permit_to_give
from tools.sessions import DoneView
from tools.threads import in_thread

UserId = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class MemberRequest(OrganizationRequest):
    """One member of an organization."""

    user_id: UserId = Field(description="The user's id.")


class AddMemberRequest(MemberRequest):
    """A user who becomes a member."""

    role: Role = Field("member", description="The role in the organization.")


class ChangeMemberRequest(MemberRequest):
    """A member's new role."""

    role: Role = Field(description="The role in the organization from now on.")


class PersonView(Result):
    """A user, as others in the organization see it."""

    id: str
    email: str
    name: str
    avatar_url: str | None
    codehost_id: int | None


class MemberView(Result):
    """A member and its role."""

    user: PersonView
    role: Role
    created_at: datetime


class MembersView(Result):
    """The members of an organization, the oldest membership first."""

    members: list[MemberView]


def person_view(user: User) -> PersonView:
    """Show a user to others in the organization."""
    return PersonView(
        id=user.id, email=user.email, name=user.name, avatar_url=user.avatar_url, codehost_id=user.codehost_id
    )


def _member_view(member: Member) -> MemberView:
    return MemberView(user=person_view(member.user), role=member.role, created_at=member.joined_at)


def _present(app: App, organization_id: str, user_id: str) -> Member:
    member = app.ledger.member(organization_id, user_id)
    if member is None:
        raise NotFound(
            "There is no such member.", remediation="List the members with GET /api/orgs/{slug}/members and use an id."
        )
    return member


async def list_members(app: App, call: Call, request: OrganizationRequest) -> MembersView:
    """List the members of one of the caller's organizations, the oldest membership first."""

    def read() -> list[Member]:
        organization, _ = membership(app, call.caller, request.org_slug)
        return app.ledger.members(organization.id)

    return MembersView(members=[_member_view(member) for member in await in_thread(read)])


async def add_member(app: App, call: Call, request: AddMemberRequest) -> MemberView:
    """Make a user a member of an organization; admins may, and owners alone make another owner."""

    def write() -> tuple[str, Member]:
        organization, role = membership(app, call.caller, request.org_slug)
        require_may_give(role, request.role)
        audit = deed(call, "member.add", organization.id, request.user_id, {"role": request.role})
        permit = permit_to_give(call, request, request.role)
        app.ledger.add_membership(request.user_id, organization.id, request.role, audit, permit=permit)
        return organization.id, _present(app, organization.id, request.user_id)

    organization_id, added = await in_thread(write)
    await announce_member(app, organization_id, request.user_id, "org_member_added", request.role)
    return _member_view(added)


async def change_member(app: App, call: Call, request: ChangeMemberRequest) -> MemberView:
    """Change a member's role; owners alone touch the role of an owner, and the last owner stays one."""

    def write() -> tuple[str, Member]:
        organization, role = membership(app, call.caller, request.org_slug)
        require_may_give(role, request.role)
        audit = deed(call, "member.role_change", organization.id, request.user_id, {"to": request.role})
        permit = permit_to_give(call, request, request.role)
        app.ledger.set_member_role(organization.id, request.user_id, request.role, audit, permit=permit)
        return organization.id, _present(app, organization.id, request.user_id)

    organization_id, changed = await in_thread(write)
    await announce_member(app, organization_id, request.user_id, "org_role_changed", request.role)
    return _member_view(changed)


async def remove_member(app: App, call: Call, request: MemberRequest) -> DoneView:
    """End a membership: everybody may leave, admins remove others, owners alone an owner. The last owner stays.

    Project roles, teams, sessions and API keys of the member in this organization end at once.
    """

    def write() -> tuple[str, Role]:
        organization, role = membership(app, call.caller, request.org_slug)
        leaves = request.user_id == call.caller.user_id
        if not leaves:
            require_may_give(role)
        audit = deed(call, "member.remove", organization.id, request.user_id)
        permit = None if leaves else permit_to_give(call, request)
        return organization.id, app.ledger.remove_member(organization.id, request.user_id, audit, permit=permit)

    organization_id, before = await in_thread(write)
    await announce_member(app, organization_id, request.user_id, "org_member_removed", before)
    return DoneView()


_PATH = "/api/orgs/{org_slug}/members"
_ONE = _PATH + "/{user_id}"
_EVENTS = ("permission_changed",)
_ERRORS = frozenset({404, 409})

OPERATIONS = (
    Operation(list_members, route=Route("GET", _PATH, tag="organizations", errors=frozenset({404}))),
    Operation(
        add_member,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("POST", _PATH, tag="organizations", errors=_ERRORS),
    ),
    Operation(
        change_member,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("PATCH", _ONE, tag="organizations", errors=_ERRORS),
    ),
    Operation(
        remove_member,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("DELETE", _ONE, tag="organizations", errors=_ERRORS),
    ),
)
