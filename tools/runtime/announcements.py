"""Events about changed rights, which also renew the rights of open subscriptions."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from auth.visibility import project_key
from stores.records import ORGANIZATION, JsonObject, ProjectRole, Role
from tools.app import App
from tools.frame.threads import in_thread
from tools.runtime.events import Event

MemberChange = Literal["org_member_added", "org_role_changed", "org_member_removed"]
ProjectChange = Literal["project_member_added", "project_role_changed", "project_member_removed"]


class ProjectNews(NamedTuple):
    user_id: str
    project_id: str
    change: ProjectChange
    role: ProjectRole


async def announce_member(app: App, organization_id: str, user_id: str, change: MemberChange, role: Role) -> None:
    data: JsonObject = {"user_id": user_id, "change_type": change, "org_role": role}
    await app.events.announce(organization_id, [(Event("permission_changed", data, app.clock()), ORGANIZATION)])


async def renew_account(app: App, user_id: str) -> None:
    """Renew the subscriptions of a user, and of others in its personal organization."""
    await app.events.renew_user(user_id)
    home = await in_thread(app.accounts.home_of, user_id)
    if home is not None:
        await app.events.renew(home)


async def announce_project_news(app: App, organization_id: str, news: Iterable[ProjectNews]) -> None:
    events = []
    for user_id, project_id, change, role in news:
        data: JsonObject = {"user_id": user_id, "change_type": change, "project_role": role, "project_id": project_id}
        events.append((Event("permission_changed", data, app.clock()), project_key(project_id)))
    await app.events.announce(organization_id, events)
