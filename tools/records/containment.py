"""Metadata fields that state relations: project, epic, parent task and dependencies.

Changing the field ends the relation that it stated; nothing else can end that one. Ids in it that the reader may not
know are left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from json import dumps
from typing import TypeVar

from pydantic import JsonValue

from auth.policy import may_read
from auth.principal import Principal
from stores.errors import InvalidRequest, ValidationFailed
from stores.ledger import Brief, Transaction
from stores.records import Entity, JsonObject, Relation
from tools.app import App
from tools.frame.json_values import texts_in
from tools.records.linking import Link, record

DEPENDENCIES_LIMIT = 100
HIDEABLE = frozenset({"epic_id", "parent_task_id", "task_id", "depends_on"})
"""Without `project_id`: records that outlive their project are found by it."""

Shown = TypeVar("Shown", Entity, Brief)


@dataclass(frozen=True, slots=True)
class Field:
    key: str
    name: str
    targets: tuple[str, ...]
    sources: tuple[str, ...] = ()
    is_list: bool = False

    @property
    def path(self) -> str:
        return f"metadata.{self.key}"

    def is_of(self, entity: Entity) -> bool:
        """Return whether the entity has this field. Chunks follow their source instead."""
        return entity.entity_type in self.sources if self.sources else entity.source_id is None


PROJECT = Field("project_id", "BELONGS_TO", ("project",))
FIELDS = (
    PROJECT,
    Field("epic_id", "PART_OF", ("epic",), ("task",)),
    Field("parent_task_id", "CHILD_OF", ("task",), ("task",)),
    Field("depends_on", "DEPENDS_ON", ("task", "epic"), ("task", "epic"), is_list=True),
)


def contain(tx: Transaction, caller: Principal, before: Entity | None, after: Entity) -> None:
    """Update the relations that an entity's fields state.

    `before` is None for a new entity. Unchanged fields are skipped.
    """
    for field in FIELDS if before is not None else ():
        left = set(_named(field, before)) - set(_named(field, after)) if field.is_of(after) else set[str]()
        for relation in tx.relations.unended_relations(after.id, {field.name}) if left else ():
            if relation.target_id in left:
                tx.relations.end_relation(relation.id)
    created = {after.id} if before is None else set[str]()
    record(tx, caller, stated_links(before, after), created=created)


def stated_links(before: Entity | None, after: Entity) -> list[Link]:
    """Return the relations that the fields state now and did not state before."""
    return [
        Link(after, field.name, target_id, field.path, types=field.targets)
        for field in FIELDS
        if field.is_of(after)
        for target_id in _new(field, before, after)
    ]


def refuse_stated(source: Entity, relation: Relation) -> None:
    """Refuse to end a relation that a field states, except by that field."""
    for field in FIELDS:
        if field.name == relation.name and field.is_of(source) and relation.target_id in _named(field, source):
            raise InvalidRequest(
                f"{field.path} of {source.id} states that it {relation.name} {relation.target_id}.",
                remediation=f"Change {field.path} with PATCH /api/entities/{source.id}; the relation follows.",
                details={"field": f"body.{field.path}", "relationship_type": relation.name},
            )


def keep_hidden(tx: Transaction, caller: Principal, before: Entity, update: JsonObject) -> JsonObject:
    """Keep the ids in relation fields of an update that the caller cannot see."""
    for field in (each for each in FIELDS if each is not PROJECT and each.is_of(before) and each.key in update):
        given, known = update[field.key], list(_named(field, before))
        if not (given is None or (isinstance(given, list) and field.is_list)):
            continue
        hidden = [each.id for each in tx.records.entities(known).values() if not may_read(caller, each.visibility)]
        kept: list[JsonValue] = [each for each in known if each in hidden]
        if not field.is_list:
            update = {**update, field.key: kept[0]} if kept else update
            continue
        shown = [each for each in given or () if each not in hidden]
        if given is not None:
            _check(field, shown)
        update = {**update, field.key: [*shown, *kept]} if kept else update
    return update


def _new(field: Field, before: Entity | None, after: Entity) -> Iterable[str]:
    value = _value(field, after)
    if before is not None and _value(field, before) == value:
        return ()
    known = set(_named(field, before))
    # `keep_hidden` has checked the given ids of an update.
    _check(field, value if before is None or not isinstance(value, list) else value[:DEPENDENCIES_LIMIT])
    return [target_id for target_id in dict.fromkeys(_named(field, after)) if target_id not in known]


def _value(field: Field, entity: Entity) -> JsonValue:
    return entity.project_id if field.key == "project_id" else entity.metadata.get(field.key)


def _named(field: Field, entity: Entity | None) -> Iterator[str]:
    value = None if entity is None else _value(field, entity)
    for each in value if isinstance(value, list) and field.is_list else [value]:
        if isinstance(each, str) and each:
            yield each


def _check(field: Field, value: JsonValue) -> None:
    if value is None or (isinstance(value, str) and value and not field.is_list):
        return
    is_list = isinstance(value, list) and len(value) <= DEPENDENCIES_LIMIT
    if field.is_list and is_list and all(isinstance(each, str) and each for each in value):  # type: ignore[union-attr]
        return
    expected = f"a list of at most {DEPENDENCIES_LIMIT} ids" if field.is_list else "an id"
    # Only the count: ids that were there before may be hidden from the caller.
    given = f"a list of {len(value)}" if isinstance(value, list) and not is_list else dumps(value)[:80]
    raise ValidationFailed(
        f"{field.path} is {given}, which is not {expected}.",
        remediation=f"Send {expected}, or null for none.",
        details={"field": f"body.{field.path}", "expected": f"{expected}, or null"},
    )


def without_hidden(
    app: App, caller: Principal, entities: Iterable[Shown], *, as_of: datetime | None = None
) -> list[Shown]:
    """Remove metadata ids that name records the caller may not read, now or at `as_of`.

    Ids of deleted records stay. Blocks.
    """
    found = list(entities)
    values = (value for entity in found for key in HIDEABLE if (value := entity.metadata.get(key)) is not None)
    named = {each for value in values for each in texts_in(value if isinstance(value, list) else [value])}
    if not named:
        return found
    there = app.ledger.records.statuses(caller.organization_id, named, visibility=caller.visible)
    hidden = {each for each, status in there.items() if not may_read(caller, status.visibility)}
    if as_of is not None:
        then = app.ledger.records.entities_at(caller.organization_id, named, as_of)
        hidden |= {each for each, entity in then.items() if not may_read(caller, entity.visibility)}
    return [_without(entity, hidden) for entity in found] if hidden else found


def _without(entity: Shown, hidden: set[str]) -> Shown:
    shown: JsonObject = {}
    for key, value in entity.metadata.items():
        if key in HIDEABLE and isinstance(value, list):
            shown[key] = [each for each in value if not (isinstance(each, str) and each in hidden)]
        elif not (key in HIDEABLE and isinstance(value, str) and value in hidden):
            shown[key] = value
    if shown == entity.metadata:
        return entity
    return entity._replace(metadata=shown) if isinstance(entity, Brief) else replace(entity, metadata=shown)
