"""Relations: facts between entities, with the time we knew them and the time they were true. Never overwritten."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    and_,
    bindparam,
    case,
    exists,
    or_,
    select,
    update,
)

from stores.clock import new_uuid
from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.encoding import (
    check_id,
    check_text,
    dump_json,
    from_micros,
    load_object,
    optional_instant,
    optional_micros,
    to_micros,
)
from stores.ledger.engine import in_chunks
from stores.ledger.rows import Values
from stores.ledger.store import Store
from stores.ledger.writing import Entry, Writing
from stores.records import ORGANIZATION, Entity, JsonObject, Relation

SUPERSEDES = "SUPERSEDES"
STATED: JsonObject = {"from": "related_to"}
"""The provenance of a relation that its source states: who may read it follows from who may read its two ends."""


def between(source: str, target: str) -> str:
    """Return the visibility of what one record states of another: its own, or the other's where it is everybody's.

    One key cannot say that both ends must be readable: readers of relations ask for that, too.
    """
    return target if source == ORGANIZATION else source


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A fact that a caller wants to be stored; the ledger adds who and when."""

    name: str
    source_id: str
    target_id: str
    fact: str = ""
    visibility: str = ORGANIZATION
    valid_at: datetime | None = None
    """When it became true; None: now."""
    invalid_at: datetime | None = None
    provenance: JsonObject = field(default_factory=dict)
    id: str = field(default_factory=new_uuid)


_RELATION_COLUMNS = (
    "organization_id",
    "id",
    "name",
    "source_id",
    "target_id",
    "fact",
    "created_at",
    "expired_at",
    "valid_at",
    "invalid_at",
    "visibility",
    "principal_id",
    "provenance",
)


def relation_columns() -> list[Column[Any]]:
    """Return the columns that `to_relation` reads."""
    return [schema.relations.c[name] for name in _RELATION_COLUMNS]


def to_relation(row: Sequence[Any]) -> Relation:
    """Return the relation of a row of `relation_columns`."""
    cells: list[Any] = list(row)
    cells[6:8] = from_micros(cells[6]), optional_instant(cells[7])
    cells[8:10] = from_micros(cells[8]), optional_instant(cells[9])
    cells[12] = load_object(cells[12])
    return Relation(*cells)


_table = schema.relations
_at = bindparam("at", type_=BigInteger)


def holds() -> ColumnElement[bool]:
    """Return the condition on `at`: known at that time, and true at that time."""
    return and_(
        _table.c.created_at <= _at,
        or_(_table.c.expired_at.is_(None), _table.c.expired_at > _at),
        _table.c.valid_at <= _at,
        or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > _at),
    )


_of_organization = _table.c.organization_id == bindparam("organization")
_touching = (
    select(*relation_columns())
    .where(_of_organization, or_(_table.c.source_id == bindparam("entity"), _table.c.target_id == bindparam("entity")))
    .order_by(_table.c.created_at.desc(), _table.c.id)
    .limit(bindparam("limit"))
)
_touching_then = _touching.where(holds())
_other = case((_table.c.source_id == bindparam("entity"), _table.c.target_id), else_=_table.c.source_id)
_visible: BindParameter[list[str]] = bindparam("visibility", expanding=True)
_touching_readable = _touching_then.where(
    _table.c.visibility.in_(_visible),
    exists().where(
        schema.entities.c.organization_id == bindparam("organization"),
        schema.entities.c.id == _other,
        schema.entities.c.visibility.in_(_visible),
    ),
)
_source, _target = schema.entities.alias("source"), schema.entities.alias("target")
_stated = (
    select(
        *(_table.c[name] for name in ("id", "name", "source_id", "target_id", "visibility", "expired_at")),
        _source.c.visibility.label("of_source"),
        _target.c.visibility.label("of_target"),
    )
    .join(_source, and_(_source.c.organization_id == _table.c.organization_id, _source.c.id == _table.c.source_id))
    .join(_target, and_(_target.c.organization_id == _table.c.organization_id, _target.c.id == _table.c.target_id))
    .where(
        _of_organization,
        or_(_table.c.source_id == bindparam("entity"), _table.c.target_id == bindparam("entity")),
        _table.c.provenance == dump_json(STATED),
    )
    .order_by(_table.c.id)
)
_show = update(_table).where(_of_organization, _table.c.id.in_(bindparam("ids", expanding=True)))
_by_ids = select(*relation_columns()).where(_of_organization, _table.c.id.in_(bindparam("ids", expanding=True)))
_ends = select(_table.c.source_id, _table.c.target_id).where(
    _of_organization,
    or_(
        _table.c.source_id.in_(bindparam("ids", expanding=True)),
        _table.c.target_id.in_(bindparam("ids", expanding=True)),
    ),
)
_ids = select(_table.c.id).where(_of_organization)
_identical = select(*relation_columns()).where(
    _of_organization,
    _table.c.source_id == bindparam("source"),
    _table.c.target_id == bindparam("target"),
    _table.c.name == bindparam("name"),
    _table.c.visibility == bindparam("visibility"),
    or_(_table.c.expired_at.is_(None), _table.c.expired_at > _at),
    or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > _at),
)
_existing_entities = select(schema.entities.c.id).where(
    schema.entities.c.organization_id == bindparam("organization"),
    schema.entities.c.id.in_(bindparam("ids", expanding=True)),
)
_end = update(_table).where(_of_organization, _table.c.id == bindparam("relation"))

