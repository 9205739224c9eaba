"""Entities: read by id, now or as of a time; created and changed inside a transaction."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, bindparam, delete, func, insert, select, update

from stores.errors import Conflict, NotFound, RecordUnreadable
from stores.language.wording import plain
from stores.ledger import schema
from stores.ledger.columns import RecordTable, among, beside, damaged, field_names, fields_of, here, json_list, sound
from stores.ledger.encoding import ID_BYTES, Values, cut, key_of, to_micros
from stores.ledger.store import AsJson, Entry, Store, Writes, insert_rows, unpacked
from stores.records import ChangeOperation, Entity, EntityDraft, JsonObject, source_ids

_table, _past, _labels, _changes = schema.entities, schema.entity_revisions, schema.entity_labels, schema.changes
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


ENTITIES, _REVISIONS, _BRIEFS = RecordTable(_table, Entity), RecordTable(_past, Entity), RecordTable(_table, Brief)


def to_entity(row: Sequence[Any]) -> Entity:
    """Convert a row whose first columns are those of `ENTITIES`, or raise RecordUnreadable."""
    if {*map(type, row[:6])} != _TEXT:
        raise damaged("entity", row[1], row[11], TypeError("a text was expected"))
    return ENTITIES.read(row)


def entity_values(entity: Entity) -> Values:
    """Return every column of an entity, with derived keys."""
    return ENTITIES.values(entity) | {
        "type_key": key_of(entity.entity_type),
        "name_key": key_of(entity.name),
        "category_key": key_of(entity.category),
        **_workflow_keys(entity),
        "search_text": plain(f"{entity.name}\x1f{entity.description}"),
    }


def label_rows(entity: Entity) -> list[Values]:
    """Return rows for lookups by language, tag, assignee, or source."""
    keys = sorted({(kind, key) for kind, label in _named(entity) if (key := key_of(label))})
    return [
        {"organization_id": entity.organization_id, "kind": kind, "label": label, "entity_id": entity.id}
        for kind, label in keys
    ]


def _named(entity: Entity) -> Iterator[tuple[str, str]]:
    yield from (("language", language) for language in entity.languages)
    yield from (("tag", tag) for tag in entity.tags)
    assignees = entity.metadata.get("assignees")
    if isinstance(assignees, list):
        yield from (("assignee", name) for name in assignees if isinstance(name, str))
    yield from ((SOURCE, each) for each in source_ids(entity))


def _workflow_keys(entity: Entity) -> Values:
    names = ("status", "priority", "complexity", "feature")
    texts = {name: text for name, text in entity.metadata.items() if isinstance(text, str)}
    keys: Values = {f"{name}_key": key_of(texts.get(name)) for name in names}
    return keys | {"epic_id": cut(texts.get("epic_id", ""), ID_BYTES) or None}


_of_organization = here(_table)
_by_id = select(*ENTITIES.columns).where(_of_organization, _table.c.id == bindparam("id"))
_by_ids = select(*ENTITIES.columns).where(_of_organization, among(_table.c.id))
# An expression, so that the primary key is read and no index of times.
_unchanged_since = _by_ids.where(_table.c.updated_at + 0 <= bindparam("at"))
_past_at = select(*_REVISIONS.columns).where(
    here(_past), among(_past.c.id), _past.c.valid_from <= bindparam("at"), _past.c.valid_to > bindparam("at")
)
_DRAFTED = field_names(EntityDraft)
_archive = insert(_past).from_select(
    [*field_names(Entity), "valid_from", "valid_to"],
    select(*ENTITIES.columns, _table.c.updated_at, bindparam("valid_to", type_=BigInteger)).where(
        _of_organization, _table.c.id == bindparam("entity")
    ),
)
_change = update(_table).where(here(_table, "of_organization"), _table.c.id == bindparam("of_entity"))
_unlabel = delete(_labels).where(here(_labels), _labels.c.entity_id == bindparam("entity"))


_entities_by_ids, _briefs_by_ids, _outlines_by_ids = (
    select(AsJson(*columns)).where(_of_organization, among(_table.c.id))
    for columns in (ENTITIES.columns, _BRIEFS.columns, [_table.c[name] for name in Outline._fields])
)


class EntityReads(Store):
    def entity(self, organization_id: str, entity_id: str) -> Entity | None:
        """Return the current revision of an entity, or raise RecordUnreadable."""
        return self._one(_by_id, {"organization": organization_id, "id": entity_id}, to_entity)

    def entities(self, organization_id: str, entity_ids: Iterable[str]) -> dict[str, Entity]:
        rows = self._packed(_entities_by_ids, {"organization": organization_id, "ids": json_list(entity_ids)})
        return {entity.id: entity for entity in sound(rows, to_entity)}

    def briefs(self, organization_id: str, entity_ids: Iterable[str]) -> dict[str, Brief]:
        """Return the existing, readable entities by id, without their long texts."""
        rows = self._packed(_briefs_by_ids, {"organization": organization_id, "ids": json_list(entity_ids)})
        return {brief.id: brief for brief in sound(rows, _BRIEFS.read)}

    def entity_at(self, organization_id: str, entity_id: str, as_of: datetime) -> Entity | None:
        values = {"organization": organization_id, "ids": json_list([entity_id]), "at": to_micros(as_of)}
        return self._one(_unchanged_since, values, to_entity) or self._one(_past_at, values, to_entity)

    def entities_at(self, organization_id: str, entity_ids: Iterable[str], as_of: datetime) -> dict[str, Entity]:
        """Return readable revisions current at that time, by id."""
        ids = list(entity_ids)
        values = {"organization": organization_id, "ids": json_list(ids), "at": to_micros(as_of)}
        found = {entity.id: entity for entity in sound(self._all(_unchanged_since, values), to_entity)}
        older = json_list(each for each in ids if each not in found)
        return found | {entity.id: entity for entity in sound(self._all(_past_at, values | {"ids": older}), to_entity)}

    def replaced_since(
        self, organization_id: str, as_of: datetime, *, visibility: frozenset[str], limit: int
    ) -> list[Entity]:
        """Return visible records' revisions of that time replaced since, latest change first."""
        at = to_micros(as_of)
        statement = (
            select(*_REVISIONS.columns)
            .join(_table, beside(_table.c.id, _past.c.id))
            .where(
                _table.c.visibility.in_(sorted(visibility)),
                _past.c.organization_id == organization_id,
                _past.c.valid_from <= at,
                _past.c.valid_to > at,
            )
            .order_by(_past.c.valid_to.desc(), _past.c.id)
            .limit(limit)
        )
        return sound(self._all(statement), to_entity)

    def readable_with_prefix(
        self, organization_id: str, prefixes: Iterable[str], *, visibility: frozenset[str], limit: int
    ) -> list[Entity]:
        """Return visible entities whose id has one of the prefixes, by prefix and id."""
        visible = (_table.c.organization_id == organization_id, _table.c.visibility.in_(sorted(visibility)))
        statement = select(*ENTITIES.columns).where(*visible).order_by(_table.c.id)
        found: dict[str, Entity] = {}
        # One by one: with several ranges at once, SQLite scans every id.
        for first in prefixes:
            within = statement.where(_table.c.id >= first, _table.c.id < first + "\U0010ffff")
            found |= {each.id: each for each in sound(self._all(within.limit(limit - len(found))), to_entity)}
            if len(found) >= limit:
                break
        return list(found.values())

    def revisions(self, organization_id: str) -> dict[str, int]:
        statement = select(_table.c.id, _table.c.revision).where(_table.c.organization_id == organization_id)
        return {row[0]: row[1] for row in self._all(statement)}

    def entity_counts(self, organization_id: str, visibility: frozenset[str] | None = None) -> dict[str, int]:
        """Count entities by type: all, or the visible ones."""
        counts = select(_table.c.entity_type, func.count()).where(_table.c.organization_id == organization_id)
        if visibility is not None:
            counts = counts.where(_table.c.visibility.in_(sorted(visibility)))
        return {row[0]: row[1] for row in self._all(counts.group_by(_table.c.entity_type))}


