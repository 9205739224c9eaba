"""Members of organizations and projects: the roles that they get, change and lose."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field

from auth.policy import principal_of
from auth.rights import may_manage_project, require_may_give, require_project_manager
from stores.errors import AuthenticationRequired, NotFound
from stores.ledger import ProjectPermit
from stores.records import Access, Identity, JsonObject, ProjectRole, Role
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, DoneView, Method, Request, Result, Route, Verb, entry, mutation
from tools.people.account import Identifier, UserBrief
from tools.people.organizations import OrganizationRequest, membership, permit_to_give
from tools.records.projects import require_live
from tools.runtime.announcements import MemberChange, ProjectChange, ProjectNews, announce_member, announce_project_news

GivenRole = Literal["project_viewer", "project_contributor", "project_maintainer"]


class PersonView(UserBrief):
    """A user, as others in the organization see it."""

    avatar_url: str | None
    codehost_id: int | None


class MemberRequest(OrganizationRequest):
    """One member of an organization."""

    user_id: Identifier = Field(description="The user's id.")


class AddMemberRequest(MemberRequest):
    """A user who becomes a member."""

    role: Role = Field("member", description="The role in the organization.")


class ChangeMemberRequest(MemberRequest):
    """A member's new role."""

    role: Role = Field(description="The role in the organization from now on.")


class Joined(Result):
    """Base of members."""

    user: PersonView

    @classmethod
    def of(cls, record: Any, **more: Any) -> Self:
        return super().of(record, user=PersonView.of(record.user), created_at=record.joined_at, **more)


class MemberView(Joined):
    """A member and its role."""

    role: Role
    created_at: datetime


class MembersView(Result):
    """The members of an organization, the oldest membership first."""

    members: list[MemberView]


class ProjectRequest(Request):
    """One project."""

    project_id: Identifier = Field(description="The project's id.")


class ProjectMemberRequest(ProjectRequest):
    """One member of a project."""

    user_id: Identifier = Field(description="The user's id.")


class AddProjectMemberRequest(ProjectMemberRequest):
    """A member of the organization who gets a role in a project."""

    role: GivenRole = Field("project_contributor", description="The role in the project.")


class ChangeProjectMemberRequest(ProjectMemberRequest):
    """A member's new role in a project."""

    role: GivenRole = Field(description="The role in the project from now on.")


class ProjectMemberView(Joined):
    """A user with a role of its own in a project."""

    role: ProjectRole
    created_at: datetime | None = Field(description="Null for the creator of the project.")


class ProjectMembersView(Result):
    """The owner of a project, then its members, and whether the caller may change them."""

    members: list[ProjectMemberView]
    can_manage: bool


_ORGANIZATION = "/api/orgs/{org_slug}/members"
_PROJECT = "/api/projects/{project_id}/members"


def _route(method: Method, path: str, *errors: int) -> Route:
    tag = "projects" if path.startswith(_PROJECT) else "organizations"
    return Route(method, path, tag=tag, errors=errors)


@entry(_route("GET", _ORGANIZATION, 404))
def list_members(app: App, call: Call, request: OrganizationRequest) -> MembersView:
    """List the members of one of the caller's organizations, the oldest membership first."""
    organization, _ = membership(app, call.caller, request.org_slug)
    return MembersView(members=[MemberView.of(member) for member in app.ledger.people.members(organization.id)])


def _write(route: Route) -> Callable[[Verb], Verb]:
    return mutation(route, events=("permission_changed",))


@_write(_route("POST", _ORGANIZATION, 404, 409))
def add_member(app: App, call: Call, request: AddMemberRequest) -> MemberView:
    """Make a user a member of an organization; admins may, and owners alone make another owner."""
    return _give_role(app, call, request, "org_member_added")


@_write(_route("PATCH", _ORGANIZATION + "/{user_id}", 404, 409))
def change_member(app: App, call: Call, request: ChangeMemberRequest) -> MemberView:
    """Change a member's role; owners alone touch the role of an owner, and the last owner stays one."""
    return _give_role(app, call, request, "org_role_changed")


def _give_role(
    app: App, call: Call, request: AddMemberRequest | ChangeMemberRequest, change: MemberChange
) -> MemberView:
    organization, role = membership(app, call.caller, request.org_slug)
    require_may_give(role, request.role)
    permit, people = permit_to_give(call, request, request.role), app.ledger.people
    if change == "org_member_added":
        audit = audit_entry(call, "member.add", organization.id, request.user_id, {"role": request.role})
        people.add_membership(request.user_id, organization.id, request.role, audit=audit, permit=permit)
    else:
        audit = audit_entry(call, "member.role_change", organization.id, request.user_id, {"to": request.role})
        people.set_member_role(organization.id, request.user_id, request.role, audit=audit, permit=permit)
    call.then(announce_member, app, organization.id, request.user_id, change, request.role)
    member = people.member(organization.id, request.user_id)
    if member is None:
        raise NotFound(
            "There is no such member.", remediation="List the members with GET /api/orgs/{slug}/members and use an id."
        )
    return MemberView.of(member)


