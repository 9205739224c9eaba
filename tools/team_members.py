"""What makes a team: who is in it, and the roles in projects that it gives them."""

from datetime import datetime

from pydantic import Field

from auth.policy import ADMINS
from auth.rights import require_session
from stores.errors import NotFound
from stores.records import Member, ProjectRole, Role
from tools.announcements import ProjectNews, announce_project_members
from tools.app import App
from tools.deeds import deed
from tools.members import PersonView, UserId, person_view
from tools.operation import Call, Operation, Result, Route
from tools.project_members import GivenRole, ProjectRequest
from tools.projects import require_live_project
from tools.sessions import DoneView
from tools.teams import TeamRequest, permit_to_manage, present_team, with_news
from tools.threads import in_thread


class TeamMemberRequest(TeamRequest):
    """One member of a team."""

    user_id: UserId = Field(description="The user's id.")


class TeamProjectRequest(TeamRequest, ProjectRequest):
    """One project of a team."""


class GiveTeamProjectRequest(TeamProjectRequest):
    """A role in a project for everybody in a team."""

    role: GivenRole = Field("project_contributor", description="The role in the project.")


class TeamMemberView(Result):
    """A user in a team."""

    user: PersonView
    org_role: Role
    created_at: datetime = Field(description="When the user joined the team.")


class TeamMembersView(Result):
    """The members of a team, in the order of joining."""

    members: list[TeamMemberView]


class TeamProjectView(Result):
    """A project in which a team gives its members a role."""

    project_id: str
    role: ProjectRole


class TeamProjectsView(Result):
    """The projects of a team that the caller may read, by id."""

    projects: list[TeamProjectView]


def _member_view(member: Member) -> TeamMemberView:
    return TeamMemberView(user=person_view(member.user), org_role=member.role, created_at=member.joined_at)


async def list_team_members(app: App, call: Call, request: TeamRequest) -> TeamMembersView:
    """List who is in a team, in the order of joining; everybody in the organization may."""

    def read() -> list[Member]:
        present_team(app, call.caller, request.team_id)
        return app.ledger.teams.members(call.caller.organization_id, request.team_id)

    return TeamMembersView(members=[_member_view(member) for member in await in_thread(read)])


async def add_team_member(app: App, call: Call, request: TeamMemberRequest) -> TeamMemberView:
    """Put a member of the organization into a team; what the team gives holds for it at once. Admins may."""

    def write() -> tuple[Member, list[ProjectNews]]:
        organization_id, concerned = _before_joining(app, call, request)
        audit = deed(call, "team_member.add", organization_id, request.team_id, {"user_id": request.user_id})

        def add() -> Member:
            permit = permit_to_manage(call)
            app.ledger.teams.add_member(organization_id, request.team_id, request.user_id, audit, permit=permit)
            members = app.ledger.teams.members(organization_id, request.team_id)
            found = next((member for member in members if member.user.id == request.user_id), None)
            if found is None:
                raise NotFound("The user is not in the team any more.")
            return found

        return with_news(app, organization_id, concerned, add)

    added, news = await in_thread(write)
    await announce_project_members(app, call.caller.organization_id, news)
    return _member_view(added)


async def remove_team_member(app: App, call: Call, request: TeamMemberRequest) -> DoneView:
    """Take a user out of a team; what the team gave it ends at once. Admins may."""

    def write() -> list[ProjectNews]:
        organization_id, concerned = _before_joining(app, call, request)
        audit = deed(call, "team_member.remove", organization_id, request.team_id, {"user_id": request.user_id})

        def remove() -> None:
            permit = permit_to_manage(call)
            app.ledger.teams.remove_member(organization_id, request.team_id, request.user_id, audit, permit=permit)

        return with_news(app, organization_id, concerned, remove)[1]

    await announce_project_members(app, call.caller.organization_id, await in_thread(write))
    return DoneView()


