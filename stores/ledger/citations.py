"""Citations: which user cited which record, in which session and when. They hold no text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import func, select

from stores.ledger import schema
from stores.ledger.columns import among, here, json_list
from stores.ledger.encoding import check_keys, to_micros
from stores.ledger.rows import Values
from stores.ledger.store import AsJson, Store, Writes

_table = schema.citations
_there = select(schema.entities.c.id, schema.entities.c.visibility).where(
    here(schema.entities), among(schema.entities.c.id)
)


class CitedBy(NamedTuple):
    record_id: str
    visibility: str
    """As it was when the record was cited."""
    sessions: int
    """Distinct."""
    last_us: int
    """Microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Citing:
    visible: frozenset[str]
    """Keys of everything that the citing user may read."""
    session_key: str
    """A record counts once per user and session."""
    surface: str


@dataclass(frozen=True, slots=True)
class Cited:
    """Outcome of `cite`: each id is in one of the three, in order."""

    counted: Mapping[str, str]
    """Visibility key of each newly counted record."""
    replayed: tuple[str, ...]
    """Cited before in this session."""
    unknown: tuple[str, ...]
    """Absent or invisible."""


_last = func.max(_table.c.cited_at).label("last_us")
_grouped = (
    select(_table.c.record_id, _table.c.visibility, func.count().label("sessions"), _last)
    .where(here(_table))
    .group_by(_table.c.record_id, _table.c.user_id, _table.c.visibility)
)
_counted = _grouped.where(among(_table.c.record_id)).subquery()
_some = select(AsJson(*_counted.c)).select_from(_counted)


class CitationReads(Store):
    def citations(self, organization_id: str, record_ids: Iterable[str]) -> list[CitedBy]:
        """Count by record, citing user and visibility key."""
        values = {"organization": organization_id, "ids": json_list(record_ids)}
        return [CitedBy._make(row) for row in self._packed(_some, values)]


class CitationWrites(Writes):
    """Writes of citations. They add nothing to the feed."""

    def cite(self, record_ids: Iterable[str], citing: Citing) -> Cited:
        """Count each visible record once per user and session."""
        check_keys((citing.session_key, citing.surface))
        distinct = list(dict.fromkeys(record_ids))
        readable = {
            row.id: row.visibility
            for row in self._run(_there, self._here | {"ids": json_list(distinct)})
            if row.visibility in citing.visible
        }
        known = [each for each in distinct if each in readable]
        shared: Values = {"user_id": self.actor_id, "session_key": citing.session_key, "surface": citing.surface}
        shared |= {"organization_id": self.organization_id, "cited_at": to_micros(self.now)}
        rows = [shared | {"record_id": each, "visibility": readable[each]} for each in known]
        counted = {row["record_id"]: row["visibility"] for row in rows if self._insert_new(_table, row)}
        return Cited(
            counted,
            tuple(each for each in known if each not in counted),
            tuple(each for each in distinct if each not in readable),
        )
