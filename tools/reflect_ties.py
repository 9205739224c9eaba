"""What is linked to what reflection keeps: records and tasks that were named, and the task that is being worked on."""

from dataclasses import dataclass, replace

from auth.policy import may_reach, reaches_readers_of
from auth.principal import Principal
from stores.ledger import EntityQuery
from stores.records import Entity
from stores.wording import comparable
from tools.app import App
from tools.linking import Target, referred, require_target
from tools.reflect_models import ReflectRequest

DOING_LIMIT = 200
"""Tasks in progress among which the active one is looked for, the latest changed first."""


@dataclass(frozen=True, slots=True)
class Tie:
    """A relation of everything that is kept."""

    name: str
    target: Entity
    field: str
    """Where it comes from: a field of the request."""
    is_for_all: bool = False
    """Whether everybody may read the target who may read what would be kept."""

    @property
    def types(self) -> tuple[str, ...]:
        """What the target may be; empty: anything."""
        return () if self.field == "related_to" else ("task",)

    @property
    def reason(self) -> str:
        """Why there is such a relation, in a sentence."""
        return "The task that was being worked on." if self.field == "active_task" else f"Named in {self.field}."


def ties(app: App, caller: Principal, request: ReflectRequest, visibility: str) -> list[Tie]:
    """Read what is to be linked to, each record once. `visibility` is the key of what would be kept.

    Raises:
        NotFound: A record that was named does not exist, or not for this caller.
        InvalidRequest: One of `task_ids` is no task.
    """
    named = [(*referred(each), "related_to") for each in request.related_to or ()]
    named += [("RELATED_TO", each, "task_ids") for each in request.task_ids or ()]
    there = app.ledger.entities(caller.organization_id, {target_id for _, target_id, _ in named})
    found: dict[tuple[str, str], Tie] = {}
    for name, target_id, field in named:
        wanted = Target(target_id, field, ("task",) if field == "task_ids" else ())
        target = require_target(caller, wanted, there.get(target_id))
        found.setdefault((name, target_id), Tie(name, target, field))
    active = _active_task(app, caller, request.project) if request.active_task else None
    if active is not None:
        found.setdefault(("RELATED_TO", active.id), Tie("RELATED_TO", active, "active_task"))
    return [
        replace(tie, is_for_all=reaches_readers_of(caller, tie.target.visibility, visibility)) for tie in found.values()
    ]


def _active_task(app: App, caller: Principal, project: str | None) -> Entity | None:
    """The task that the caller started last and is doing; in a project, else the one that anybody did.

    Ties go to the smaller id.
    """
    query = EntityQuery(
        visibility=caller.visible,
        types=("task",),
        statuses=("doing",),
        project_ids=(project,) if project is not None else (),
        limit=DOING_LIMIT,
    )
    doing, _ = app.ledger.list_entities(caller.organization_id, query)
    doing = [task for task in doing if may_reach(caller, task)]
    names = {comparable(name) for name in (caller.user.name.strip(), caller.user.email) if name}
    own = [task for task in doing if names & set(_assignees(task))]
    # Whose task it is matters more where no project says what the notes are about.
    chosen = own or (doing if project is not None else [])
    latest = max((_started(task) for task in chosen), default="")
    return min((task for task in chosen if _started(task) == latest), key=lambda task: task.id, default=None)


def _assignees(task: Entity) -> list[str]:
    found = task.metadata.get("assignees")
    return [comparable(each) for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _started(task: Entity) -> str:
    started = task.metadata.get("started_at")
    return started if isinstance(started, str) else ""
