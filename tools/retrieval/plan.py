"""What one search is after: the query, what it may return and how it is ranked."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from stores.records import IndexFilter
from tools.retrieval.imported import EVERYTHING, Imported

Mode = Literal["fast", "naive"]
"""`fast` weighs the evidence of all lanes; `naive` is a control: words and meaning, joined by their ranks alone."""

LANE_DEPTH = 456
"""Candidates that the lexical and the dense lane each contribute."""
ENOUGH = 50
"""Of lanes that have more to give, records that are left at least; where fewer are, the lanes are read deeper."""
DEEPER, DEEPEST = 8, 30_000
"""How much deeper at a time, and candidates of a lane at which that ends: a second's work."""
DECAY_DAYS = 30.0
"""Days in which the bonus for recency halves."""
SEEDS = 6
"""Best candidates whose neighbours the graph is asked for."""
NEIGHBOURS_EACH = 8
SPANS_FOLLOWED = 3
"""Of the spans of days that a question names, the latest, in which relations are followed that are over by now."""
LEAST_ASKED = 2
"""Words that a question must say beside days for these to be left out of it: one word alone stands in anything."""
LEADING = 10
"""Best candidates next to which further ones are looked for in their threads."""
RADIUS = 2
"""Places before and after a record, in its thread, that count for it."""
POOL_LIMIT = 2 * LANE_DEPTH + SEEDS * NEIGHBOURS_EACH + 2 * RADIUS * LEADING
"""Ranked candidates that `total` can count and `offset` can reach: what the lanes can contribute at most."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One retrieval over one organization."""

    organization_id: str
    query: str
    filter: IndexFilter
    """What may be found. With `as_of` it concerns the records as they were then."""
    now: datetime
    """The moment that recency is measured from."""
    wanted: int
    """How many of the best candidates are described; all are counted."""
    sight: frozenset[str] = frozenset()
    """The visibility keys of what may retire a raw memory, beside those of the filter."""
    imported: Imported = EVERYTHING
    """What it wants of raw memories alone."""
    as_of: datetime | None = None
    """Facts and revisions are read as they were then."""
    asks: bool = True
    """Whether the query is a question, and not a statement that is held against what is known."""
    expand: bool = True
    """Whether the graph contributes neighbours of the best candidates."""
    boost_recent: bool = True
    newest_first: bool = True
    """Whether of equal scores the later comes first; unlike the bonus, that is the same at any time of asking."""
    boost_cited: bool = False
    """Whether citations lift a score; off unless a surface asks for it, so that no other plan is touched."""
    decay_days: float = DECAY_DAYS
    words_alone: bool = False
    """Whether meaning is asked only where words cannot be: what says the same in other words is not wanted."""
    depth: int = LANE_DEPTH
    """Candidates of each lane. Where no total is told, fewer find the same: how near those are that the words found
    is then measured of each."""
    mode: Mode = "fast"
    """`naive` leaves `expand`, `boost_recent`, `newest_first` and `boost_cited` aside."""

    @property
    def is_naive(self) -> bool:
        """Whether ranks alone decide."""
        return self.mode == "naive"

    @property
    def compares(self) -> bool:
        """Whether the best candidates are compared more closely than their lanes do, by what they say today."""
        return not self.is_naive and not self.words_alone and self.as_of is None

    @property
    def heeds_threads(self) -> bool:
        """Whether what was captured next to a candidate counts."""
        return self.compares and self.filter.ids is None

    @property
    def heeds_names(self) -> bool:
        """Whether names with numbers count for more than other words."""
        return self.asks and not self.is_naive

    @property
    def prefilter(self) -> IndexFilter:
        """What to ask the indexes for: with `as_of` what has not changed since, because they know the present."""
        return self.filter if self.as_of is None else replace(self.filter, updated_until=self.as_of)
