"""What one search is after: the query, what it may return and how it is ranked."""

from dataclasses import dataclass
from datetime import datetime

from stores.records import IndexFilter

LANE_DEPTH = 300
"""Candidates that the lexical and the dense lane each contribute."""
DECAY_DAYS = 30.0
"""Days in which the bonus for recency halves."""
POOL_LIMIT = 1000
"""Ranked candidates that `total` can count and `offset` can reach."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One retrieval over one organization."""

    organization_id: str
    query: str
    filter: IndexFilter
    now: datetime
    """The moment that recency is measured from."""
    as_of: datetime | None = None
    """Facts and revisions are read as they were then."""
    expand: bool = True
    """Whether the graph contributes neighbours of the best candidates."""
    boost_recent: bool = True
    decay_days: float = DECAY_DAYS