_NO_LIMIT = 2**31 - 1


class RelationReads(Store):
    """Reads of relations."""

    def relations_of(
        self,
        organization_id: str,
        entity_id: str,
        *,
        at: datetime | None = None,
        history: bool = False,
        limit: int = _NO_LIMIT,
    ) -> list[Relation]:
        """Return the relations from or to an entity that hold at a time (None: now), the latest first.

        With `history`, all of them, those that ended and those that `at` would hide too. Who may see them is the
        caller's business.
        """
        values: Values = {"organization": organization_id, "entity": entity_id, "limit": limit}
        if history:
            return [to_relation(row) for row in self._all(_touching, values)]
        rows = self._all(_touching_then, values | {"at": self._micros(at)})
        return [to_relation(row) for row in rows]

    def readable_relations_of(
        self,
        organization_id: str,
        entity_id: str,
        *,
        visibility: frozenset[str],
        at: datetime | None = None,
        limit: int,
    ) -> list[Relation]:
        """Return the latest relations that hold at a time (None: now) and that, like their other end, carry such a key.

        What is hidden takes no place among them: they are chosen before they are limited.
        """
        values = {"organization": organization_id, "entity": entity_id, "limit": limit, "at": self._micros(at)}
        rows = self._all(_touching_readable, values | {"visibility": sorted(visibility)})
        return [to_relation(row) for row in rows]

    def relations(self, organization_id: str, relation_ids: Iterable[str]) -> dict[str, Relation]:
        """Return those relations that exist, by id."""
        rows = (
            row
            for ids in in_chunks(relation_ids)
            for row in self._all(_by_ids, {"organization": organization_id, "ids": ids})
        )
        return {relation.id: relation for relation in map(to_relation, rows)}

    def linked(self, organization_id: str, entity_ids: Iterable[str]) -> set[str]:
        """Return those of the entities that any relation touches, an ended one too: the others need no graph."""
        wanted = set(entity_ids)
        rows = (
            row for ids in in_chunks(wanted) for row in self._all(_ends, {"organization": organization_id, "ids": ids})
        )
        return wanted.intersection(end for row in rows for end in row)

    def relation_ids(self, organization_id: str) -> set[str]:
        """Return the id of every relation, ended ones too."""
        return {row[0] for row in self._all(_ids, {"organization": organization_id})}

    def _micros(self, at: datetime | None) -> int:
        return to_micros(self._clock() if at is None else at)


