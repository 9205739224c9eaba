"""Whether one run is better than another on the same cases, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from evals.metrics.interval import SEED, Interval, bootstrap

EXACT_UP_TO = 12
"""Clusters of which all signs are tried; of more, as many as `DRAWS` drawn ones."""
DRAWS = 10_000
SIGNIFICANT = 0.05
Sums = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference, its 95 % interval, and how often chance alone gives one as large."""

    interval: Interval
    p: float
    """Two-sided, of a randomization test that swaps the runs within whole clusters (Fisher; Smucker et al. 2007)."""
    clusters: int
    """With k of them, p cannot be below 2 / 2^k."""

    @property
    def is_lower(self) -> bool:
        """Whether the second run is worse beyond noise."""
        return self.interval.high < 0 and self._is_no_chance

    @property
    def is_higher(self) -> bool:
        """Whether the second run is better beyond noise."""
        return self.interval.low > 0 and self._is_no_chance

    @property
    def is_undecidable(self) -> bool:
        """Whether there are so few clusters that p cannot be small, whatever they show."""
        return 2.0 ** (1 - self.clusters) > SIGNIFICANT

    @property
    def _is_no_chance(self) -> bool:
        """Whether p agrees, where it can; where it cannot, the interval decides, so that a gate sees a fall at all."""
        return self.p < SIGNIFICANT or self.is_undecidable


def compared(before: Sequence[float], after: Sequence[float], clusters: Sequence[str]) -> Difference:
    """Compare paired values; those of one cluster hang together."""
    differences = np.asarray(after, float) - np.asarray(before, float)
    _, cluster_of = np.unique(np.asarray(clusters), return_inverse=True)
    sums: Sums = np.bincount(cluster_of, weights=differences).astype(np.float64)
    return Difference(bootstrap(differences.tolist(), clusters), _randomized(sums), len(sums))


def _randomized(sums: Sums) -> float:
    observed = abs(sums.sum()) - 1e-12
    if len(sums) <= EXACT_UP_TO:
        signs = np.array(list(product((1.0, -1.0), repeat=len(sums))))
        return float(np.mean(np.abs(signs @ sums) >= observed))
    signs = np.random.default_rng(SEED).choice((1.0, -1.0), (DRAWS, len(sums)))
    # The observed order counts as one of the draws, so that p is never 0.
    return float((1 + np.count_nonzero(np.abs(signs @ sums) >= observed)) / (1 + DRAWS))
