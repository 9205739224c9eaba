"""Plan of a search: query, filters, ranking options, limits."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from stores.records import IndexFilter
from tools.retrieval.imported import EVERYTHING, Imported

Mode = Literal["fast", "naive"]
"""`naive` is a control: reciprocal rank fusion of words and vectors."""

LANE_DEPTH = 456
"""Candidates per lane."""
ENOUGH = 50
"""Records left after the checks below which lanes are read deeper."""
DEEPER, DEEPEST = 8, 30_000
"""Factor of each step, and the limit, which takes a second."""
DECAY_DAYS = 30.0
"""Half-life of the recency bonus."""
SEEDS = 6
"""Candidates whose graph neighbours are added."""
NEIGHBOURS_EACH = 8
SPANS_FOLLOWED = 3
"""Latest named spans in which past relations are followed."""
LEAST_ASKED = 2
"""Terms beside dates that scoring without dates needs."""
LEADING = 10
"""Candidates whose thread neighbours are added."""
RADIUS = 2
"""Positions in a thread."""
POOL_LIMIT = 2 * LANE_DEPTH + SEEDS * NEIGHBOURS_EACH + 2 * RADIUS * LEADING
"""Candidates that `total` can count and `offset` can reach."""


@dataclass(frozen=True, slots=True)
class Plan:
    organization_id: str
    query: str
    filter: IndexFilter
    """With `as_of` it applies to the records of then."""
    now: datetime
    """Reference of recency and of relative dates."""
    wanted: int
    sight: frozenset[str] = frozenset()
    """Further visibility keys under which a record may supersede a raw memory."""
    imported: Imported = EVERYTHING
    """For raw memories only."""
    as_of: datetime | None = None
    asks: bool = True
    """The query is a question, not a statement to compare."""
    expand: bool = True
    boost_recent: bool = True
    newest_first: bool = True
    """Break ties by time; unlike the bonus, independent of `now`."""
    boost_cited: bool = False
    decay_days: float = DECAY_DAYS
    words_alone: bool = False
    """Use vectors only if the lexical index fails."""
    depth: int = LANE_DEPTH
    mode: Mode = "fast"
    """`naive` ignores `expand`, `boost_recent`, `newest_first` and `boost_cited`."""

    @property
    def is_naive(self) -> bool:
        return self.mode == "naive"

    @property
    def rescores(self) -> bool:
        """Rescore the best candidates by today's tokens and similarity."""
        return not self.is_naive and not self.words_alone and self.as_of is None

    @property
    def uses_threads(self) -> bool:
        return self.rescores and self.filter.ids is None

    @property
    def uses_names(self) -> bool:
        """Names with numbers weigh more than other words."""
        return self.asks and not self.is_naive

    @property
    def prefilter(self) -> IndexFilter:
        """Filter for the indexes: with `as_of`, records unchanged since."""
        return self.filter if self.as_of is None else replace(self.filter, updated_until=self.as_of)
