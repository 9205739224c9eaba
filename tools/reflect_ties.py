"""What is linked to what reflection keeps: records and tasks that were named, and the task that is being worked on."""

from dataclasses import dataclass, replace

from auth.policy import reaches_readers_of
from auth.principal import Principal
from stores.records import Entity
from tools.active_task import active_task
from tools.app import App
from tools.linking import Target, referred, require_target
from tools.reflect_models import ReflectRequest


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
    there = app.ledger.records.entities(caller.organization_id, {target_id for _, target_id, _ in named})
    found: dict[tuple[str, str], Tie] = {}
    for name, target_id, field in named:
        wanted = Target(target_id, field, ("task",) if field == "task_ids" else ())
        target = require_target(caller, wanted, there.get(target_id))
        found.setdefault((name, target_id), Tie(name, target, field))
    active = active_task(app, caller, request.project) if request.active_task else None
    if active is not None:
        found.setdefault(("RELATED_TO", active.id), Tie("RELATED_TO", active, "active_task"))
    return [
        replace(tie, is_for_all=reaches_readers_of(caller, tie.target.visibility, visibility)) for tie in found.values()
    ]