def _before_joining(app: App, call: Call, request: TeamMemberRequest) -> tuple[str, tuple[list[str], set[str]]]:
    """Return the organization, and which user and projects are concerned when somebody joins or leaves a team."""
    require_session(call.caller)
    present_team(app, call.caller, request.team_id)
    organization_id = call.caller.organization_id
    return organization_id, ([request.user_id], set(app.ledger.teams.projects(organization_id, request.team_id)))


async def list_team_projects(app: App, call: Call, request: TeamRequest) -> TeamProjectsView:
    """List the projects in which a team gives its members a role, as far as the caller may read them."""

    def read() -> dict[str, ProjectRole]:
        present_team(app, call.caller, request.team_id)
        return app.ledger.teams.projects(call.caller.organization_id, request.team_id)

    found = await in_thread(read)
    return TeamProjectsView(
        projects=[
            TeamProjectView(project_id=project_id, role=role)
            for project_id, role in found.items()
            if project_id in call.caller.project_roles
        ]
    )


async def give_team_project(app: App, call: Call, request: GiveTeamProjectRequest) -> TeamProjectView:
    """Give everybody in a team a role in a project, in place of the one that the team gave before. Admins may."""

    def write() -> list[ProjectNews]:
        organization_id, concerned = _before_giving(app, call, request)
        require_live_project(app, organization_id, request.project_id)
        details = {"project_id": request.project_id, "to": request.role}
        audit = deed(call, "team_project.give", organization_id, request.team_id, {**details})

        def give() -> None:
            which = (organization_id, request.team_id, request.project_id)
            app.ledger.teams.put_project(*which, request.role, audit, permit=permit_to_manage(call))

        return with_news(app, organization_id, concerned, give)[1]

    await announce_project_members(app, call.caller.organization_id, await in_thread(write))
    return TeamProjectView(project_id=request.project_id, role=request.role)


async def remove_team_project(app: App, call: Call, request: TeamProjectRequest) -> DoneView:
    """Take a team's role in a project away from everybody in it, at once. Admins may."""

    def write() -> list[ProjectNews]:
        organization_id, concerned = _before_giving(app, call, request)
        audit = deed(call, "team_project.remove", organization_id, request.team_id, {"project_id": request.project_id})

        def remove() -> None:
            permit = permit_to_manage(call)
            app.ledger.teams.remove_project(organization_id, request.team_id, request.project_id, audit, permit=permit)

        return with_news(app, organization_id, concerned, remove)[1]

    await announce_project_members(app, call.caller.organization_id, await in_thread(write))
    return DoneView()


def _before_giving(app: App, call: Call, request: TeamProjectRequest) -> tuple[str, tuple[list[str], set[str]]]:
    """Return the organization, and which users and project are concerned when a team's role in it changes."""
    require_session(call.caller)
    present_team(app, call.caller, request.team_id)
    organization_id = call.caller.organization_id
    users = [member.user.id for member in app.ledger.teams.members(organization_id, request.team_id)]
    return organization_id, (users, {request.project_id})


_MEMBERS = "/api/teams/{team_id}/members"
_PROJECTS = "/api/teams/{team_id}/projects"
_EVENTS = ("permission_changed",)
_NOT_FOUND = frozenset({404})

OPERATIONS = (
    Operation(list_team_members, route=Route("GET", _MEMBERS, tag="teams", errors=_NOT_FOUND)),
    Operation(
        add_team_member,
        roles=ADMINS,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("POST", _MEMBERS, tag="teams", errors=frozenset({400, 404, 409})),
    ),
    Operation(
        remove_team_member,
        roles=ADMINS,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("DELETE", _MEMBERS + "/{user_id}", tag="teams", errors=_NOT_FOUND),
    ),
    Operation(list_team_projects, route=Route("GET", _PROJECTS, tag="teams", errors=_NOT_FOUND)),
    Operation(
        give_team_project,
        roles=ADMINS,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("POST", _PROJECTS, tag="teams", errors=_NOT_FOUND),
    ),
    Operation(
        remove_team_project,
        roles=ADMINS,
        scope="write",
        mutates=True,
        events=_EVENTS,
        route=Route("DELETE", _PROJECTS + "/{project_id}", tag="teams", errors=_NOT_FOUND),
    ),
)
