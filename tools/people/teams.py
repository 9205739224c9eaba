"""Teams, their members, and the roles in projects that they give."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.policy import ADMINS, require_whole
from auth.principal import Principal
from auth.rights import require_admin, require_session
from auth.visibility import team_key
from stores.errors import InvalidRequest, NotFound
from stores.ledger import Permit
from stores.records import JsonObject, ProjectRole, Role, Team
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, DoneView, Method, Nothing, Request, Result, Route, Verb, entry, mutation
from tools.people.account import Identifier, MeRequest
from tools.people.membership import GivenRole, Joined, ProjectRequest
from tools.people.organizations import Slug, permit, store_under
from tools.records.projects import require_live, slug_of
from tools.runtime.announcements import ProjectNews, announce_project_news

TeamName = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"\S")]
TeamText = Annotated[str, StringConstraints(max_length=2000)]


class TeamRequest(Request):
    """One team of the organization."""

    team_id: Identifier = Field(description="The team's id.")


class CreateTeamRequest(Request):
    """A new team."""

    name: TeamName = Field(description="Name.")
    slug: Slug | None = Field(
        None,
        description="Its short name, unique in the organization: lower-case letters, digits and hyphens; made from the "
        "name when absent.",
    )
    description: TeamText = Field("", description="Purpose.")


class UpdateTeamRequest(TeamRequest):
    """The fields to change; those that are absent stay."""

    name: TeamName | None = Field(None, description="New name.")
    slug: Slug | None = Field(None, description="Its short name from now on.")
    description: TeamText | None = Field(None, description="Purpose.")


class TeamView(Result):
    """A team."""

    id: str
    name: str
    slug: str
    description: str
    is_member: bool = Field(description="True if the caller is a member.")
    created_at: datetime


class TeamsView(Result):
    """The teams of an organization, the oldest first."""

    teams: list[TeamView]


class TeamMemberRequest(TeamRequest):
    """One member of a team."""

    user_id: Identifier = Field(description="The user's id.")


class TeamProjectRequest(TeamRequest, ProjectRequest):
    """One project of a team."""


class GiveTeamProjectRequest(TeamProjectRequest):
    """A role in a project for everybody in a team."""

    role: GivenRole = Field("project_contributor", description="The role in the project.")


class TeamMemberView(Joined):
    """A user in a team."""

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


def present_team(app: App, caller: Principal, team_id: str) -> Team:
    require_whole(caller, "Reading teams")
    team = app.ledger.teams.team(caller.organization_id, team_id)
    if team is None:
        raise NotFound(f"There is no team {team_id}.", remediation="GET /api/teams lists them, with ids.")
    return team


def _permit(call: Call) -> Permit:
    return permit(call, lambda actor, _before: require_admin(actor, "Managing teams"))


def _view(caller: Principal, team: Team) -> TeamView:
    return TeamView.of(team, is_member=team_key(team.id) in caller.visible)


_PATH = "/api/teams"
_ONE = _PATH + "/{team_id}"


def _route(method: Method, path: str, *errors: int, status: int = 200) -> Route:
    return Route(method, path, status=status, tag="teams", errors=errors)


@entry(_route("GET", _PATH))
def list_teams(app: App, call: Call, _request: MeRequest) -> TeamsView:
    """List the teams of the organization, the oldest first; everybody in the organization may."""
    require_whole(call.caller, "Reading teams")
    found = app.ledger.teams.of_organization(call.caller.organization_id)
    return TeamsView(teams=[_view(call.caller, team) for team in found])


@entry(_route("GET", _ONE, 404))
def get_team(app: App, call: Call, request: TeamRequest) -> TeamView:
    """Return one team of the organization; everybody in the organization may."""
    return _view(call.caller, present_team(app, call.caller, request.team_id))


def _write(route: Route, *events: str) -> Callable[[Verb], Verb]:
    return mutation(route, roles=ADMINS, events=events)


@_write(_route("POST", _PATH, 409, status=201))
def create_team(app: App, call: Call, request: CreateTeamRequest) -> TeamView:
    """Make a team without members; admins may."""
    require_session(call.caller)
    organization_id, name = call.caller.organization_id, request.name.strip()
    team_id, now = str(uuid.uuid4()), app.clock()

    def store(slug: str) -> Team:
        team = Team(organization_id, team_id, name, slug, request.description.strip(), now)
        audit = audit_entry(call, "team.create", organization_id, team.id, {"slug": team.slug})
        app.ledger.teams.create(team, audit=audit, permit=_permit(call))
        return team

    return _view(call.caller, store_under(request.slug, slug_of(name, "team"), store))


@_write(_route("PATCH", _ONE, 400, 404, 409))
def update_team(app: App, call: Call, request: UpdateTeamRequest) -> TeamView:
    """Change a team's name, slug or description; admins may."""
    require_session(call.caller)
    given = {name: value for name in ("name", "slug", "description") if (value := getattr(request, name)) is not None}
    if not given:
        raise InvalidRequest("Nothing to change.", remediation="Send at least one of name, slug, description.")
    stripped = {name: value if name == "slug" else value.strip() for name, value in given.items()}
    organization_id = call.caller.organization_id
    audit = audit_entry(call, "team.update", organization_id, request.team_id, {"changed": list(given)})
    edited = app.ledger.teams.edit(
        organization_id, request.team_id, lambda team: replace(team, **stripped), audit=audit, permit=_permit(call)
    )
    return _view(call.caller, edited)


