"""Retrieval measures, and bootstrap intervals of means and paired differences."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np

from stores.errors import EngrainError

DOUBTFUL: Final = 0.3
"""Scores below mean that nothing answers (docs/explain/search.md)."""
BELOW: Final = f"below@{DOUBTFUL:g}"
"""Decisive measure of unanswered questions."""
DEPTHS = (5, 10)
Measure = Literal[
    "recall@5", "recall@10", "any-hit@5", "any-hit@10", "all-hit@5", "all-hit@10", "nDCG@10", "MRR@10"
]  # fmt: skip
MEASURES: tuple[str, ...] = get_args(Measure)
RESAMPLES = 2000
SEED = 20_240_501
TAILS = (2.5, 97.5)
FEW_CLUSTERS = 5
"""With fewer, chance gives any difference more often than 1 in 20 (2 / 2^5)."""


def require_library() -> None:
    try:
        import ir_measures  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise EngrainError(
            "Retrieval is measured with ir-measures, which is not installed: pip install 'engrain[eval]'."
        ) from None


def measured(ranking: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """Measure one ranking, best first; an empty one is 0."""
    from ir_measures import RR, R, Success, iter_calc, nDCG  # noqa: PLC0415 - an extra

    measures = {f"recall@{k}": R @ k for k in DEPTHS} | {f"any-hit@{k}": Success @ k for k in DEPTHS}
    measures |= {"nDCG@10": nDCG @ 10, "MRR@10": RR @ 10}
    names = {measure: name for name, measure in measures.items()}
    values = dict.fromkeys(MEASURES, 0.0)
    scores = {record_id: float(len(ranking) - place) for place, record_id in enumerate(dict.fromkeys(ranking))}
    if scores:
        for each in iter_calc(list(names), {"": dict(grades)}, {"": scores}):
            values[names[each.measure]] = float(each.value)
    # The library has no such measure.
    return values | {f"all-hit@{k}": float(values[f"recall@{k}"] == 1.0) for k in DEPTHS}


def unanswered_values(score: float, answered: Sequence[float]) -> dict[str, float]:
    """Compare a best score with those of answered questions; `AUROC` as by Hanley and McNeil (1982)."""
    values = {BELOW: float(score < DOUBTFUL)}
    if answered:
        better = sum((other > score) + (other == score) / 2 for other in answered)
        values["AUROC"] = better / len(answered)
    return values


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean, or mean difference, with its 95 % percentile interval, NaN for a single value."""

    mean: float
    low: float
    high: float
    n: int
    clusters: int

    @property
    def is_lower(self) -> bool:
        return self.high < 0

    @property
    def verdict(self) -> str:
        """A difference in words."""
        if self.clusters <= FEW_CLUSTERS:
            return "too few clusters to say"
        return "worse" if self.is_lower else "better" if self.low > 0 else "no difference seen"


def bootstrap(values: Sequence[float], clusters: Sequence[str] | None = None) -> Interval:
    """Resample clusters (Efron and Tibshirani 1993, ch. 8 and 13), or single values without clusters."""
    if not values:
        return Interval(0.0, 0.0, 0.0, 0, 0)
    if len(values) == 1:
        return Interval(float(values[0]), math.nan, math.nan, 1, 1)
    _, cluster_of = np.unique(np.asarray(clusters or range(len(values))), return_inverse=True)
    sums, sizes = np.bincount(cluster_of, weights=np.asarray(values, float)), np.bincount(cluster_of)
    if len(sums) == 1:
        return replace(bootstrap(values), clusters=1)
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (RESAMPLES, len(sums)))
    low, high = np.percentile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), TAILS)
    return Interval(float(np.mean(values)), float(low), float(high), len(values), len(sums))
