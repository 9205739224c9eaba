"""The task in progress, to which new memories are linked."""

from auth.policy import may_reach
from auth.principal import Principal
from stores.language.wording import comparable
from stores.ledger import EntityQuery
from stores.records import Entity
from tools.app import App

DOING_LIMIT = 200


def active_task(app: App, caller: Principal, project_id: str | None) -> Entity | None:
    """Return the task in progress that the caller, or in a project anybody, started last. Blocks.

    Ties go to the smaller id.
    """
    query = EntityQuery(
        visibility=caller.visible,
        types=("task",),
        statuses=("doing",),
        project_ids=(project_id,) if project_id is not None else (),
        limit=DOING_LIMIT,
    )
    doing, _ = app.ledger.records.list_entities(caller.organization_id, query)
    doing = [task for task in doing if may_reach(caller, task)]
    names = {comparable(name) for name in (caller.user.name.strip(), caller.user.email) if name}
    own = [task for task in doing if names.intersection(_assignees(task))]
    # Without a project, only the caller's own tasks count.
    chosen = own or (doing if project_id is not None else [])
    latest = max((_started(task) for task in chosen), default="")
    return min((task for task in chosen if _started(task) == latest), key=lambda task: task.id, default=None)


def _assignees(task: Entity) -> list[str]:
    found = task.metadata.get("assignees")
    return [comparable(each) for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _started(task: Entity) -> str:
    started = task.metadata.get("started_at")
    return started if isinstance(started, str) else ""