class RelationWrites(Writing):
    """Writes of relations."""

    def add_relation(self, draft: RelationDraft, *, fields: JsonObject | None = None) -> Relation:
        """Store a fact; return the current one instead where name, both ends and visibility are the same.

        Raises:
            NotFound: One of its ends does not exist.
            Conflict: The id is taken.
        """
        check_id(draft.id)
        self._require_entities(draft.source_id, draft.target_id)
        if (identical := self._identical(draft)) is not None:
            return identical
        relation = self._relation_of(draft)
        if not self._insert_new(_table, _relation_values(relation)):
            raise Conflict(f"Relation {draft.id} exists already.")
        self._record(Entry("relation", relation.id, "create", 1, relation.name, relation.visibility, fields or {}))
        return relation

    def end_relation(
        self, relation_id: str, *, invalid_at: datetime | None = None, fields: JsonObject | None = None
    ) -> Relation:
        """Close a fact: from now on we know that it has not been true since `invalid_at` (None: now).

        One that was closed before is returned as it is.

        Raises:
            NotFound: There is no such relation.
        """
        row = self._run(_by_ids, {"organization": self.organization_id, "ids": [relation_id]}).first()
        if row is None:
            raise NotFound(f"Relation {relation_id} does not exist.")
        relation = to_relation(row)
        if relation.expired_at is not None:
            return relation
        end = _end.values(expired_at=to_micros(self.now), invalid_at=to_micros(invalid_at or self.now))
        self._run(end, {"organization": self.organization_id, "relation": relation_id})
        self._record(Entry("relation", relation_id, "update", 2, relation.name, relation.visibility, fields or {}))
        return to_relation(self._run(_by_ids, {"organization": self.organization_id, "ids": [relation_id]}).one())

    def follow_visibility(self, before: Entity, after: Entity, *, left: Collection[str] = ()) -> None:
        """Let whoever may read both ends of what is stated by or of an entity read that, too, and nobody else.

        Only who may read a relation changes: what it says and its four times stay. Those in `left` stay as they are,
        and so do those of others that did not follow their ends before.
        """
        if before.visibility == after.visibility:
            return
        moved: defaultdict[str, list[Any]] = defaultdict(list)
        for row in self._run(_stated, {"organization": self.organization_id, "entity": after.id}):
            followed = row.source_id == after.id or row.visibility == between(row.of_source, before.visibility)
            wanted = between(row.of_source, row.of_target)
            if followed and row.id not in left and row.visibility != wanted:
                moved[wanted].append(row)
        for visibility, rows in moved.items():
            for ids in in_chunks(row.id for row in rows):
                self._run(_show.values(visibility=visibility), {"organization": self.organization_id, "ids": ids})
            for row in rows:
                revision = 1 if row.expired_at is None else 2
                self._record(Entry("relation", row.id, "update", revision, row.name, visibility))

    def relations_of(self, entity_id: str) -> list[Relation]:
        """Return the relations of an entity that hold now, as this transaction sees them."""
        values = {
            "organization": self.organization_id,
            "entity": entity_id,
            "limit": _NO_LIMIT,
            "at": to_micros(self.now),
        }
        return [to_relation(row) for row in self._run(_touching_then, values)]

    def _require_entities(self, *entity_ids: str) -> None:
        values = {"organization": self.organization_id, "ids": sorted(set(entity_ids))}
        existing = {row[0] for row in self._run(_existing_entities, values)}
        for entity_id in entity_ids:
            if entity_id not in existing:
                raise NotFound(f"Entity {entity_id} does not exist.")

    def _identical(self, draft: RelationDraft) -> Relation | None:
        values = {
            "organization": self.organization_id,
            "source": draft.source_id,
            "target": draft.target_id,
            "name": draft.name,
            "visibility": draft.visibility,
            "at": to_micros(self.now),
        }
        row = self._run(_identical, values).first()
        return None if row is None else to_relation(row)

    def _relation_of(self, draft: RelationDraft) -> Relation:
        check_text((draft.name, draft.fact, draft.visibility))
        return Relation(
            organization_id=self.organization_id,
            id=draft.id,
            name=draft.name,
            source_id=draft.source_id,
            target_id=draft.target_id,
            fact=draft.fact,
            created_at=self.now,
            expired_at=None,
            valid_at=draft.valid_at or self.now,
            invalid_at=draft.invalid_at,
            visibility=draft.visibility,
            principal_id=self.actor_id,
            provenance=draft.provenance,
        )


def _relation_values(relation: Relation) -> Values:
    return {
        "organization_id": relation.organization_id,
        "id": relation.id,
        "name": relation.name,
        "source_id": relation.source_id,
        "target_id": relation.target_id,
        "fact": relation.fact,
        "created_at": to_micros(relation.created_at),
        "expired_at": optional_micros(relation.expired_at),
        "valid_at": to_micros(relation.valid_at),
        "invalid_at": optional_micros(relation.invalid_at),
        "visibility": relation.visibility,
        "principal_id": relation.principal_id,
        "provenance": dump_json(relation.provenance),
    }
