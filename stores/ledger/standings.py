"""Standings: what a ranking must know of many records at once, read without their text."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, exists, select

from stores.ledger import schema
from stores.ledger.encoding import from_micros, to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.relations import SUPERSEDES, holds
from stores.ledger.store import Store

_table = schema.entities
_relations = schema.relations
_retired = exists(
    select(_relations.c.id).where(
        _relations.c.organization_id == _table.c.organization_id,
        _relations.c.target_id == _table.c.id,
        _relations.c.name == SUPERSEDES,
        holds(),
    )
)
_standings = select(
    _table.c.id, _table.c.entity_type, _table.c.visibility, _table.c.revision, _table.c.updated_at, _retired
).where(
    _table.c.organization_id == bindparam("organization"),
    _table.c.id.in_(bindparam("ids", expanding=True)),
    _table.c.created_at <= bindparam("at"),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a record is there, who may read it, and whether another one retired it."""

    id: str
    entity_type: str
    visibility: str
    revision: int
    updated_at: datetime
    superseded: bool


class StandingReads(Store):
    """Reads of standings."""

    def standings(
        self, organization_id: str, entity_ids: Iterable[str], *, as_of: datetime | None = None
    ) -> dict[str, Standing]:
        """Return the standing of each entity that exists (with `as_of`: existed then), by id."""
        at = to_micros(self._clock() if as_of is None else as_of)
        found: dict[str, Standing] = {}
        for ids in in_chunks(entity_ids):
            for row in self._all(_standings, {"organization": organization_id, "ids": ids, "at": at}):
                cells: list[Any] = list(row)
                cells[4:6] = from_micros(cells[4]), bool(cells[5])
                found[row[0]] = Standing(*cells)
        return found
