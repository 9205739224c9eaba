"""The task that somebody is working on: what is remembered meanwhile is linked to it."""

from auth.policy import may_reach
from auth.principal import Principal
from stores.language.wording import comparable
from stores.ledger import EntityQuery
from stores.records import Entity
from tools.app import App

DOING_LIMIT = 200
"""Tasks in progress among which it is looked for, the latest changed first."""


def active_task(app: App, caller: Principal, project_id: str | None) -> Entity | None:
    """Return the task that the caller started last and is doing; in a project, else the one that anybody did. Blocks.

    Ties go to the smaller id.
    """
    query = EntityQuery(
        visibility=caller.visible,
        types=("task",),
        statuses=("doing",),
        project_ids=(project_id,) if project_id is not None else (),
        limit=DOING_LIMIT,
    )
    doing, _ = app.ledger.list_entities(caller.organization_id, query)
    doing = [task for task in doing if may_reach(caller, task)]
    names = {comparable(name) for name in (caller.user.name.strip(), caller.user.email) if name}
    own = [task for task in doing if names.intersection(_assignees(task))]
    # Whose task it is matters more where no project says what it is about.
    chosen = own or (doing if project_id is not None else [])
    latest = max((_started(task) for task in chosen), default="")
    return min((task for task in chosen if _started(task) == latest), key=lambda task: task.id, default=None)


def _assignees(task: Entity) -> list[str]:
    found = task.metadata.get("assignees")
    return [comparable(each) for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _started(task: Entity) -> str:
    """When a task was started, in a form that sorts; the server stamps it."""
    started = task.metadata.get("started_at")
    return started if isinstance(started, str) else ""
