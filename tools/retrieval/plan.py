"""What one search is after: the query, what it may return and how it is ranked."""

from dataclasses import dataclass
from datetime import datetime

from stores.records import Facet, IndexFilter

LANE_DEPTH = 300
"""Candidates that the lexical and the dense lane each contribute."""
DECAY_DAYS = 30.0
"""Days in which the bonus for recency halves."""
POOL_LIMIT = 1000
"""Ranked candidates that `total` can count and `offset` can reach."""


LASTING: frozenset[Facet] = frozenset({"entity_type", "source_id"})
"""Facets that no record ever changes."""


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
    as_of: datetime | None = None
    """Facts and revisions are read as they were then."""
    expand: bool = True
    """Whether the graph contributes neighbours of the best candidates."""
    boost_recent: bool = True
    decay_days: float = DECAY_DAYS

    @property
    def prefilter(self) -> IndexFilter:
        """What the indexes, which know the records as they are now, can tell of the filter."""
        if self.as_of is None:
            return self.filter
        lasting = {facet: values for facet, values in self.filter.any_of.items() if facet in LASTING}
        return IndexFilter(self.filter.visibility, lasting)
