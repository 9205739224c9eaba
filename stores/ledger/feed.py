"""The change feed that indexes follow, and the snapshots that they begin with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, delete, func, select

from stores.clock import Clock
from stores.errors import NotFound, RecordUnreadable
from stores.ledger import schema
from stores.ledger.columns import DAMAGE, here, sound
from stores.ledger.encoding import from_micros, load_object, to_micros
from stores.ledger.engine import Database
from stores.ledger.entities import ENTITIES, to_entity
from stores.ledger.relations import RELATIONS
from stores.ledger.store import AsJson, Cells, Store
from stores.records import Change, Entity, Position, Relation

PAGE = 500

_changes = schema.changes
_of_organization = here(_changes)
_organizations = schema.organizations
_head = select(_organizations.c.seq, _organizations.c.batch).where(
    _organizations.c.id == bindparam("organization"), _organizations.c.deleted_at.is_(None)
)
_oldest = select(func.min(_changes.c.sequence)).where(_of_organization)
_batch = select(_changes.c.batch).where(_of_organization, _changes.c.sequence == bindparam("sequence"))
_after = (
    select(*_changes.c)
    .where(_of_organization, _changes.c.sequence > bindparam("after"))
    .order_by(_changes.c.sequence)
    .limit(bindparam("limit"))
    .subquery()
)
_packed_after = select(AsJson(*_after.c))
_prune = (
    delete(_changes)
    .where(_of_organization, _changes.c.sequence < bindparam("watermark"), _changes.c.created_at < bindparam("before"))
    .execution_options(preserve_rowcount=True)
)


def _page_of(table: Table, columns: list[Any]) -> Select[Any]:
    return select(*columns).where(here(table), table.c.id > bindparam("after")).order_by(table.c.id).limit(PAGE)


_entity_page = _page_of(schema.entities, ENTITIES.columns)
_relation_page = _page_of(schema.relations, RELATIONS.columns)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Consistent view of one organization; pages are read lazily, without damaged records."""

    position: Position
    _connection: Connection
    _organization_id: str

    def entities(self) -> Iterator[list[Entity]]:
        return (sound(page, to_entity) for page in self.pages(_entity_page))

    def relations(self) -> Iterator[list[Relation]]:
        return (sound(page, RELATIONS.read) for page in self.pages(_relation_page))

    def pages(self, statement: Select[Any]) -> Iterator[Sequence[Cells]]:
        after = ""
        while page := self._connection.execute(
            statement, {"organization": self._organization_id, "after": after}
        ).all():
            yield page
            after = page[-1].id


class FeedReads(Store):
    def __init__(self, database: Database, clock: Clock, epoch: str) -> None:
        super().__init__(database, clock)
        self.epoch = epoch
        """Indexes of another epoch are rebuilt."""

    def head(self, organization_id: str) -> Position:
        """Return the position of the last commit; 0 and "" for an empty feed."""
        return self._position(self._first(_head, {"organization": organization_id}), organization_id)

    def changes(self, organization_id: str, after: int, limit: int) -> list[Change]:
        """Return the changes after a sequence number, in order. Pruned ones are absent: ask `batch_at` first."""
        values = {"organization": organization_id, "after": after, "limit": limit}
        changes = [_to_change(row) for row in self._packed(_packed_after, values)]
        return sorted(changes, key=attrgetter("sequence"))

    def batch_at(self, organization_id: str, sequence: int) -> str | None:
        """Return the batch of a sequence number; None if pruned or above the head. Others must rebuild."""
        head = self._first(_head, {"organization": organization_id})
        if head is None:
            return None
        if sequence == head.seq:
            return str(head.batch)
        if sequence == 0:
            oldest = self._first(_oldest, {"organization": organization_id})
            return "" if oldest is not None and oldest[0] == 1 else None
        row = self._first(_batch, {"organization": organization_id, "sequence": sequence})
        return None if row is None else row[0]

    def prune_feed(self, before: datetime, watermarks: Mapping[str, int]) -> int:
        """Delete old rows below each organization's lowest watermark, whose own row stays; return how many."""
        with self._database.write() as connection:
            return sum(
                connection.execute(
                    _prune, {"organization": organization, "watermark": watermark, "before": to_micros(before)}
                ).rowcount
                for organization, watermark in watermarks.items()
            )

    @contextmanager
    def snapshot(self, organization_id: str) -> Iterator[Snapshot]:
        """Yield one consistent view for a rebuild; writers are not blocked."""
        with self._database.snapshot() as connection:
            head = connection.execute(_head, {"organization": organization_id}).first()
            yield Snapshot(self._position(head, organization_id), connection, organization_id)

    def unreadable(self, organization_id: str) -> list[str]:
        """Read every record; return a sentence for each unreadable one."""
        found = []
        with self.snapshot(organization_id) as snapshot:
            for kind, page, make in (("entity", _entity_page, to_entity), ("relation", _relation_page, RELATIONS.read)):
                for row in chain.from_iterable(snapshot.pages(page)):
                    try:
                        make(row)
                    except RecordUnreadable as error:
                        found.append(f"{kind} {row.id} cannot be read: {error.reason}")
        return found

    def _position(self, head: Cells | None, organization_id: str) -> Position:
        if head is None:
            raise NotFound(f"Organization {organization_id} does not exist.")
        return Position(self.epoch, head.seq, head.batch)


def _to_change(row: Sequence[Any]) -> Change:
    cells: list[Any] = list(row)
    try:
        fields = load_object(cells[11])
    except DAMAGE:
        # They only add to events: no index may need them.
        fields = {}
    cells[10:13] = bool(cells[10]), fields, from_micros(cells[12])
    return Change(*cells)
