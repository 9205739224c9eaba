"""How sure a mean is: a bootstrap over the units that were drawn independently."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

RESAMPLES = 2000
SEED = 20_240_501
TAILS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95 % percentile interval, which is not a number of one value alone."""

    mean: float
    low: float
    high: float
    n: int
    over_values: bool = False
    """Whether there was one group alone, so that its values were drawn one by one: narrower than the truth."""


def bootstrap(values: Sequence[float], groups: Sequence[str] | None = None) -> Interval:
    """Resample whole groups (Efron and Tibshirani 1993, ch. 8 and 13); without groups, or of one, each value by itself.

    Values of one group (the questions about one conversation) hang together, so that drawing them one by one would make
    the interval too narrow. The seed is fixed: the same values give the same interval.
    """
    if not values:
        return Interval(0.0, 0.0, 0.0, 0)
    names = groups if groups is not None else [str(number) for number in range(len(values))]
    _, group_of = np.unique(np.asarray(names), return_inverse=True)
    sums, sizes = np.bincount(group_of, weights=np.asarray(values, float)), np.bincount(group_of)
    if len(values) == 1:
        return Interval(float(values[0]), math.nan, math.nan, 1)
    if len(sums) == 1:
        return replace(bootstrap(values), over_values=True)
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.percentile(means, TAILS)
    return Interval(float(np.mean(values)), float(low), float(high), len(values))
