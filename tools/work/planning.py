"""Planning of open tasks: order, suggestions, dependency cycles and estimates."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from statistics import median

from pydantic import Field

from auth.policy import may_read
from auth.principal import Principal
from stores.language.wording import comparable
from stores.ledger import EntityQuery
from stores.records import Entity, JsonObject
from tools.app import App
from tools.frame.json_values import texts_in
from tools.frame.operation import Call, Request, Result
from tools.frame.threads import in_thread
from tools.records.entity_models import EntityId, Label
from tools.records.projects import ProjectNames
from tools.search.similar import alike
from tools.work.work_changes import MOST_HOURS, present

ORDER = ("critical", "high", "medium", "low", "someday")
WAITING = ("todo", "backlog")
OPEN = ("doing", "review", "blocked", *WAITING)
CONSIDERED = 1000
ALIKE = 0.3
"""Least score of a similar task; unrelated best hits score lower."""
SAMPLE = 10


class Advice(Result):
    """Advice with its data."""

    success: bool = True
    message: str
    data: JsonObject


class PlanRequest(Request):
    """A project or epic whose tasks to read."""

    entity_id: EntityId = Field(description="Id of a project or an epic.")


class PrioritizeRequest(PlanRequest):
    """A project or epic whose open tasks to rank."""

    limit: int = Field(20, ge=1, le=100, description="Most tasks.")


class SuggestRequest(PlanRequest):
    """A project or epic to choose tasks from."""

    assignee: Label | None = Field(None, description="Leave out tasks assigned only to others than this person.")
    limit: int = Field(5, ge=1, le=100, description="Most tasks.")


class EstimateRequest(Request):
    """A task to estimate."""

    task_id: EntityId = Field(description="The task's id.")


@dataclass(frozen=True, slots=True)
class Ranked:
    task: Entity
    waits_for: tuple[str, ...]
    holds_up: int

    @property
    def assignees(self) -> set[str]:
        return {comparable(name.strip()) for name in texts_in(self.task.metadata.get("assignees"))}

    @property
    def is_ready(self) -> bool:
        return not self.waits_for and self.task.metadata.get("status") != "blocked"

    def shown(self) -> JsonObject:
        found = self.task.metadata
        return {
            "id": self.task.id,
            "name": self.task.name,
            **{key: found.get(key) for key in ("status", "priority", "due_date", "assignees")},
            "ready": self.is_ready,
            "waits_for": list(self.waits_for),
            "holds_up": self.holds_up,
        }


def prioritize(app: App, call: Call, request: PrioritizeRequest) -> Advice:
    """Put the open tasks of a project or epic in order.

    Actionable tasks come before waiting and blocked ones; then by priority, due date, how many tasks wait for it, age.
    """
    ranked = _ranked(app, call.caller, request.entity_id)
    shown = ranked[: request.limit]
    message = f"{len(ranked)} open tasks, {sum(each.is_ready for each in ranked)} of them can go on"
    return Advice(message=message, data={"tasks": [each.shown() for each in shown], "total": len(ranked)})


def suggest(app: App, call: Call, request: SuggestRequest) -> Advice:
    """Suggest which tasks to take up next: not begun yet, and waiting for nothing."""
    ranked = _ranked(app, call.caller, request.entity_id)
    free = [each for each in ranked if each.is_ready and each.task.metadata.get("status") in WAITING]
    if request.assignee is not None:
        person = comparable(request.assignee.strip())
        free = [each for each in free if not each.assignees or person in each.assignees]
    message = f"{len(free)} tasks can be taken up" if free else "No task can be taken up now"
    return Advice(message=message, data={"tasks": [each.shown() for each in free[: request.limit]], "total": len(free)})


def detect_cycles(app: App, call: Call, request: PlanRequest) -> Advice:
    """Find tasks of a project or epic that wait for each other in a circle."""
    tasks = _tasks(app, call.caller, request.entity_id)
    found = circles(_before(app, call.caller, tasks))
    message = f"{len(found)} circles of dependencies" if found else "No circle of dependencies"
    return Advice(message=message, data={"cycles": [[*circle] for circle in found]})


async def estimate(app: App, call: Call, request: EstimateRequest) -> Advice:
    """Estimate a task by the hours that done tasks like it took."""
    there = await in_thread(app.ledger.records.entity, call.caller.organization_id, request.task_id)
    task = present(call.caller, there, request.task_id, "task")
    found = await alike(app, call.caller, f"{task.name}\n{task.description}", "task", limit=50, status="done")
    sample = [
        (each, score, hours)
        for each, score in found
        if score >= ALIKE and each.id != task.id and (hours := _hours(each)) is not None
    ][:SAMPLE]
    if not sample:
        message = "No done task like this one says how long it took; give actual_hours when completing tasks."
        return Advice(success=False, message=message, data={"sample": []})
    taken = [hours for _, _, hours in sample]
    data: JsonObject = {
        "estimated_hours": median(taken),
        "least_hours": min(taken),
        "most_hours": max(taken),
        "sample": [
            {"id": each.id, "name": each.name, "actual_hours": hours, "similarity": score}
            for each, score, hours in sample
        ],
    }
    return Advice(message=f"About {median(taken):g} h, by {len(sample)} done tasks like it", data=data)


def _hours(task: Entity) -> float | None:
    value = task.metadata.get("actual_hours")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_HOURS:
        return None
    return float(value)


def _tasks(app: App, caller: Principal, entity_id: str) -> list[Entity]:
    project_id = ProjectNames(app, caller).id_of(entity_id)
    found = app.ledger.records.entity(caller.organization_id, project_id or entity_id)
    place = present(caller, found, entity_id, "project", "epic")
    is_epic = place.entity_type == "epic"
    query = EntityQuery(
        visibility=caller.visible,
        types=("task",),
        statuses=OPEN,
        project_ids=() if is_epic else (place.id,),
        epic=place.id if is_epic else None,
        sort_by="created_at",
        sort_order="asc",
        limit=CONSIDERED,
    )
    return app.ledger.records.list_entities(caller.organization_id, query)[0]


def _ranked(app: App, caller: Principal, entity_id: str) -> list[Ranked]:
    tasks = _tasks(app, caller, entity_id)
    before = _before(app, caller, tasks)
    named = {each for ids in before.values() for each in ids}
    first = {
        each.id
        for each in app.ledger.records.entities(caller.organization_id, named).values()
        if may_read(caller, each.visibility) and each.metadata.get("status") in OPEN
    }
    waiting = Counter(each for ids in before.values() for each in ids)
    ranked = [
        Ranked(task, tuple(each for each in before[task.id] if each in first), waiting[task.id]) for task in tasks
    ]
    return sorted(ranked, key=_place)


def _place(each: Ranked) -> tuple[bool, int, str, int]:
    priority, due = each.task.metadata.get("priority"), each.task.metadata.get("due_date")
    rank = ORDER.index(priority) if priority in ORDER else len(ORDER)
    return (not each.is_ready, rank, due if isinstance(due, str) and due else "9999", -each.holds_up)


def _before(app: App, caller: Principal, tasks: Sequence[Entity]) -> dict[str, tuple[str, ...]]:
    facts = app.ledger.records.dependencies(
        caller.organization_id, [task.id for task in tasks], visibility=caller.visible
    )
    return {
        task.id: tuple(dict.fromkeys([*texts_in(task.metadata.get("depends_on")), *facts.get(task.id, ())]))
        for task in tasks
    }


def circles(edges: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Find disjoint cycles; each is a path whose first and last id are the same."""
    left, found = dict(edges), list[list[str]]()
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1]
            found.append(circle[::-1])
            left = {node: set(there).difference(circle) for node, there in left.items() if node not in circle}
        else:
            return found
