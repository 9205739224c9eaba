"""Ending relations inside a transaction, and giving them another end: what was known of it before is kept."""

from datetime import datetime

from sqlalchemy import bindparam, func, insert, select, update

from stores.errors import NotFound
from stores.ledger import schema
from stores.ledger.encoding import dump_json, from_micros, optional_micros, to_micros
from stores.ledger.relations import relation_columns, to_relation
from stores.ledger.rows import Values
from stores.ledger.writing import Entry, Writing
from stores.records import ChangeOperation, JsonObject, Relation

_table = schema.relations
_ends = schema.relation_ends
_of_organization = _table.c.organization_id == bindparam("organization")
_by_ids = select(*relation_columns()).where(_of_organization, _table.c.id.in_(bindparam("ids", expanding=True)))
_end = update(_table).where(_of_organization, _table.c.id == bindparam("relation"))
_last_change = select(func.max(_ends.c.known_to)).where(
    _ends.c.organization_id == bindparam("organization"), _ends.c.relation_id == bindparam("relation")
)
_remember = insert(_ends)
ENDED, WITHDRAWN = "ended", "withdrawn"
"""The keys of a provenance that say who gave a fact its end or took it back, and why."""


class EndWrites(Writing):
    """Writes of ends."""

    def relation(self, relation_id: str) -> Relation | None:
        """Return a relation as this transaction sees it."""
        row = self._run(_by_ids, {"organization": self.organization_id, "ids": [relation_id]}).first()
        return None if row is None else to_relation(row)

    def end_relation(
        self,
        relation_id: str,
        *,
        invalid_at: datetime | None = None,
        why: JsonObject | None = None,
        fields: JsonObject | None = None,
    ) -> Relation:
        """Close a fact: from now on we know that it has not been true since `invalid_at` (None: now).

        It ends where it began at the earliest: then it was never true. An end in the future is only announced: until
        then the fact holds. One that was closed before is returned as it is. `why` is added to its provenance.

        Raises:
            NotFound: There is no such relation.
        """
        relation = self._there(relation_id)
        if relation.expired_at is not None:
            return relation
        return self._closed(relation, invalid_at or self.now, why=why, fields=fields)

    def _there(self, relation_id: str) -> Relation:
        relation = self.relation(relation_id)
        if relation is None:
            raise NotFound(f"Relation {relation_id} does not exist.")
        return relation

    def _closed(
        self,
        relation: Relation,
        invalid_at: datetime,
        *,
        why: JsonObject | None = None,
        fields: JsonObject | None = None,
    ) -> Relation:
        end = max(invalid_at, relation.valid_at)
        # A clock that was set back makes no announcement: only an end that was given can lie ahead.
        is_announced = invalid_at > self.now and end > relation.valid_at
        return self._set_end(relation, end, is_closed=not is_announced, why=why, fields=fields)

    def _set_end(
        self,
        relation: Relation,
        invalid_at: datetime | None,
        *,
        is_closed: bool = False,
        why: JsonObject | None = None,
        fields: JsonObject | None = None,
    ) -> Relation:
        identity = {"organization": self.organization_id, "relation": relation.id}
        before = self._run(_last_change, identity).scalar()
        known_from = max(relation.created_at, relation.expired_at or relation.created_at, from_micros(before or 0))
        known_to = max(self.now, known_from)
        had_none = relation.invalid_at is None and relation.expired_at is None
        # What was known for no time at all, nobody can ask for.
        if known_from < known_to and not (had_none and is_closed):
            self._remember_end(relation, known_from, known_to)
        said = {key: value for key, value in relation.provenance.items() if key not in (ENDED, WITHDRAWN)} | (why or {})
        expired_at = relation.expired_at or (known_to if is_closed else None)
        values: Values = {"invalid_at": optional_micros(invalid_at), "expired_at": optional_micros(expired_at)}
        if said != relation.provenance:
            values["provenance"] = dump_json(said)
        self._run(_end.values(values), identity)
        self._record(relation_entry(relation, "update", fields, revision=2))
        return to_relation(self._run(_by_ids, {"organization": self.organization_id, "ids": [relation.id]}).one())

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
    """Return the change of a relation for the feed."""
    return Entry("relation", relation.id, operation, revision, relation.name, relation.visibility, fields or {})
