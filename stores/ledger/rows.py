"""Conversion of entities to rows and back."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, Table

from stores.language.wording import plain
from stores.ledger.columns import RecordTable, damaged, field_names, sound_reader
from stores.ledger.encoding import ID_BYTES, cut, key_of
from stores.ledger.schema import entities
from stores.records import Entity, JsonObject, source_ids

Values = dict[str, Any]
"""Parameters of an INSERT or UPDATE."""

ENTITY_COLUMNS = field_names(Entity)
SOURCE = "source"
"""Kind of the labels that name the records of which an entity was made."""
_TEXT = {str}


class Brief(NamedTuple):
    """An entity for lists, without long text and history."""

    id: str
    entity_type: str
    name: str
    description: str
    category: str | None
    languages: tuple[str, ...]
    tags: tuple[str, ...]
    metadata: JsonObject
    project_id: str | None
    visibility: str


class Outline(NamedTuple):
    """Fields that permissions depend on, and the revision."""

    id: str
    entity_type: str
    visibility: str
    project_id: str | None
    revision: int


to_brief = sound_reader(Brief, "entity")
_ENTITIES = RecordTable(entities, Entity)


def entity_columns(table: Table) -> list[Column[Any]]:
    return [table.c[name] for name in ENTITY_COLUMNS]


def to_entity(row: Sequence[Any]) -> Entity:
    """Convert a row whose first columns are `entity_columns`, or raise RecordUnreadable."""
    if {*map(type, row[:6])} != _TEXT:
        raise damaged("entity", row[1], row[11], TypeError("a text was expected"))
    return _ENTITIES.read(row)


def entity_values(entity: Entity) -> Values:
    """Return every column of an entity, with derived keys."""
    return _ENTITIES.values(entity) | {
        "type_key": key_of(entity.entity_type),
        "name_key": key_of(entity.name),
        "category_key": key_of(entity.category),
        **_workflow_keys(entity),
        "search_text": plain(f"{entity.name}\x1f{entity.description}"),
    }


def label_rows(entity: Entity) -> list[Values]:
    """Return rows for lookups by language, tag, assignee, or source."""
    keys = sorted({(kind, key) for kind, label in _labels(entity) if (key := key_of(label))})
    return [
        {"organization_id": entity.organization_id, "kind": kind, "label": label, "entity_id": entity.id}
        for kind, label in keys
    ]


def _labels(entity: Entity) -> Iterator[tuple[str, str]]:
    yield from (("language", language) for language in entity.languages)
    yield from (("tag", tag) for tag in entity.tags)
    assignees = entity.metadata.get("assignees")
    if isinstance(assignees, list):
        yield from (("assignee", name) for name in assignees if isinstance(name, str))
    yield from ((SOURCE, each) for each in source_ids(entity))


def _workflow_keys(entity: Entity) -> Values:
    names = ("status", "priority", "complexity", "feature", "epic_id")
    texts = {name: text for name in names if isinstance(text := entity.metadata.get(name), str)}
    epic = texts.pop("epic_id", "")
    return {f"{name}_key": key_of(texts.get(name)) for name in names[:4]} | {"epic_id": cut(epic, ID_BYTES) or None}
