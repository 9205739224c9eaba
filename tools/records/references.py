"""Redaction of metadata ids that name records the caller may not read."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from auth.policy import may_read
from auth.principal import Principal
from stores.ledger import Brief
from stores.records import Entity, JsonObject
from tools.app import App
from tools.frame.json_values import texts_in

Shown = TypeVar("Shown", Entity, Brief)
KEYS = frozenset({"epic_id", "parent_task_id", "task_id", "depends_on"})
"""Without `project_id`: records that outlive their project are found by it."""


def without_hidden(
    app: App, caller: Principal, entities: Iterable[Shown], *, as_of: datetime | None = None
) -> list[Shown]:
    """Remove metadata ids that name records the caller may not read, now or at `as_of`.

    Ids of deleted records stay. Blocks.
    """
    found = list(entities)
    values = (value for entity in found for key in KEYS if (value := entity.metadata.get(key)) is not None)
    named = {each for value in values for each in texts_in(value if isinstance(value, list) else [value])}
    if not named:
        return found
    there = app.ledger.records.statuses(caller.organization_id, named, visibility=caller.visible)
    hidden = {each for each, standing in there.items() if not may_read(caller, standing.visibility)}
    if as_of is not None:
        then = app.ledger.records.entities_at(caller.organization_id, named, as_of)
        hidden |= {each for each, entity in then.items() if not may_read(caller, entity.visibility)}
    return [_without(entity, hidden) for entity in found] if hidden else found


def _without(entity: Shown, hidden: set[str]) -> Shown:
    shown: JsonObject = {}
    for key, value in entity.metadata.items():
        if key not in KEYS:
            shown[key] = value
        elif isinstance(value, list):
            shown[key] = [each for each in value if not (isinstance(each, str) and each in hidden)]
        elif not (isinstance(value, str) and value in hidden):
            shown[key] = value
    if shown == entity.metadata:
        return entity
    return entity._replace(metadata=shown) if isinstance(entity, Brief) else replace(entity, metadata=shown)
