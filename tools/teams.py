"""Teams: members of an organization who get roles in projects together."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, TypeVar

from pydantic import Field, StringConstraints

from auth.policy import ADMINS, require_whole
from auth.principal import Principal
from auth.rights import require_admin, require_session
from auth.visibility import team_key
from stores.errors import AuthenticationRequired, InvalidRequest, NotFound
from stores.ledger import Permit
from stores.records import ProjectRole, Role, Team
from tools.account import MeRequest
from tools.announcements import ProjectNews, announce_project_members
from tools.app import App
from tools.deeds import deed
from tools.operation import Call, Nothing, Operation, Request, Result, Route
from tools.organizations import Slug, slug_of, store_under
from tools.threads import in_thread

TeamName = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"\S")]
TeamText = Annotated[str, StringConstraints(max_length=2000)]
Done = TypeVar("Done")


class TeamRequest(Request):
    """One team of the organization."""

    team_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(description="The team's id.")


class CreateTeamRequest(Request):
    """A new team."""

    name: TeamName = Field(description="What it is called.")
    slug: Slug | None = Field(
        None,
        description="Its short name, unique in the organization: lower-case letters, digits and hyphens; made from the "
        "name when absent.",
    )
    description: TeamText = Field("", description="What it is for.")


class UpdateTeamRequest(TeamRequest):
    """The fields to change; those that are absent stay."""

    name: TeamName | None = Field(None, description="What it is called from now on.")
    slug: Slug | None = Field(None, description="Its short name from now on.")
    description: TeamText | None = Field(None, description="What it is for.")


class TeamView(Result):
    """A team."""

    id: str
    name: str
    slug: str
    description: str
    is_member: bool = Field(description="Whether the caller is in it.")
    created_at: datetime


class TeamsView(Result):
    """The teams of an organization, the oldest first."""

    teams: list[TeamView]


def present_team(app: App, caller: Principal, team_id: str) -> Team:
    """Return a team of the caller's organization. Blocks.

    Raises:
        Forbidden: The caller's API key is narrowed to projects.
        NotFound: There is no such team.
    """
    require_whole(caller, "Reading teams")
    team = app.ledger.teams.team(caller.organization_id, team_id)
    if team is None:
        raise NotFound(
            f"There is no team {team_id}.", remediation="List the teams with GET /api/teams and use one of their ids."
        )
    return team


def permit_to_manage(call: Call) -> Permit:
    """Ask again where no role changes any more: who was an admin a moment ago may not be one now."""

    def check(actor: Role | None, _before: Role | None) -> None:
        if actor is None:
            raise AuthenticationRequired("The session has ended.")
        require_admin(actor, "Managing teams")

    return Permit(call.caller.user_id, check)


def _view(caller: Principal, team: Team) -> TeamView:
    return TeamView(
        id=team.id,
        name=team.name,
        slug=team.slug,
        description=team.description,
        is_member=team_key(team.id) in caller.visible,
        created_at=team.created_at,
    )


async def list_teams(app: App, call: Call, _request: MeRequest) -> TeamsView:
    """List the teams of the organization, the oldest first; everybody in the organization may."""
    require_whole(call.caller, "Reading teams")
    found = await in_thread(app.ledger.teams.of_organization, call.caller.organization_id)
    return TeamsView(teams=[_view(call.caller, team) for team in found])


async def get_team(app: App, call: Call, request: TeamRequest) -> TeamView:
    """Return one team of the organization; everybody in the organization may."""
    return _view(call.caller, await in_thread(present_team, app, call.caller, request.team_id))


async def create_team(app: App, call: Call, request: CreateTeamRequest) -> TeamView:
    """Make a team without members; admins may."""

    def write() -> Team:
        require_session(call.caller)
        organization_id, name = call.caller.organization_id, request.name.strip()
        team_id, now = str(uuid.uuid4()), app.clock()

        def store(slug: str) -> Team:
            team = Team(organization_id, team_id, name, slug, request.description.strip(), now)
            audit = deed(call, "team.create", organization_id, team.id, {"slug": team.slug})
            app.ledger.teams.create(team, audit, permit=permit_to_manage(call))
            return team

        return store_under(request.slug, slug_of(name, "team"), store)

    return _view(call.caller, await in_thread(write))


async def update_team(app: App, call: Call, request: UpdateTeamRequest) -> TeamView:
    """Change a team's name, slug or description; admins may."""

    def edit(team: Team) -> Team:
        return replace(
            team,
            name=team.name if request.name is None else request.name.strip(),
            slug=team.slug if request.slug is None else request.slug,
            description=team.description if request.description is None else request.description.strip(),
        )

    def write() -> Team:
        require_session(call.caller)
        given = [name for name in ("name", "slug", "description") if getattr(request, name) is not None]
        if not given:
            raise InvalidRequest("Nothing to change.", remediation="Send at least one of name, slug, description.")
        organization_id = call.caller.organization_id
        return app.ledger.teams.edit(
            organization_id,
            request.team_id,
            edit,
            deed(call, "team.update", organization_id, request.team_id, {"changed": list(given)}),
            permit=permit_to_manage(call),
        )

    return _view(call.caller, await in_thread(write))


