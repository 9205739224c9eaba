"""Ends of relations; earlier ends are kept as history."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from sqlalchemy import bindparam, func, insert, select, update

from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.columns import among, here
from stores.ledger.encoding import dump_json, from_micros, optional_micros, to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.relation_history import SINGLE_VALUED, End, MayEnd, has_its_readers, lasts, succeeded_at
from stores.ledger.relations import RELATIONS, to_relation
from stores.ledger.rows import Values
from stores.ledger.store import Entry, Writes
from stores.records import ChangeOperation, JsonObject, Relation

_table = schema.relations
_ends = schema.relation_ends
_of_organization = here(_table)
_by_ids = select(*RELATIONS.columns).where(_of_organization, among(_table.c.id))
_entities = schema.entities
ever_from = select(*RELATIONS.columns).where(
    _of_organization, among(_table.c.source_id, "sources"), among(_table.c.name, "names")
)
_types = select(_entities.c.id, _entities.c.entity_type, _entities.c.visibility).where(
    here(_entities), among(_entities.c.id)
)
_end = update(_table).where(_of_organization, _table.c.id == bindparam("relation"))
_last_change = select(func.max(_ends.c.known_to)).where(here(_ends), _ends.c.relation_id == bindparam("relation"))
_remember = insert(_ends)
ENDED, WITHDRAWN = "ended", "withdrawn"
"""Provenance keys: who ended or withdrew a fact, and why."""


class EndWrites(Writes):
    def relation(self, relation_id: str) -> Relation | None:
        return self._one(_by_ids, self._here | {"ids": [relation_id]}, to_relation)

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
        return relation.expired_at is not None or not lasts(relation, self.now)

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
        values = self._here | {"sources": [relation.source_id], "names": [relation.name]}
        rivals = [to_relation(row) for row in self._run(ever_from, values)]
        there = self._ends_of([relation.source_id, *(each.target_id for each in rivals)])
        return succeeded_at(replace(relation, invalid_at=None), rivals, there, self.now, may_end)

    def _ends_of(self, entity_ids: Iterable[str]) -> dict[str, End]:
        wanted = list(dict.fromkeys(entity_ids))
        found = {
            row.id: End(row.entity_type, row.visibility)
            for ids in in_chunks(wanted)
            for row in self._run(_types, self._here | {"ids": ids})
        }
        for entity_id in wanted:
            if entity_id not in found:
                raise NotFound(f"Entity {entity_id} does not exist.")
        return found

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
        identity = self._here | {"relation": relation.id}
        before = self._run(_last_change, identity).scalar()
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
        self._run(_end.values(values), identity)
        self._record(relation_entry(relation, "update", None, revision=2))
        return to_relation(self._run(_by_ids, self._here | {"ids": [relation.id]}).one())

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
        self._run(_remember, row)


def relation_entry(
    relation: Relation, operation: ChangeOperation, fields: JsonObject | None, *, revision: int = 1
) -> Entry:
    return Entry("relation", relation.id, operation, revision, relation.name, relation.visibility, fields or {})
