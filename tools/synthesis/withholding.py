"""Visibility keys whose withheld records are counted: projects, teams and shared spaces.

Private records are counted for nobody else.
"""

from auth.principal import Principal
from auth.visibility import members_key, project_key, space_key, team_key
from tools.app import App


def withheld_keys(app: App, caller: Principal, project_id: str | None) -> frozenset[str]:
    """None for a narrowed API key. Blocks."""
    organization = caller.organization_id
    found = None if caller.is_narrowed else app.ledger.people.caller(caller.user_id, organization, None)
    if found is None:
        return frozenset()
    projects = {each.project_id for each in found[1].projects}
    if project_id is not None:
        projects &= {project_id}
    keys = {key(each) for each in projects for key in (project_key, members_key)}
    keys |= {team_key(team.id) for team in app.ledger.teams.of_organization(organization)}
    keys |= {
        space_key(space.memory_scope, space.scope_key)
        for space in app.ledger.spaces.spaces(organization, caller.user_id)
        if space.memory_scope == "shared" and space.scope_key and space.state == "active"
    }
    return frozenset(keys - caller.visible)