async def delete_team(app: App, call: Call, request: TeamRequest) -> Nothing:
    """Delete a team; the roles in projects that its members had through it end at once. Admins may.

    Records in the team's scope stay, and nobody can read them any more: move what is still needed before.
    """

    def write() -> list[ProjectNews]:
        require_session(call.caller)
        organization_id = call.caller.organization_id
        slug = present_team(app, call.caller, request.team_id).slug
        audit = deed(call, "team.delete", organization_id, request.team_id, {"slug": slug})
        users = [each.user.id for each in app.ledger.teams.members(organization_id, request.team_id)]
        projects = set(app.ledger.teams.projects(organization_id, request.team_id))

        def delete() -> None:
            app.ledger.teams.delete(organization_id, request.team_id, audit, permit=permit_to_manage(call))

        return with_news(app, organization_id, (users, projects), delete)[1]

    await announce_project_members(app, call.caller.organization_id, await in_thread(write))
    return Nothing()


def with_news(
    app: App, organization_id: str, concerned: tuple[list[str], set[str]], write: Callable[[], Done]
) -> tuple[Done, list[ProjectNews]]:
    """Do what changes a team, and find out what that changes for some users in some projects. Blocks."""
    granted = app.ledger.project_members.granted
    before = granted(organization_id, *concerned)
    done = write()
    after = granted(organization_id, *concerned)
    news = [_news(whose, before.get(whose), role) for whose, role in after.items() if before.get(whose) != role]
    lost = [ProjectNews(*whose, "project_member_removed", role) for whose, role in before.items() if whose not in after]
    return done, news + lost


def _news(whose: tuple[str, str], before: ProjectRole | None, role: ProjectRole) -> ProjectNews:
    return ProjectNews(*whose, "project_member_added" if before is None else "project_role_changed", role)


_PATH = "/api/teams"
_ONE = _PATH + "/{team_id}"

OPERATIONS = (
    Operation(list_teams, route=Route("GET", _PATH, tag="teams")),
    Operation(
        create_team,
        roles=ADMINS,
        scope="write",
        mutates=True,
        route=Route("POST", _PATH, status=201, tag="teams", errors=frozenset({409})),
    ),
    Operation(get_team, route=Route("GET", _ONE, tag="teams", errors=frozenset({404}))),
    Operation(
        update_team,
        roles=ADMINS,
        scope="write",
        mutates=True,
        route=Route("PATCH", _ONE, tag="teams", errors=frozenset({400, 404, 409})),
    ),
    Operation(
        delete_team,
        roles=ADMINS,
        scope="write",
        mutates=True,
        events=("permission_changed",),
        route=Route("DELETE", _ONE, status=204, tag="teams", errors=frozenset({404})),
    ),
)
