"""Recording of relations; a contradicting fact ends the one before."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, bindparam, or_, select, update

from stores.ledger import schema
from stores.ledger.columns import among, beside, field_names, fields_of, here, sound
from stores.ledger.encoding import to_micros
from stores.ledger.ending import EndWrites, ever_from, relation_entry
from stores.ledger.engine import in_chunks
from stores.ledger.relation_history import (
    SINGLE_VALUED,
    End,
    MayEnd,
    ended_by,
    has_its_readers,
    lasts,
    succeeded_at,
    told_between,
)
from stores.ledger.relations import RELATIONS, STATES, RelationDraft, between, present, readable_end, to_relation
from stores.ledger.store import Entry
from stores.records import Entity, JsonObject, Relation

_table = schema.relations
_entities = schema.entities
_of_organization = here(_table)
_source, _target = _entities.alias("source"), _entities.alias("target")
_touches = or_(_table.c.source_id == bindparam("entity"), _table.c.target_id == bindparam("entity"))
_about = select(*RELATIONS.columns).where(_of_organization, _touches, present())
_stated = (
    select(
        *(_table.c[name] for name in ("id", "name", "source_id", "target_id", "visibility", "expired_at")),
        _source.c.visibility.label("of_source"),
        _target.c.visibility.label("of_target"),
    )
    .join(_source, beside(_source.c.id, _table.c.source_id))
    .join(_target, beside(_target.c.id, _table.c.target_id))
    .where(_of_organization, _touches, _table.c.provenance.startswith(STATES))
    .order_by(_table.c.id)
)
_show = update(_table).where(_of_organization, among(_table.c.id))
_unended = ever_from.where(_table.c.expired_at.is_(None))
_unended_to = _unended.where(among(_table.c.target_id, "targets"))
_edges = select(_table.c.source_id, _table.c.target_id).where(
    _of_organization,
    among(_table.c.source_id),
    _table.c.name == bindparam("name"),
    among(_table.c.visibility, "visibility"),
    _table.c.expired_at.is_(None),
    or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > bindparam("at", type_=BigInteger)),
    readable_end(_table.c.target_id),
)

_DRAFTED = field_names(RelationDraft)
Place = tuple[str, str, str]
"""Source, name and, for many-valued names, target."""


class Recorded(NamedTuple):
    relation: Relation
    is_new: bool
    """False if the same fact was known."""
    ended: tuple[Relation, ...]
    """Facts that it replaced, as they are now."""
    moved: tuple[Relation, ...] = ()
    """Ended facts whose end moved to its beginning."""


class RelationWrites(EndWrites):
    def add_relation(self, draft: RelationDraft) -> Relation:
        """Store a fact, or return the same one (name, ends, visibility, dates)."""
        return self.record_relations([draft])[0].relation

    def record_relations(
        self,
        drafts: Sequence[RelationDraft],
        *,
        ends: Mapping[str, End] | None = None,
        may_end: MayEnd = has_its_readers,
        fields: JsonObject | None = None,
    ) -> list[Recorded]:
        """Store facts in order; known ones are not stored twice.

        `ends` holds every end by id, if already read.

        A draft without dates is known if the fact holds and no end is announced; with dates, if one has the same dates.
        A `SINGLE_VALUED` fact ends those of its source with an overlapping time and a target of the same type; facts
        that are over neither end others nor are ended. With a `valid_at`, a fact ends where the next known one begins,
        and a fact that ended there now ends where it begins: the order of telling does not matter. A fact ends only
        those that it `may_end`: a hidden fact must neither change nor show by its effects.
        """
        wanted = (end for draft in drafts for end in (draft.source_id, draft.target_id))
        there = self._ends_of(wanted) if ends is None else dict(ends)
        known = self._known(drafts)
        fresh: dict[str, Relation] = {}
        recorded = []
        for draft in drafts:
            place = _place(draft)
            relation, next_at = self._relation_of(draft), None
            rivals = known[place]
            if rivals and draft.name in SINGLE_VALUED:
                there |= self._ends_of({each.target_id for each in rivals} - there.keys())
                if draft.valid_at is not None:
                    next_at = succeeded_at(relation, rivals, there, self.now, may_end)
                    relation = _until(relation, next_at)
            same = next((each for each in rivals if _is_same(draft, relation, each, self.now)), None)
            if same is not None:
                recorded.append(Recorded(same, False, ()))
                continue
            wrong = ended_by(relation, rivals, there, self.now, may_end)
            if draft.valid_at is not None:
                wrong = [each for each in wrong if each.valid_at <= relation.valid_at]
            late = told_between(relation, next_at, rivals, there, may_end) if not wrong else []
            if any(each.id in fresh for each in (*wrong, *late)):
                self._store(fresh)
            ended = tuple(self._closed(each, relation.valid_at) for each in wrong)
            moved = tuple(self._closed(each, relation.valid_at) for each in late)
            known[place] = [*(each for each in rivals if each not in (*wrong, *late)), *ended, *moved, relation]
            fresh[relation.id] = relation
            recorded.append(Recorded(relation, True, ended, moved))
            self._record(relation_entry(relation, "create", fields))
        self._store(fresh)
        self._unlinked.difference_update(draft.source_id for draft in drafts)
        return recorded

    def follow_visibility(self, before: Entity, after: Entity, *, left: Collection[str] = ()) -> None:
        """Adapt the visibility of an entity's relations, except `left` and those that never followed their ends."""
        if before.visibility == after.visibility:
            return
        moved: defaultdict[str, list[Any]] = defaultdict(list)
        for row in self._run(_stated, self._here | {"entity": after.id}):
            followed = row.source_id == after.id or row.visibility == between(row.of_source, before.visibility)
            wanted = between(row.of_source, row.of_target)
            if followed and row.id not in left and row.visibility != wanted:
                moved[wanted].append(row)
        for visibility, rows in moved.items():
            for ids in in_chunks(row.id for row in rows):
                self._run(_show.values(visibility=visibility), self._here | {"ids": ids})
            for row in rows:
                revision = 1 if row.expired_at is None else 2
                self._record(Entry("relation", row.id, "update", revision, row.name, visibility))

    def relations_of(self, entity_id: str) -> list[Relation]:
        values = self._here | {"entity": entity_id, "at": to_micros(self.now)}
        return sound(self._run(_about, values), to_relation)

    def unended_relations(self, source_id: str, names: Collection[str]) -> list[Relation]:
        """Return outgoing relations with these names that hold now or later."""
        values = self._here | {"sources": [source_id], "names": sorted(names)}
        found = sound(self._run(_unended, values), to_relation)
        return [relation for relation in found if lasts(relation, self.now)]

    def edges_from(self, source_ids: Iterable[str], name: str, visibility: frozenset[str]) -> list[tuple[str, str]]:
        """Return source and target of visible relations that hold now or later."""
        values = self._here | {"name": name, "visibility": sorted(visibility), "at": to_micros(self.now)}
        return [
            (row.source_id, row.target_id)
            for ids in in_chunks(source_ids)
            for row in self._run(_edges, values | {"ids": ids})
        ]

    def _known(self, drafts: Sequence[RelationDraft]) -> defaultdict[Place, list[Relation]]:
        known: defaultdict[Place, list[Relation]] = defaultdict(list)
        old = [draft for draft in drafts if draft.source_id not in self._unlinked]
        single = [draft for draft in old if draft.name in SINGLE_VALUED]
        several = [draft for draft in old if draft.name not in SINGLE_VALUED]
        for some in (single, several):
            statement = (
                _unended_to if some is several else ever_from if any(draft.valid_at for draft in some) else _unended
            )
            names, targets = {draft.name for draft in some}, {draft.target_id for draft in some}
            for sources in in_chunks(draft.source_id for draft in some):
                for ends in in_chunks(targets) if some is several else ((),):
                    values = self._here | {"sources": sources, "names": sorted(names), "targets": ends}
                    for relation in sound(self._run(statement, values), to_relation):
                        known[_place(relation)].append(relation)
        return known

    def _store(self, relations: dict[str, Relation]) -> None:
        rows = [RELATIONS.values(each) for each in relations.values()]
        relations.clear()
        self._insert_all(_table, rows, "relation")

    def _relation_of(self, draft: RelationDraft) -> Relation:
        said = fields_of(draft, _DRAFTED)
        said["valid_at"] = draft.valid_at or self.now
        return Relation(
            **said,
            organization_id=self.organization_id,
            principal_id=self.actor_id,
            created_at=self.now,
            expired_at=None,
        )


def _place(fact: RelationDraft | Relation) -> Place:
    return fact.source_id, fact.name, "" if fact.name in SINGLE_VALUED else fact.target_id


def _until(relation: Relation, moment: datetime | None) -> Relation:
    if moment is None or (relation.invalid_at is not None and relation.invalid_at <= moment):
        return relation
    return replace(relation, invalid_at=moment)


def _is_same(draft: RelationDraft, fresh: Relation, known: Relation, now: datetime) -> bool:
    if (draft.target_id, draft.visibility, None) != (known.target_id, known.visibility, known.expired_at):
        return False
    if draft.valid_at is None and draft.invalid_at is None:
        return known.valid_at <= max(now, known.created_at) and known.invalid_at is None
    return (draft.valid_at, fresh.invalid_at) == (known.valid_at, known.invalid_at)