_NEWS = "permission_changed"


@_write(_route("DELETE", _ONE, 404, status=204), _NEWS)
def delete_team(app: App, call: Call, request: TeamRequest) -> Nothing:
    """Delete a team; the roles in projects that its members had through it end at once. Admins may.

    Records in the team's scope stay but can no longer be read: move those still needed before.
    """
    _change(app, call, request, "team.delete", app.ledger.teams.delete)
    return Nothing()


@entry(_route("GET", _ONE + "/members", 404))
def list_team_members(app: App, call: Call, request: TeamRequest) -> TeamMembersView:
    """List who is in a team, in the order of joining; everybody in the organization may."""
    present_team(app, call.caller, request.team_id)
    found = app.ledger.teams.members(call.caller.organization_id, request.team_id)
    return TeamMembersView(members=[TeamMemberView.of(member, org_role=member.role) for member in found])


@_write(_route("POST", _ONE + "/members", 400, 404, 409), _NEWS)
def add_team_member(app: App, call: Call, request: TeamMemberRequest) -> TeamMemberView:
    """Put a member of the organization into a team; the team's rights apply at once. Admins may."""
    _change(app, call, request, "team_member.add", app.ledger.teams.add_member, request.user_id)
    members = app.ledger.teams.members(call.caller.organization_id, request.team_id)
    member = next((each for each in members if each.user.id == request.user_id), None)
    if member is None:
        raise NotFound("The user is not in the team any more.")
    return TeamMemberView.of(member, org_role=member.role)


@_write(_route("DELETE", _ONE + "/members/{user_id}", 404), _NEWS)
def remove_team_member(app: App, call: Call, request: TeamMemberRequest) -> DoneView:
    """Remove a user from a team, whose rights end at once. Admins may."""
    _change(app, call, request, "team_member.remove", app.ledger.teams.remove_member, request.user_id)
    return DoneView()


@entry(_route("GET", _ONE + "/projects", 404))
def list_team_projects(app: App, call: Call, request: TeamRequest) -> TeamProjectsView:
    """List the projects in which a team gives its members a role, as far as the caller may read them."""
    present_team(app, call.caller, request.team_id)
    found = app.ledger.teams.projects(call.caller.organization_id, request.team_id)
    readable = [each for each in found if each in call.caller.project_roles]
    return TeamProjectsView(projects=[TeamProjectView(project_id=each, role=found[each]) for each in readable])


@_write(_route("POST", _ONE + "/projects", 404), _NEWS)
def give_team_project(app: App, call: Call, request: GiveTeamProjectRequest) -> TeamProjectView:
    """Give everybody in a team a role in a project, in place of the one that the team gave before. Admins may."""
    put = app.ledger.teams.put_project
    _change(app, call, request, "team_project.give", put, request.project_id, request.role)
    return TeamProjectView(project_id=request.project_id, role=request.role)


@_write(_route("DELETE", _ONE + "/projects/{project_id}", 404), _NEWS)
def remove_team_project(app: App, call: Call, request: TeamProjectRequest) -> DoneView:
    """Take a team's role in a project away from everybody in it, at once. Admins may."""
    _change(app, call, request, "team_project.remove", app.ledger.teams.remove_project, request.project_id)
    return DoneView()


def _change(app: App, call: Call, request: TeamRequest, action: str, write: Callable[..., object], *given: str) -> None:
    require_session(call.caller)
    team = present_team(app, call.caller, request.team_id)
    which = (team.organization_id, team.id)
    users = [member.user.id for member in app.ledger.teams.members(*which)]
    projects, details = set(app.ledger.teams.projects(*which)), JsonObject(slug=team.slug)
    if isinstance(request, TeamMemberRequest):
        users, details = [request.user_id], {"user_id": request.user_id}
    if isinstance(request, TeamProjectRequest):
        projects, details = {request.project_id}, {"project_id": request.project_id}
    if isinstance(request, GiveTeamProjectRequest):
        require_live(request.project_id, app.ledger.records.entity(team.organization_id, request.project_id))
        details["to"] = request.role
    granted = app.ledger.project_members.granted
    before = granted(team.organization_id, users, projects)
    write(*which, *given, audit=audit_entry(call, action, *which, details), permit=_permit(call))
    after = granted(team.organization_id, users, projects)
    news = [
        ProjectNews(*whose, "project_role_changed" if whose in before else "project_member_added", role)
        for whose, role in after.items()
        if before.get(whose) != role
    ]
    lost = [each for each in before.items() if each[0] not in after]
    news += [ProjectNews(*whose, "project_member_removed", role) for whose, role in lost]
    call.then(announce_project_news, app, call.caller.organization_id, news)
