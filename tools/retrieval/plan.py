"""Plan of a search: query, filters, ranking options, limits."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from stores.event_times import named_span
from stores.records import Entity, IndexFilter

Mode = Literal["fast", "naive"]
"""`naive` is a control: reciprocal rank fusion."""

AGENTS_SCORE = 0.05
"""Least score of the hits that agents get: `docs/experiments/other-kinds.md`."""
DOUBTFUL, UNRELATED = 0.2, 0.15
"""Best scores below which agents are told that nothing is about it, and get the three nearest records only."""
NEAREST = 3
DETAILED = 50
"""Candidates whose retrieval is shown."""
LANE_DEPTH = 456
"""Candidates per lane."""
DECAY_DAYS = 30.0
"""Half-life of the recency bonus."""
SEEDS = 6
NEIGHBOURS_EACH = 8
LEAST_ASKED = 2
LEADING = 10
RADIUS = 2
POOL_LIMIT = 2 * LANE_DEPTH + SEEDS * NEIGHBOURS_EACH + 2 * RADIUS * LEADING
"""Candidates that `total` can count and `offset` can reach."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Filter on the metadata of imported raw memories; empty conditions let everything pass."""

    participants: frozenset[str] = frozenset()
    """Lower case."""
    labels: frozenset[str] = frozenset()
    """Lower case."""
    thread_id: str | None = None
    after: datetime | None = None
    """Aware, inclusive."""
    before: datetime | None = None
    """Aware, exclusive."""

    @property
    def wants_nothing(self) -> bool:
        return self == EVERYTHING

    def passes(self, memory: Entity) -> bool:
        metadata = memory.metadata
        if self.thread_id is not None and _name(metadata.get("thread_id")) != self.thread_id:
            return False
        for wanted, found in ((self.participants, metadata.get("participants")), (self.labels, metadata.get("labels"))):
            words = [each.lower() for each in found if isinstance(each, str)] if isinstance(found, list) else []
            if wanted and wanted.isdisjoint(words):
                return False
        if self.after is None and self.before is None:
            return True
        named = named_span(metadata, kept_at=memory.created_at)
        if named is None:
            return False
        return (self.after is None or named.last >= self.after) and (self.before is None or named.start < self.before)


EVERYTHING = Imported()


@dataclass(frozen=True, slots=True)
class Plan:
    organization_id: str
    query: str
    filter: IndexFilter
    """With `as_of` applied to the records of then."""
    now: datetime
    wanted: int
    superseding_keys: frozenset[str] = frozenset()
    """Keys under which a record may also supersede a raw memory."""
    imported: Imported = EVERYTHING
    as_of: datetime | None = None
    asks: bool = True
    expand: bool = True
    boost_recent: bool = True
    newest_first: bool = True
    """Break ties by time; independent of `now`."""
    boost_cited: bool = False
    decay_days: float = DECAY_DAYS
    words_alone: bool = False
    """Vectors only if the lexical index fails."""
    min_score: float = 0.0
    """Least score of a candidate; ignored by `naive`."""
    depth: int = LANE_DEPTH
    mode: Mode = "fast"
    """`naive` ignores `expand`, `boost_recent`, `newest_first` and `boost_cited`."""

    @property
    def is_naive(self) -> bool:
        return self.mode == "naive"

    @property
    def rescores(self) -> bool:
        return self.asks and not self.is_naive and not self.words_alone and self.as_of is None

    @property
    def uses_threads(self) -> bool:
        return self.rescores and self.filter.ids is None

    @property
    def uses_names(self) -> bool:
        return self.asks and not self.is_naive

    @property
    def prefilter(self) -> IndexFilter:
        return self.filter if self.as_of is None else replace(self.filter, updated_until=self.as_of)


def _name(thread: JsonValue) -> str | None:
    is_number = isinstance(thread, int) and not isinstance(thread, bool)
    return str(thread) if is_number or isinstance(thread, str) else None
