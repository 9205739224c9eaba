"""Status of epics, derived from their tasks."""

from collections.abc import Iterable
from dataclasses import replace

from pydantic import JsonValue

from auth.policy import may_reach, may_work, principal_of
from auth.principal import Principal
from auth.visibility import private_key
from stores.ledger import Transaction
from stores.records import ORGANIZATION, Entity
from tools.records.workflow import ARCHIVED_AT, derived_status, moved, workflow_fields


def update_epics(tx: Transaction, caller: Principal, before: Entity | None, after: Entity | None) -> list[Entity]:
    """Update the status of the epics of a task that was created, changed or deleted.

    Returns the changed epics that the caller may read. An epic without tasks keeps its status. A started epic does not
    go back to planning, and a completed one stays completed when its tasks are archived. An epic archived by hand stays
    archived; only a maintainer archives one with its last task.
    """
    if _place(before) == _place(after):
        return []
    epics = dict.fromkeys(epic for task in (before, after) if (epic := _epic_of(task)) is not None)
    followed = [_follow(tx, caller, epic_id) for epic_id in epics]
    return [epic for epic in followed if epic is not None and may_reach(caller, epic)]


def _place(task: Entity | None) -> tuple[JsonValue, ...]:
    return () if task is None else (_epic_of(task), task.metadata.get("status"), task.visibility)


def _epic_of(task: Entity | None) -> str | None:
    epic = task.metadata.get("epic_id") if task is not None and task.entity_type == "task" else None
    return epic if isinstance(epic, str) and epic else None


def _follow(tx: Transaction, caller: Principal, epic_id: str) -> Entity | None:
    epic = tx.records.entity(epic_id)
    if epic is None or epic.entity_type != "epic" or not may_work(caller, epic):
        return None
    statuses = tx.records.statuses_in_epic(epic_id, _counted(tx, caller, epic))
    status = _next_status(epic, statuses)
    if status is None or (status == "archived" and not may_work(caller, epic, "project_maintainer")):
        return None
    update = moved(epic, {"status": status}, tx.now)
    update.pop(ARCHIVED_AT, None)

    def follow(current: Entity) -> Entity:
        return replace(current, metadata={**current.metadata, **update})

    return tx.records.update_entity(epic_id, follow, fields=workflow_fields(update))


def _next_status(epic: Entity, statuses: Iterable[str]) -> str | None:
    found = set(statuses)
    current = epic.metadata.get("status")
    if not found or (current == "archived" and epic.metadata.get(ARCHIVED_AT)):
        return None
    status = derived_status(found)
    if status == "planning" and epic.metadata.get("started_at"):
        status = "in_progress"
    return None if status == current or (current, status) == ("completed", "archived") else status


def _counted(tx: Transaction, caller: Principal, epic: Entity) -> frozenset[str]:
    if epic.visibility != private_key(epic.principal_id):
        return frozenset({epic.visibility, ORGANIZATION})
    if epic.principal_id == caller.user_id and not caller.is_narrowed:
        return caller.visible
    author = tx.people.member(epic.principal_id)
    return frozenset() if author is None else principal_of(*author).visible
