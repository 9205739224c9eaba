"""Facts: recorded, ended, followed; a contradicting fact ends the one before, and earlier ends are kept as history."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, insert, or_, select, update

from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.columns import among, beside, field_names, fields_of, here, json_list, sound, visible
from stores.ledger.encoding import Values, dump_json, from_micros, optional_micros, to_micros
from stores.ledger.entities import EntityWrites, Outline
from stores.ledger.relations import RELATIONS, RelationDraft, between, is_lasting, is_open, is_present, readable_end
from stores.ledger.store import Entry, Writes, Writing
from stores.records import ORGANIZATION, ChangeOperation, Entity, JsonObject, Relation

SINGLE_VALUED = frozenset({"BELONGS_TO", "PART_OF", "CHILD_OF"})
"""One at a time per type of target: a new one ends the one before."""


Ends = Mapping[str, Entity | Outline]
MayEnd = Callable[[frozenset[str], frozenset[str]], bool]
"""Tell whether a fact with the first keys may end one with the second: its readers must include all of the other's."""


def has_its_readers(ender: frozenset[str], ended: frozenset[str]) -> bool:
    """Return whether all readers of one fact may read the other, judging by keys."""
    return ender <= ended | {ORGANIZATION}


def holds(relation: Relation, now: datetime) -> bool:
    """Return whether a fact has not ended; it may not have begun."""
    return relation.expired_at is None and (relation.invalid_at is None or relation.invalid_at > now)


def ended_by(
    fresh: Relation, next_at: datetime | None, rivals: Collection[Relation], ends: Ends, now: datetime, may_end: MayEnd
) -> list[Relation]:
    """Return the rivals (same source and name) that a single-valued fact ends.

    A lasting fact ends those that hold. One that ends at `next_at` (of `succeeded_at`) ends those that ended there only
    because it was unknown.
    """

    def is_wrong(old: Relation) -> bool:
        if holds(fresh, now) and holds(old, now):
            return _overlap(fresh, old)
        return (
            next_at is not None and fresh.invalid_at == old.invalid_at == next_at and old.target_id != fresh.target_id
        )

    return [old for old in rivals if is_wrong(old) and _follows(fresh, old, ends, may_end)]


def succeeded_at(
    fresh: Relation, rivals: Collection[Relation], ends: Ends, now: datetime, may_end: MayEnd
) -> datetime | None:
    """Return when the fact after a late one begins.

    The lasting fact counts, and those before it that each ended where the next one began.
    """
    found: set[datetime] = set()
    for each in sorted(rivals, key=lambda rival: rival.valid_at, reverse=True):
        if each.valid_at <= fresh.valid_at:
            break
        leads_on = holds(each, now) or each.invalid_at in found
        was_true = each.invalid_at is None or each.invalid_at > each.valid_at
        if leads_on and was_true and _follows(each, fresh, ends, may_end):
            found.add(each.valid_at)
    return min(found, default=None)


def _overlap(one: Relation, other: Relation) -> bool:
    return (other.invalid_at is None or other.invalid_at > one.valid_at) and (
        one.invalid_at is None or one.invalid_at > other.valid_at
    )


def _follows(ender: Relation, ended: Relation, ends: Ends, may_end: MayEnd) -> bool:
    target, earlier = ends[ender.target_id], ends[ended.target_id]
    of_ended = frozenset({ended.visibility, ends[ended.source_id].visibility, earlier.visibility})
    return target.entity_type == earlier.entity_type and may_end(
        frozenset({ender.visibility, target.visibility}), of_ended
    )


_table, _ends, _entities = schema.relations, schema.relation_ends, schema.entities
_of_organization = here(_table)
_ever_from = select(*RELATIONS.columns).where(
    _of_organization, among(_table.c.source_id, "sources"), among(_table.c.name, "names")
)
_last_change = select(func.max(_ends.c.known_to)).where(here(_ends), _ends.c.relation_id == bindparam("relation"))
STATES = '{"from":'
"""Provenance prefix of a stated relation, whose visibility follows from its ends."""
ENDED, WITHDRAWN = "ended", "withdrawn"
"""Provenance keys: who ended or withdrew a fact, and why."""


