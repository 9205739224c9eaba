"""How well scores tell questions that something answers from those that nothing does, and how sure that is.

The measure is the area under the ROC curve: how often a question that has an answer scores higher than one that has
none, equal scores counting half (Hanley and McNeil, Radiology 1982). It is a mean over pairs, so that it hangs on which
questions of either kind were drawn: both are drawn anew together, where a bootstrap over one kind would take the other
for fixed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from evals.metrics.interval import RESAMPLES, SEED, TAILS, Interval
from evals.metrics.paired import DRAWS, EXACT_UP_TO, Difference

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
Draws = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""A draw a row: how often it has each cluster."""
_AT_ONCE = 250
"""Draws that are worked out together: of 2,000 questions they take 4 MB an array."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The best score of each question, the unit that it was drawn with, and whether something answers it."""

    values: Sequence[float]
    clusters: Sequence[str]
    answered: Sequence[bool]

    @property
    def can_tell(self) -> bool:
        """Whether there are questions of both kinds."""
        return any(self.answered) and not all(self.answered)


def area(scores: Scores) -> Interval:
    """Return the area with its 95 % percentile interval over whole clusters; n counts questions without an answer.

    Where the questions of a kind are of one cluster, each is drawn by itself; a single question has no interval.
    """
    values, kinds = np.asarray(scores.values, np.float64), np.asarray(scores.answered)
    cluster_of, draws, over_values = _resampled(scores)
    drawn = _areas(values, kinds, cluster_of, draws)
    return _interval(scores, _whole(values, kinds), drawn, over_values=over_values)


def areas_compared(before: Scores, after: Scores) -> tuple[tuple[float, float], Difference]:
    """Return the areas of two runs on the same questions, in the same order, and their difference.

    The interval is that of the difference, both runs over the same draws; p is of swapping the runs within whole
    clusters, as for means, with each area worked out anew. Clusters are counted of the kind that has fewer: where all
    questions without an answer are of one, swapping it is as likely as not, whatever it shows.
    """
    sides = [np.asarray(run.values, np.float64) for run in (before, after)]
    kinds = np.asarray(after.answered)
    old, new = (_whole(values, kinds) for values in sides)
    cluster_of, draws, over_values = _resampled(after)
    drawn = [_areas(values, kinds, cluster_of, draws) for values in sides]
    interval = _interval(after, new - old, drawn[1] - drawn[0], over_values=over_values)
    _, cluster_of = np.unique(np.asarray(after.clusters), return_inverse=True)
    p = _randomized(sides, kinds, cluster_of, abs(new - old) - 1e-12)
    return (old, new), Difference(interval, p, _fewest(after))


def _whole(values: Numbers, answered: np.ndarray) -> float:
    places = np.arange(len(values))
    return float(_areas(values, answered, places, np.ones((1, len(places)), np.int64))[0])


def _resampled(scores: Scores) -> tuple[np.ndarray, Draws, bool]:
    """Return the cluster of each question, draws of as many clusters with replacement, and whether each is its own."""
    alone = _fewest(scores) == 1
    names = range(len(scores.values)) if alone else scores.clusters
    _, cluster_of = np.unique(np.asarray(names), return_inverse=True)
    count = int(cluster_of.max()) + 1
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    return cluster_of, drawn, alone


def _fewest(scores: Scores) -> int:
    """How many clusters the kind of question has that has fewer of them."""
    kinds = {(bool(kind), cluster) for kind, cluster in zip(scores.answered, scores.clusters, strict=True)}
    return min(sum(kind is wanted for kind, _ in kinds) for wanted in (True, False))


def _interval(scores: Scores, mean: float, drawn: Numbers, *, over_values: bool) -> Interval:
    lacking = len(scores.answered) - sum(scores.answered)
    low, high = math.nan, math.nan
    if min(lacking, sum(scores.answered)) > 1:
        # A draw that has no question of one kind says nothing.
        low, high = np.nanpercentile(drawn, TAILS)
    return Interval(mean, float(low), float(high), lacking, over_values)


def _areas(values: Numbers, answered: np.ndarray, cluster_of: np.ndarray, draws: np.ndarray) -> Numbers:
    """Work out the area of each draw, every question as often as its cluster; not a number without both kinds."""
    order = np.argsort(values, kind="stable")
    _, starts = np.unique(values[order], return_index=True)
    found = []
    for first in range(0, len(draws), _AT_ONCE):
        weights = draws[first : first + _AT_ONCE][:, cluster_of[order]]
        has, lacks = (np.add.reduceat(weights * kind[order], starts, axis=1) for kind in (answered, ~answered))
        lower = np.cumsum(lacks, axis=1) - lacks / 2
        pairs = has.sum(axis=1) * lacks.sum(axis=1)
        found.append(np.divide((has * lower).sum(axis=1), pairs, where=pairs > 0, out=np.full(len(pairs), math.nan)))
    return np.concatenate(found)


def _randomized(sides: Sequence[Numbers], answered: np.ndarray, cluster_of: np.ndarray, observed: float) -> float:
    count = int(cluster_of.max()) + 1
    if is_exact := count <= EXACT_UP_TO:
        swapped = np.array(list(product((0, 1), repeat=count)))
    else:
        swapped = np.random.default_rng(SEED).integers(0, 2, (DRAWS, count))
    # The scores of both runs are one list, of which each side takes those of the run that it has of a cluster.
    both, kinds = np.concatenate(sides), np.concatenate([answered, answered])
    places = np.concatenate([cluster_of, cluster_of + count])
    one, other = (
        _areas(both, kinds, places, np.hstack(pair)) for pair in ((1 - swapped, swapped), (swapped, 1 - swapped))
    )
    as_large = np.count_nonzero(np.abs(other - one) >= observed)
    # The observed order counts as one of the draws, so that p is never 0.
    return float(as_large / len(swapped) if is_exact else (1 + as_large) / (1 + DRAWS))
