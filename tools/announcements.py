"""Tells an organization that somebody's rights changed, and lets the change hold for open subscriptions."""

from typing import Literal

from auth.policy import project_key
from stores.records import ORGANIZATION, JsonObject, ProjectRole, Role
from tools.app import App
from tools.events import Event

MemberChange = Literal["org_member_added", "org_role_changed", "org_member_removed"]
ProjectChange = Literal["project_member_added", "project_role_changed", "project_member_removed"]


async def announce_member(app: App, organization_id: str, user_id: str, change: MemberChange, role: Role) -> None:
    """Tell everybody in an organization of a change of its members."""
    data: JsonObject = {"user_id": user_id, "change_type": change, "org_role": role}
    await app.events.announce(organization_id, Event("permission_changed", data, app.clock()), ORGANIZATION)


async def announce_project_member(
    app: App, project: tuple[str, str], user_id: str, change: ProjectChange, role: ProjectRole
) -> None:
    """Tell those who may read a project (organization, id) of a change of its members."""
    organization_id, project_id = project
    data: JsonObject = {
        "user_id": user_id,
        "change_type": change,
        "project_role": role,
        "project_id": project_id,
    }
    event = Event("permission_changed", data, app.clock())
    await app.events.announce(organization_id, event, project_key(project_id))