def _entry(relation: Relation, operation: ChangeOperation, revision: int, fields: JsonObject) -> Entry:
    return Entry("relation", relation.id, operation, revision, relation.name, relation.visibility, fields)


_source, _target = _entities.alias("source"), _entities.alias("target")
_touches = or_(_table.c.source_id == bindparam("entity"), _table.c.target_id == bindparam("entity"))
_about = select(*RELATIONS.columns).where(_of_organization, _touches, is_present)
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
_unended = _ever_from.where(is_open)
_unended_to = _unended.where(among(_table.c.target_id, "targets"))
_edges = select(_table.c.source_id, _table.c.target_id).where(
    _of_organization,
    among(_table.c.source_id),
    _table.c.name == bindparam("name"),
    visible(_table),
    is_open,
    is_lasting,
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
    """Facts that end where it begins, as they are now."""


class RelationWrites(Writes):
    def __init__(self, writing: Writing, records: EntityWrites) -> None:
        super().__init__(writing)
        self._records = records

    def relation(self, relation_id: str) -> Relation | None:
        return RELATIONS.one(self._connection, organization_id=self.organization_id, id=relation_id)

    def end_relation(
        self,
        relation_id: str,
        *,
        invalid_at: datetime | None = None,
        may_end: MayEnd = has_its_readers,
        why: JsonObject | None = None,
    ) -> Relation:
        """Close a fact as of `invalid_at` (default: now), at the earliest where it began.

        Until a future end the fact holds. An ended fact is returned unchanged. `may_end` is as in
        `record_relations`; `why` is added to the provenance. Conflict if the end moves beyond the beginning of
        the next single-valued fact.
        """
        relation = self._there(relation_id)
        if self.has_ended(relation):
            return relation
        end = invalid_at or self.now
        if relation.invalid_at is not None and end > relation.invalid_at:
            self._refuse_beside(relation, end, may_end)
        return self._closed(relation, end, why=why)

    def has_ended(self, relation: Relation) -> bool:
        """Tell whether a fact was closed or is over."""
        return not holds(relation, self.now)

    def withdraw_end(
        self, relation_id: str, *, may_end: MayEnd = has_its_readers, why: JsonObject | None = None
    ) -> Relation:
        """Withdraw an announced end, if any. Conflict if it has passed, or the next single-valued fact follows."""
        relation = self._there(relation_id)
        if self.has_ended(relation):
            raise Conflict(
                f"Relation {relation_id} has ended; only an end that is announced can be taken back.",
                remediation="If it holds again, record it as a new fact.",
            )
        if relation.invalid_at is None:
            return relation
        self._refuse_beside(relation, None, may_end)
        return self._set_end(relation, None, why=why)

    def _refuse_beside(self, relation: Relation, until: datetime | None, may_end: MayEnd) -> None:
        next_at = self._next_after(relation, may_end)
        if next_at is not None and (until is None or until > next_at):
            raise Conflict(
                f"Relation {relation.id} ends at {next_at.isoformat()} at the latest, because another {relation.name} "
                "begins then.",
                remediation="End that one first, at the moment at which it begins: then it was never true.",
            )

    def _next_after(self, relation: Relation, may_end: MayEnd) -> datetime | None:
        if relation.name not in SINGLE_VALUED:
            return None
        values = self._here | {"sources": json_list([relation.source_id]), "names": json_list([relation.name])}
        rivals = [RELATIONS.read(row) for row in self._run(_ever_from, values)]
        there = self._ends_of([relation.source_id, *(each.target_id for each in rivals)])
        return succeeded_at(replace(relation, invalid_at=None), rivals, there, self.now, may_end)

    def _ends_of(self, entity_ids: Iterable[str]) -> dict[str, Entity | Outline]:
        wanted = list(dict.fromkeys(entity_ids))
        found = self._records.outlines(wanted)
        if missing := [each for each in wanted if each not in found]:
            raise NotFound(f"Entity {missing[0]} does not exist.")
        return {**found}

    def _there(self, relation_id: str) -> Relation:
        relation = self.relation(relation_id)
        if relation is None:
            raise NotFound(f"Relation {relation_id} does not exist.")
        return relation

    def _closed(self, relation: Relation, invalid_at: datetime, *, why: JsonObject | None = None) -> Relation:
        end = max(invalid_at, relation.valid_at)
        # Only a given end can lie ahead, not one of a clock that was set back.
        is_announced = invalid_at > self.now and end > relation.valid_at
        return self._set_end(relation, end, is_closed=not is_announced, why=why)

    def _set_end(
        self, relation: Relation, invalid_at: datetime | None, *, is_closed: bool = False, why: JsonObject | None = None
    ) -> Relation:
        before = self._run(_last_change, self._here | {"relation": relation.id}).scalar()
        known_from = max(relation.created_at, relation.expired_at or relation.created_at, from_micros(before or 0))
        known_to = max(self.now, known_from)
        had_none = relation.invalid_at is None and relation.expired_at is None
        # An end known for no time cannot be asked for.
        if known_from < known_to and not (had_none and is_closed):
            self._remember_end(relation, known_from, known_to)
        said = {key: value for key, value in relation.provenance.items() if key not in (ENDED, WITHDRAWN)} | (why or {})
        expired_at = relation.expired_at or (known_to if is_closed else None)
        values: Values = {"invalid_at": optional_micros(invalid_at), "expired_at": optional_micros(expired_at)}
        if said != relation.provenance:
            values["provenance"] = dump_json(said)
        RELATIONS.change(self._connection, values, organization_id=self.organization_id, id=relation.id)
        self._record(_entry(relation, "update", 2, {}))
        return self._there(relation.id)

    def _remember_end(self, relation: Relation, known_from: datetime, known_to: datetime) -> None:
        said = relation.provenance
        row: Values = {
            "organization_id": relation.organization_id,
            "relation_id": relation.id,
            "known_from": to_micros(known_from),
            "known_to": to_micros(known_to),
            "known_invalid_at": optional_micros(relation.invalid_at),
            "known_expired_at": optional_micros(relation.expired_at),
            "why": dump_json({key: said[key] for key in (ENDED, WITHDRAWN) if key in said}),
        }
        self._run(insert(_ends), row)

    def add_relation(self, draft: RelationDraft) -> Relation:
        """Store a fact, or return the same one (name, ends, visibility, dates)."""
        return self.record_relations([draft])[0].relation

    def record_relations(
        self,
        drafts: Sequence[RelationDraft],
        *,
        ends: Ends | None = None,
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
            relation, rivals = self._relation_of(draft), known[place]
            wrong: list[Relation] = []
            if rivals and draft.name in SINGLE_VALUED:
                there |= self._ends_of({each.target_id for each in rivals} - there.keys())
                relation, wrong = self._succession(relation, rivals, there, may_end, dated=draft.valid_at is not None)
            same = next((each for each in rivals if _is_same(draft, relation, each, self.now)), None)
            if same is not None:
                recorded.append(Recorded(same, False, ()))
                continue
            if any(each.id in fresh for each in wrong):
                self._store(fresh)
            ended = tuple(self._closed(each, relation.valid_at) for each in wrong)
            known[place] = [*(each for each in rivals if each not in wrong), *ended, relation]
            fresh[relation.id] = relation
            recorded.append(Recorded(relation, True, ended))
            self._record(_entry(relation, "create", 1, fields or {}))
        self._store(fresh)
        self._unlinked.difference_update(draft.source_id for draft in drafts)
        return recorded

    def _succession(
        self, relation: Relation, rivals: Collection[Relation], ends: Ends, may_end: MayEnd, *, dated: bool
    ) -> tuple[Relation, list[Relation]]:
        if not dated:
            return relation, ended_by(relation, None, rivals, ends, self.now, may_end)
        next_at = succeeded_at(relation, rivals, ends, self.now, may_end)
        if next_at is not None and (relation.invalid_at is None or relation.invalid_at > next_at):
            relation = replace(relation, invalid_at=next_at)
        earlier = [each for each in rivals if each.valid_at <= relation.valid_at]
        return relation, ended_by(relation, next_at, earlier, ends, self.now, may_end)

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
            ids = json_list(row.id for row in rows)
            self._run(_show.values(visibility=visibility), self._here | {"ids": ids})
            for row in rows:
                revision = 1 if row.expired_at is None else 2
                self._record(Entry("relation", row.id, "update", revision, row.name, visibility))

    def relations_of(self, entity_id: str) -> list[Relation]:
        values = self._here | {"entity": entity_id, "at": to_micros(self.now)}
        return sound(self._run(_about, values), RELATIONS.read)

    def unended_relations(self, source_id: str, names: Collection[str]) -> list[Relation]:
        """Return outgoing relations with these names that hold now or later."""
        values = self._here | {"sources": json_list([source_id]), "names": json_list(names)}
        found = sound(self._run(_unended, values), RELATIONS.read)
        return [relation for relation in found if holds(relation, self.now)]

    def edges_from(self, source_ids: Iterable[str], name: str, visibility: frozenset[str]) -> list[tuple[str, str]]:
        """Return source and target of visible relations that hold now or later."""
        values = self._here | {"name": name, "visibility": json_list(visibility), "at": to_micros(self.now)}
        found = self._run(_edges, values | {"ids": json_list(source_ids)})
        return [(row.source_id, row.target_id) for row in found]

    def _known(self, drafts: Sequence[RelationDraft]) -> defaultdict[Place, list[Relation]]:
        known: defaultdict[Place, list[Relation]] = defaultdict(list)
        old = [draft for draft in drafts if draft.source_id not in self._unlinked]
        single = [draft for draft in old if draft.name in SINGLE_VALUED]
        several = [draft for draft in old if draft.name not in SINGLE_VALUED]
        of_single = _ever_from if any(draft.valid_at for draft in single) else _unended
        for some, statement in ((single, of_single), (several, _unended_to)):
            named = {"names": "name", "sources": "source_id", "targets": "target_id"}
            values = {each: json_list(getattr(draft, name) for draft in some) for each, name in named.items()}
            for relation in sound(self._run(statement, self._here | values) if some else (), RELATIONS.read):
                known[_place(relation)].append(relation)
        return known

    def _store(self, relations: dict[str, Relation]) -> None:
        rows = [RELATIONS.values(each) for each in relations.values()]
        relations.clear()
        self._insert_all(_table, rows, "relation")

    def _relation_of(self, draft: RelationDraft) -> Relation:
        said = fields_of(draft, _DRAFTED) | {"valid_at": draft.valid_at or self.now}
        known: Values = {"organization_id": self.organization_id, "principal_id": self.actor_id, "created_at": self.now}
        return Relation(**said, **known, expired_at=None)


def _place(fact: RelationDraft | Relation) -> Place:
    return fact.source_id, fact.name, "" if fact.name in SINGLE_VALUED else fact.target_id


def _is_same(draft: RelationDraft, fresh: Relation, known: Relation, now: datetime) -> bool:
    if (draft.target_id, draft.visibility, None) != (known.target_id, known.visibility, known.expired_at):
        return False
    if draft.valid_at is None and draft.invalid_at is None:
        return known.valid_at <= max(now, known.created_at) and known.invalid_at is None
    return (draft.valid_at, fresh.invalid_at) == (known.valid_at, known.invalid_at)
