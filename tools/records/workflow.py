"""Workflow of tasks, epics and projects: states, moves, side effects, and the status that epics derive."""

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from json import dumps

from pydantic import JsonValue

from auth.policy import may_reach, may_work, principal_of
from auth.principal import Principal
from auth.visibility import private_key
from stores.errors import InvalidRequest, ValidationFailed
from stores.language.wording import comparable
from stores.ledger import Transaction
from stores.records import ORGANIZATION, Entity, EntityDraft, JsonObject
from tools.records.entity_types import COMPLEXITIES, PRIORITIES, PROJECT_VISIBILITIES, STATUSES

STAMPS = {
    "task": {"doing": "started_at", "review": "reviewed_at", "done": "completed_at", "archived": "archived_at"},
    "epic": {"in_progress": "started_at", "completed": "completed_at", "archived": "archived_at"},
}
ARCHIVED_AT = "archived_at"
SLUG_LENGTH = 40


def with_defaults(entity_type: str, metadata: JsonObject) -> JsonObject:
    """Add the default workflow keys of a new entity."""
    defaults: JsonObject = {}
    if entity_type in STATUSES:
        defaults["status"] = STATUSES[entity_type][0]
    if entity_type in ("task", "epic"):
        defaults["priority"] = PRIORITIES[0]
    if entity_type == "task":
        defaults["complexity"] = COMPLEXITIES[0]
    merged = {**defaults, **{key: value for key, value in metadata.items() if value is not None or key not in defaults}}
    return checked_workflow(entity_type, merged, current={})


def checked_workflow(entity_type: str, update: JsonObject, *, current: JsonObject) -> JsonObject:
    """Check workflow values and moves; return the update with each assignee once.

    Null is refused, because filters rely on every workflow entity having a state.
    """
    if entity_type not in STATUSES:
        return update
    _one_of("status", update, STATUSES[entity_type])
    if entity_type in ("task", "epic"):
        _one_of("priority", update, PRIORITIES)
        _one_of("complexity", update, COMPLEXITIES)
        if current.get("status") == "archived" and (new := update.get("status")) not in (None, "archived"):
            raise InvalidRequest(f"Invalid transition: archived -> {new}.", remediation="Create a new one instead.")
        return update | {key: _people(value) for key, value in update.items() if key == "assignees"}
    _one_of("visibility", update, PROJECT_VISIBILITIES)
    return update


def moved(subject: Entity | EntityDraft, update: JsonObject, now: datetime) -> JsonObject:
    """Add the side effects of a status change to a metadata update.

    They are the time of entering the state (the first start counts), clearing `completed_at` on reopening, and a branch
    name at the start of a task. Values in the update win, except `archived_at` of an epic. For a new record the update
    is all its metadata.
    """
    if subject.entity_type == "epic":
        update = {key: value for key, value in update.items() if key != ARCHIVED_AT}
    status, current = update.get("status"), subject.metadata if isinstance(subject, Entity) else {}
    stamps = STAMPS.get(subject.entity_type, {})
    becomes_final = subject.entity_type == "epic" and status == "archived" and not current.get(ARCHIVED_AT)
    if not isinstance(status, str) or not stamps or (status == current.get("status") and not becomes_final):
        return update
    brought: JsonObject = {}
    if (stamp := stamps.get(status)) and not (stamp == "started_at" and current.get(stamp)):
        brought[stamp] = now.isoformat()
    if current.get("completed_at") and stamp not in ("completed_at", "archived_at"):
        brought["completed_at"] = None
    if status == "doing" and not current.get("branch_name"):
        brought["branch_name"] = branch_name(subject.id, subject.name)
    return {**brought, **update}


def joined(known: JsonValue, added: Iterable[str]) -> list[JsonValue]:
    """Append the values that a metadata list does not hold yet."""
    present = known if isinstance(known, list) else []
    texts = {each for each in present if isinstance(each, str)}
    return [*present, *(each for each in dict.fromkeys(added) if each not in texts)]


def branch_name(task_id: str, title: str) -> str:
    """Return the branch name of a task: `task/<8 hex digits of its id>-<words of its title>`."""
    digits = re.sub(r"[^0-9a-f]", "", task_id.lower())[:8]
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_LENGTH].strip("-")
    return f"task/{digits}-{words or 'task'}"


def derived_status(statuses: Collection[str]) -> str:
    """Derive the status of an epic from those of its tasks."""
    present = set(statuses)
    if present & {"doing", "review"}:
        return "in_progress"
    if "blocked" in present:
        return "blocked"
    if present and present <= {"done", "archived"}:
        return "completed" if "done" in present else "archived"
    return "planning"


def workflow_fields(metadata: JsonObject) -> JsonObject:
    return {key: metadata[key] for key in ("status", "priority") if isinstance(metadata.get(key), str)}


def _one_of(key: str, metadata: JsonObject, words: tuple[str, ...]) -> None:
    if key in metadata and metadata[key] not in words:
        given = "null" if metadata[key] is None else repr(metadata[key])
        raise ValidationFailed(
            f"metadata.{key} is {given}; use one of {', '.join(words)}.",
            remediation=f"Leave {key} out to keep its value, or send one of the allowed words.",
            details={"field": f"body.metadata.{key}", "expected": "enum"},
        )


def _people(value: JsonValue) -> JsonValue:
    if value is None:
        return None
    names: dict[str, str] = {}
    for name in value if isinstance(value, list) else [value]:
        if not isinstance(value, list) or not isinstance(name, str) or not name.strip():
            raise ValidationFailed(
                f"metadata.assignees holds {dumps(name)[:80]}; it takes a list of names.",
                remediation="Send a list of names, or null for no assignee.",
                details={"field": "body.metadata.assignees", "expected": "list of names, or null"},
            )
        names.setdefault(comparable(name.strip()), name.strip())
    return list(names.values())


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
    after = replace(epic, metadata={**epic.metadata, **update})
    return tx.records.update_entity(epic_id, lambda _: after, fields=workflow_fields(update))


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
