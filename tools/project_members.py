"""Members of a project: the roles that they get, change and lose."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal, Protocol

from pydantic import Field, StringConstraints

from auth.policy import no_project, principal_of
from auth.rights import may_manage_project, require_project_manager
from stores.errors import AuthenticationRequired
from stores.ledger import AuditDraft, ProjectPermit
from stores.records import Access, Identity, JsonObject, ProjectMember, ProjectRole
from tools.announcements import ProjectChange, ProjectNews, announce_project_members
from tools.app import App
from tools.deeds import deed
from tools.members import PersonView, UserId, person_view
from tools.operation import Call, Operation, Request, Result, Route
from tools.projects import require_live_project
from tools.sessions import DoneView
from tools.threads import in_thread


class Give(Protocol):
    """A write of the ledger: organization, project, user, role and what the audit log remembers."""

    def __call__(
        self,
        organization: str,
        project: str,
        user: str,
        role: ProjectRole,
        audit: AuditDraft,
        /,
        *,
        permit: ProjectPermit,
    ) -> object:
        """Give the role, if the permit does not refuse."""


GivenRole = Literal["project_viewer", "project_contributor", "project_maintainer"]


class ProjectRequest(Request):
    """One project."""

    project_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(description="The project's id.")


class ProjectMemberRequest(ProjectRequest):
    """One member of a project."""

    user_id: UserId = Field(description="The user's id.")


class AddProjectMemberRequest(ProjectMemberRequest):
    """A member of the organization who gets a role in a project."""

    role: GivenRole = Field("project_contributor", description="The role in the project.")


class ChangeProjectMemberRequest(ProjectMemberRequest):
    """A member's new role in a project."""

    role: GivenRole = Field(description="The role in the project from now on.")


class ProjectMemberView(Result):
    """A user with a role of its own in a project."""

    user: PersonView
    role: ProjectRole
    created_at: datetime | None = Field(description="Null for whoever created the project.")


class ProjectMembersView(Result):
    """The owner of a project, then its members, and whether the caller may change them."""

    members: list[ProjectMemberView]
    can_manage: bool


def _view(member: ProjectMember) -> ProjectMemberView:
    return ProjectMemberView(user=person_view(member.user), role=member.role, created_at=member.joined_at)


async def _announce(
    app: App, call: Call, request: ProjectMemberRequest, change: ProjectChange, role: ProjectRole
) -> None:
    news = ProjectNews(request.user_id, request.project_id, change, role)
    await announce_project_members(app, call.caller.organization_id, [news])


def _give(
    app: App, call: Call, request: AddProjectMemberRequest | ChangeProjectMemberRequest, action: str, give: Give
) -> ProjectMember:
    """Give a role in a project by one of the ledger's ways, and return the member as it is then. Blocks."""
    organization_id = call.caller.organization_id
    require_project_manager(call.caller, request.project_id)
    require_live_project(app, organization_id, request.project_id)
    details: JsonObject = {"user_id": request.user_id, "role": request.role}
    audit = deed(call, action, organization_id, request.project_id, details)
    give(organization_id, request.project_id, request.user_id, request.role, audit, permit=_permit(call, request))
    return _found(app, call, request)


def _permit(call: Call, request: ProjectRequest) -> ProjectPermit:
    """Ask again where no role changes any more: who managed the project a moment ago may not do so now."""

    def check(identity: Identity | None, access: Access) -> None:
        if identity is None:
            raise AuthenticationRequired("The session has ended.")
        live = replace(principal_of(identity, access), session_id=call.caller.session_id)
        require_project_manager(live, request.project_id)

    return ProjectPermit(call.caller.user_id, check)


def _found(app: App, call: Call, request: ProjectMemberRequest) -> ProjectMember:
    members = app.ledger.project_members.of_project(call.caller.organization_id, request.project_id)
    return next(member for member in members if member.user.id == request.user_id)


async def list_project_members(app: App, call: Call, request: ProjectRequest) -> ProjectMembersView:
    """List who has a role of its own in a project: its owner, then the members in the order of joining.

    Roles outlive the project, as its records do: those in a deleted one are listed and taken away, too.
    """

    def read() -> list[ProjectMember]:
        if request.project_id not in call.caller.project_roles:
            raise no_project(request.project_id)
        return app.ledger.project_members.of_project(call.caller.organization_id, request.project_id)

    members = [_view(member) for member in await in_thread(read)]
    return ProjectMembersView(members=members, can_manage=may_manage_project(call.caller, request.project_id))


async def add_project_member(app: App, call: Call, request: AddProjectMemberRequest) -> ProjectMemberView:
    """Give a member of the organization a role in a project; its maintainers and owners may."""
    added = await in_thread(_give, app, call, request, "project_member.add", app.ledger.project_members.add)
    await _announce(app, call, request, "project_member_added", added.role)
    return _view(added)


async def change_project_member(app: App, call: Call, request: ChangeProjectMemberRequest) -> ProjectMemberView:
    """Change a member's role in a project; its maintainers and owners may. Its creator stays its owner."""
    give = app.ledger.project_members.set_role
    changed = await in_thread(_give, app, call, request, "project_member.role_change", give)
    await _announce(app, call, request, "project_role_changed", changed.role)
    return _view(changed)


async def remove_project_member(app: App, call: Call, request: ProjectMemberRequest) -> DoneView:
    """Take a member's role in a project away; its maintainers and owners may. Its creator stays its owner."""

    def write() -> ProjectRole:
        require_project_manager(call.caller, request.project_id)
        organization_id = call.caller.organization_id
        audit = deed(call, "project_member.remove", organization_id, request.project_id, {"user_id": request.user_id})
        which = (organization_id, request.project_id, request.user_id)
        return app.ledger.project_members.remove(*which, audit, permit=_permit(call, request))

    before = await in_thread(write)
    await _announce(app, call, request, "project_member_removed", before)
    return DoneView()


_PATH = "/api/projects/{project_id}/members"
_ONE = _PATH + "/{user_id}"
_EVENTS = ("permission_changed",)
_ERRORS = frozenset({400, 404})

OPERATIONS = (
    Operation(list_project_members, route=Route("GET", _PATH, tag="projects", errors=frozenset({404}))),
    Operation(
        add_project_member,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("POST", _PATH, tag="projects", errors=_ERRORS | {409}),
    ),
    Operation(
        change_project_member,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("PATCH", _ONE, tag="projects", errors=_ERRORS),
    ),
    Operation(
        remove_project_member,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("DELETE", _ONE, tag="projects", errors=_ERRORS),
    ),
)