@_write(_route("DELETE", _ORGANIZATION + "/{user_id}", 404, 409))
def remove_member(app: App, call: Call, request: MemberRequest) -> DoneView:
    """End a membership: everybody may leave, admins remove others, owners alone an owner. The last owner stays.

    Project roles, teams, sessions and API keys of the member in this organization end at once.
    """
    organization, role = membership(app, call.caller, request.org_slug)
    leaves = request.user_id == call.caller.user_id
    if not leaves:
        require_may_give(role)
    audit = audit_entry(call, "member.remove", organization.id, request.user_id)
    permit = None if leaves else permit_to_give(call, request)
    before = app.ledger.people.remove_member(organization.id, request.user_id, audit=audit, permit=permit)
    call.then(announce_member, app, organization.id, request.user_id, "org_member_removed", before)
    return DoneView()


def _project_permit(call: Call, request: ProjectRequest) -> ProjectPermit:
    def check(identity: Identity | None, access: Access) -> None:
        if identity is None:
            raise AuthenticationRequired("The session has ended.")
        now = replace(principal_of(identity, access), session_id=call.caller.session_id)
        require_project_manager(now, request.project_id)

    return ProjectPermit(call.caller.user_id, check)


@entry(_route("GET", _PROJECT, 404))
def list_project_members(app: App, call: Call, request: ProjectRequest) -> ProjectMembersView:
    """List who has a role of its own in a project: its owner, then the members in the order of joining.

    Roles outlive the project, as its records do: those in a deleted one are listed and taken away, too.
    """
    found = app.ledger.project_members.of_project(call.caller.organization_id, request.project_id)
    members = [ProjectMemberView.of(member) for member in found]
    return ProjectMembersView(members=members, can_manage=may_manage_project(call.caller, request.project_id))


@_write(_route("POST", _PROJECT, 400, 404, 409))
def add_project_member(app: App, call: Call, request: AddProjectMemberRequest) -> ProjectMemberView:
    """Give a member of the organization a role in a project; its maintainers and owners may."""
    return _give_project_role(app, call, request, "project_member.add")


@_write(_route("PATCH", _PROJECT + "/{user_id}", 400, 404))
def change_project_member(app: App, call: Call, request: ChangeProjectMemberRequest) -> ProjectMemberView:
    """Change a member's role in a project; its maintainers and owners may. Its creator stays its owner."""
    return _give_project_role(app, call, request, "project_member.role_change")


def _give_project_role(
    app: App, call: Call, request: AddProjectMemberRequest | ChangeProjectMemberRequest, action: str
) -> ProjectMemberView:
    organization_id, adds = call.caller.organization_id, action == "project_member.add"
    require_project_manager(call.caller, request.project_id)
    require_live(request.project_id, app.ledger.records.entity(organization_id, request.project_id))
    details: JsonObject = {"user_id": request.user_id, "role": request.role}
    audit = audit_entry(call, action, organization_id, request.project_id, details)
    which = (organization_id, request.project_id, request.user_id)
    give = app.ledger.project_members.add if adds else app.ledger.project_members.set_role
    give(*which, request.role, audit=audit, permit=_project_permit(call, request))
    found = app.ledger.project_members.of_project(organization_id, request.project_id)
    given = next(member for member in found if member.user.id == request.user_id)
    _announce(app, call, request, "project_member_added" if adds else "project_role_changed", given.role)
    return ProjectMemberView.of(given)


@_write(_route("DELETE", _PROJECT + "/{user_id}", 400, 404))
def remove_project_member(app: App, call: Call, request: ProjectMemberRequest) -> DoneView:
    """Take a member's role in a project away; its maintainers and owners may. Its creator stays its owner."""
    require_project_manager(call.caller, request.project_id)
    which = (call.caller.organization_id, request.project_id, request.user_id)
    audit = audit_entry(call, "project_member.remove", *which[:2], {"user_id": request.user_id})
    role = app.ledger.project_members.remove(*which, audit=audit, permit=_project_permit(call, request))
    _announce(app, call, request, "project_member_removed", role)
    return DoneView()


def _announce(app: App, call: Call, request: ProjectMemberRequest, change: ProjectChange, role: ProjectRole) -> None:
    news = ProjectNews(request.user_id, request.project_id, change, role)
    call.then(announce_project_news, app, call.caller.organization_id, [news])