class EntityWrites(Writes):
    def entity(self, entity_id: str) -> Entity | None:
        return self._one(_by_id, self._here | {"id": entity_id}, to_entity)

    def revision(self, entity_id: str, number: int) -> Entity | None:
        which = _REVISIONS.select(organization_id=self.organization_id, id=entity_id, revision=number)
        return self._one(which, {}, to_entity)

    def remains(self, entity_id: str) -> Entity | None:
        """Return the entity, without its lists and metadata if they are damaged: erasing needs neither."""
        try:
            return self.entity(entity_id)
        except RecordUnreadable:
            row = self._run(_by_id, self._here | {"id": entity_id}).one()
            return to_entity((*row[:7], "[]", "[]", "{}", *row[10:]))

    def entities(self, entity_ids: Iterable[str]) -> dict[str, Entity]:
        rows = unpacked(self._run(_entities_by_ids, self._here | {"ids": json_list(entity_ids)}).first())
        return {entity.id: entity for entity in map(to_entity, rows)}

    def written_since(self, after: int, *, types: frozenset[str], visibility: frozenset[str], limit: int) -> list[str]:
        statement = (
            select(_changes.c.record_id)
            .where(
                _changes.c.organization_id == self.organization_id,
                _changes.c.kind == "entity",
                _changes.c.sequence > after,
                _changes.c.operation.in_(("create", "update")),
                _changes.c.entity_type.in_(sorted(types)),
                _changes.c.visibility.in_(sorted(visibility)),
            )
            .order_by(_changes.c.sequence.desc())
            .limit(limit)
        )
        return list(dict.fromkeys(self._connection.execute(statement).scalars()))

    def outlines(self, entity_ids: Iterable[str]) -> dict[str, Outline]:
        rows = unpacked(self._run(_outlines_by_ids, self._here | {"ids": json_list(entity_ids)}).first())
        return {row[0]: Outline._make(row) for row in rows}

    def create_entity(self, draft: EntityDraft, *, fields: JsonObject | None = None) -> Entity:
        return self.create_entities([(draft, fields)])[0]

    def create_entities(self, drafts: Sequence[tuple[EntityDraft, JsonObject | None]]) -> list[Entity]:
        entities = [self._entity_of(draft) for draft, _ in drafts]
        self._insert_all(_table, [entity_values(entity) for entity in entities], "entity")
        insert_rows(self._connection, _labels, [row for entity in entities for row in label_rows(entity)])
        for entity, (_, fields) in zip(entities, drafts, strict=True):
            self._record(_entry(entity, fields))
            self._unlinked.add(entity.id)
        return entities

    def update_entity(
        self,
        entity_id: str,
        change: Callable[[Entity], Entity],
        *,
        expected_revision: int | None = None,
        fields: JsonObject | None = None,
    ) -> Entity:
        """Store the result of `change` as the next revision; id, source and creation time stay."""
        current = self._expected(entity_id, self.entity(entity_id), expected_revision)
        changed = replace(
            change(current),
            organization_id=current.organization_id,
            id=current.id,
            source_id=current.source_id,
            created_at=current.created_at,
            # A clock that was set back must not make the past revision end before it began.
            updated_at=max(self.now, current.updated_at),
            revision=current.revision + 1,
        )
        self._store_revision(current, changed)
        self._record(_entry(changed, fields))
        return changed

    def _store_revision(self, current: Entity, changed: Entity) -> None:
        values = entity_values(changed)
        identity = self._here | {"entity": current.id}
        self._run(_archive, identity | {"valid_to": values["updated_at"]})
        del values["organization_id"], values["id"], values["created_at"], values["source_id"]
        self._run(_change, values | {"of_organization": self.organization_id, "of_entity": current.id})
        labels = label_rows(changed)
        if labels != label_rows(current):
            self._run(_unlabel, identity)
            insert_rows(self._connection, _labels, labels)

    def _expected(self, entity_id: str, current: Entity | None, expected_revision: int | None) -> Entity:
        if current is None:
            raise NotFound(f"Entity {entity_id} does not exist.")
        if expected_revision is not None and current.revision != expected_revision:
            raise Conflict(
                f"Entity {entity_id} is at revision {current.revision}, not at {expected_revision}.",
                details={"expected": expected_revision, "actual": current.revision},
            )
        return current

    def _entity_of(self, draft: EntityDraft) -> Entity:
        return Entity(
            **fields_of(draft, _DRAFTED),
            organization_id=self.organization_id,
            principal_id=self.actor_id,
            revision=1,
            created_at=self.now,
            updated_at=self.now,
        )


def _entry(entity: Entity, fields: JsonObject | None) -> Entry:
    operation: ChangeOperation = "create" if entity.revision == 1 else "update"
    return Entry("entity", entity.id, operation, entity.revision, entity.entity_type, entity.visibility, fields or {})
