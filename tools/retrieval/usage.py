"""Citation weights for ranking, cached in memory and refreshed from the ledger."""

import sys
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable

from stores.clock import Clock
from stores.ledger import CitedBy, Ledger

MOST_ORGANIZATIONS = 32
REFRESH_S = 300.0
"""Other processes write, and records are erased."""
DECAY_DAYS = 90.0
_DAY_US = 86_400 * 1_000_000

Weights = dict[str, tuple[tuple[str, float], ...]]


class Usage:
    """Thread-safe."""

    def __init__(self, ledger: Ledger, clock: Clock, *, refresh_s: float = REFRESH_S) -> None:
        self._refresh_s = refresh_s
        self._ledger = ledger
        self._clock = clock
        self._origin_us = _micros(clock)
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Weights, float]] = OrderedDict()
        """Weights by organization, each with the time of reading; the least used first."""

    def weights(self, organization_id: str, record_ids: Iterable[str], visible: frozenset[str]) -> dict[int, float]:
        """Return the weights of the cited records, by their index in `record_ids`.

        A citation counts by the visibility key that the record had then.
        """
        weights = self._of(organization_id)
        if not weights:
            return {}
        fade = _faded(self._origin_us - _micros(self._clock))
        cited = [(place, by_key) for place, by_key in enumerate(map(weights.get, record_ids)) if by_key is not None]
        found: dict[int, float] = {}
        for place, by_key in cited:
            for key, weight in by_key:
                if key in visible:
                    found[place] = found.get(place, 0.0) + weight * fade
        return found

    def renew(self, organization_id: str, record_ids: Collection[str]) -> None:
        with self._lock:
            if known := self._known.get(organization_id):
                known[0].update(self._weights(self._ledger.memories.citations(organization_id, record_ids)))

    def forget(self, organization_id: str) -> None:
        """Drop a deleted organization. Never raises, for use as a ledger listener."""
        with self._lock:
            self._known.pop(organization_id, None)

    def _of(self, organization_id: str) -> Weights:
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or time.monotonic() - known[1] >= self._refresh_s:
                known = self._weights(self._ledger.memories.citations(organization_id)), time.monotonic()
                self._known[organization_id] = known
            self._known.move_to_end(organization_id)
            if len(self._known) > MOST_ORGANIZATIONS:
                self._known.popitem(last=False)
            return known[0]

    def _weights(self, citations: Iterable[CitedBy]) -> Weights:
        found: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        for each in citations:
            weight = worth(each.sessions) * _faded(each.last_us - self._origin_us)
            found[each.record_id][sys.intern(each.visibility)] += weight
        return {record_id: tuple(by_key.items()) for record_id, by_key in found.items()}


def worth(sessions: int) -> float:
    """Return the weight of one user's citations: 1/2 for one session, 3/4 for two, at most 1."""
    return 1 - 0.5 ** min(sessions, 50)


def _faded(later_us: float) -> float:
    return float(2.0 ** (later_us / _DAY_US / DECAY_DAYS))


def _micros(clock: Clock) -> float:
    return clock().timestamp() * 1_000_000
