"""The states that tasks, epics and projects may be in, and the moves between them."""

from json import dumps

from pydantic import JsonValue

from stores.errors import InvalidRequest, ValidationFailed
from stores.records import JsonObject
from tools.entity_types import COMPLEXITIES, PRIORITIES, PROJECT_VISIBILITIES, STATUSES


def with_defaults(entity_type: str, metadata: JsonObject) -> JsonObject:
    """Add the workflow keys that a new entity of this type has by default.

    Raises:
        ValidationFailed: A workflow key has a value that is not one of its words.
    """
    defaults: JsonObject = {}
    if entity_type in STATUSES:
        defaults["status"] = STATUSES[entity_type][0]
    if entity_type in ("task", "epic"):
        defaults["priority"] = PRIORITIES[0]
    if entity_type == "task":
        defaults["complexity"] = COMPLEXITIES[0]
    merged = {**defaults, **{key: value for key, value in metadata.items() if value is not None or key not in defaults}}
    checked_workflow(entity_type, merged, current={})
    return merged


def checked_workflow(entity_type: str, update: JsonObject, *, current: JsonObject) -> None:
    """Refuse workflow values that are no words of the interface, and a move out of a task's archive.

    Null is no word: what has a workflow is always in one of its states, and filters rely on that.

    Raises:
        ValidationFailed: Unknown status, priority, complexity or project visibility, or what cannot be an epic's id.
        InvalidRequest: The task or epic is archived, which is final.
    """
    if entity_type not in STATUSES:
        return
    _one_of("status", update, STATUSES[entity_type])
    if entity_type in ("task", "epic"):
        _one_of("priority", update, PRIORITIES)
        _one_of("complexity", update, COMPLEXITIES)
        _leave_archived(update.get("status"), current.get("status"))
        _names_an_epic(update.get("epic_id"))
    else:
        _one_of("visibility", update, PROJECT_VISIBILITIES)


def workflow_fields(metadata: JsonObject) -> JsonObject:
    """The workflow keys that events carry: words of the interface, never text."""
    return {key: metadata[key] for key in ("status", "priority") if isinstance(metadata.get(key), str)}


def _one_of(key: str, metadata: JsonObject, words: tuple[str, ...]) -> None:
    if key in metadata and metadata[key] not in words:
        given = "null" if metadata[key] is None else repr(metadata[key])
        raise ValidationFailed(
            f"metadata.{key} is {given}; use one of {', '.join(words)}.",
            remediation=f"Leave {key} out to keep what it is, or send one of its words.",
            details={"field": f"body.metadata.{key}", "expected": "enum"},
        )


def _names_an_epic(value: JsonValue) -> None:
    """Refuse what would silently be no epic: lists of tasks without one rely on it."""
    if value is not None and not (isinstance(value, str) and value):
        raise ValidationFailed(
            f"metadata.epic_id is {dumps(value)[:80]}, which is no epic's id.",
            remediation="Send the id of an epic as a text, or null for none.",
            details={"field": "body.metadata.epic_id", "expected": "id of an epic, or null"},
        )


def _leave_archived(new: JsonValue, old: JsonValue) -> None:
    if old == "archived" and new is not None and new != "archived":
        raise InvalidRequest(f"Invalid transition: archived -> {new}.", remediation="Create a new one instead.")
