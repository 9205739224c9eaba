"""Citation weights for ranking."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from stores.ledger import Ledger

DECAY_DAYS = 90.0
_DAY_US = 86_400 * 1_000_000


def weights(
    ledger: Ledger, now: datetime, organization_id: str, record_ids: Iterable[str], visible: frozenset[str]
) -> Mapping[str, float]:
    """Return the weights of the cited records by id. Blocks.

    A citation counts by the visibility key that the record had then.
    """
    now_us = now.timestamp() * 1_000_000
    found: defaultdict[str, float] = defaultdict(float)
    for each in ledger.memories.citations(organization_id, record_ids):
        if each.visibility in visible:
            found[each.record_id] += worth(each.sessions) * 2.0 ** ((each.last_us - now_us) / _DAY_US / DECAY_DAYS)
    return found


def worth(sessions: int) -> float:
    """Return the weight of one user's citations: 1/2 for one session, 3/4 for two, at most 1."""
    return 1 - 0.5 ** min(sessions, 50)
