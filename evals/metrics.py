"""Retrieval measures, and bootstrap intervals of means, paired differences and AUROC."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evals.results import SEPARATION
from stores.errors import EngrainError

DEPTHS = (5, 10)
MEASURES: tuple[str, ...] = (
    "recall@5", "recall@10", "any-hit@5", "any-hit@10", "all-hit@5", "all-hit@10", "nDCG@10", "MRR@10",
)  # fmt: skip
DOUBTFUL = 0.3
"""Scores below mean that nothing answers (docs/explain/search.md)."""
RESAMPLES = 2000
SEED = 20_240_501
TAILS = (2.5, 97.5)
FEW_CLUSTERS = 5
"""With fewer, chance gives any difference more often than 1 in 20 (2 / 2^5)."""
Wins = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def require_library() -> None:
    try:
        import ir_measures  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise EngrainError(
            "Retrieval is measured with ir-measures, which is not installed: pip install 'engrain[eval]'."
        ) from None


def measured(
    found: Mapping[str, Sequence[str]], wanted: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, float]]:
    """Measure rankings by case, best first; an empty ranking is 0."""
    from ir_measures import RR, R, Success, iter_calc, nDCG  # noqa: PLC0415 - an extra

    measures = {f"recall@{k}": R @ k for k in DEPTHS} | {f"any-hit@{k}": Success @ k for k in DEPTHS}
    measures |= {"nDCG@10": nDCG @ 10, "MRR@10": RR @ 10}
    names = {measure: name for name, measure in measures.items()}
    values = {case: dict.fromkeys(MEASURES, 0.0) for case in wanted}
    rankings = {case: _scored(found.get(case, ())) for case in wanted if found.get(case)}
    if rankings:
        for each in iter_calc(list(names), {case: dict(wanted[case]) for case in rankings}, rankings):
            values[each.query_id][names[each.measure]] = float(each.value)
    for value in values.values():
        # The library has no such measure.
        value |= {f"all-hit@{k}": float(value[f"recall@{k}"] == 1.0) for k in DEPTHS}
    return values


def _scored(ranking: Sequence[str]) -> dict[str, float]:
    return {record_id: float(len(ranking) - place) for place, record_id in enumerate(dict.fromkeys(ranking))}


def unanswered_values(score: float, answered: Sequence[float]) -> dict[str, float]:
    """Compare an unanswered question's best score with those of answered ones.

    The mean of `AUROC` is the area under the ROC curve (Hanley and McNeil 1982).
    """
    values = {f"below@{DOUBTFUL:g}": float(score < DOUBTFUL)}
    if answered:
        values[SEPARATION] = float(wins([score], answered).mean())
    return values


def wins(lacking: Sequence[float], answered: Sequence[float]) -> Wins:
    """Return 1 where the answered question scores higher, .5 for a tie."""
    low, high = np.asarray(lacking, float)[:, None], np.asarray(answered, float)[None, :]
    return np.asarray((high > low) + (high == low) / 2, np.float64)


@dataclass(frozen=True, slots=True)
class Interval:
    """Mean and 95 % percentile interval, NaN for a single value."""

    mean: float
    low: float
    high: float
    n: int
    over_values: bool = False
    """One cluster only: resampled by value, so too narrow."""


def bootstrap(values: Sequence[float], clusters: Sequence[str] | None = None) -> Interval:
    """Resample clusters (Efron and Tibshirani 1993, ch. 8 and 13), or single values without clusters."""
    if not values:
        return Interval(0.0, 0.0, 0.0, 0)
    if len(values) == 1:
        return Interval(float(values[0]), math.nan, math.nan, 1)
    cluster_of = _numbered(clusters if clusters is not None else range(len(values)))
    sums, sizes = np.bincount(cluster_of, weights=np.asarray(values, float)), np.bincount(cluster_of)
    if len(sums) == 1:
        return replace(bootstrap(values), over_values=True)
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (RESAMPLES, len(sums)))
    low, high = np.percentile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), TAILS)
    return Interval(float(np.mean(values)), float(low), float(high), len(values))


def separation(pairs: Wins, lacking: Sequence[str], answered: Sequence[str]) -> Interval:
    """Return an AUROC, or a difference of two, with its interval; n counts unanswered questions.

    Resamples questions of both kinds by cluster. `pairs` are `wins` of a run, or their difference between runs.
    """
    if min(pairs.shape) == 1:
        return Interval(float(pairs.mean()), math.nan, math.nan, len(lacking))
    alone = min(len(set(lacking)), len(set(answered))) == 1
    cluster_of = _numbered(range(sum(pairs.shape)) if alone else [*lacking, *answered])
    count = int(cluster_of.max()) + 1
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    rows, columns = drawn[:, cluster_of[: len(lacking)]], drawn[:, cluster_of[len(lacking) :]]
    totals = rows.sum(axis=1) * columns.sum(axis=1)
    has_both = totals > 0
    areas = ((rows @ pairs) * columns).sum(axis=1)[has_both] / totals[has_both]
    low, high = np.percentile(areas, TAILS)
    return Interval(float(pairs.mean()), float(low), float(high), len(lacking), alone)


def _numbered(names: Sequence[object]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.unique(np.asarray(names), return_inverse=True)[1]


@dataclass(frozen=True, slots=True)
class Difference:
    interval: Interval
    clusters: int

    @property
    def verdict(self) -> str:
        if self.clusters <= FEW_CLUSTERS:
            return "too few clusters to say"
        return "worse" if self.is_lower else "better" if self.interval.low > 0 else "no difference seen"

    @property
    def is_lower(self) -> bool:
        return self.interval.high < 0


def compared(before: Sequence[float], after: Sequence[float], clusters: Sequence[str]) -> Difference:
    differences = [new - old for old, new in zip(before, after, strict=True)]
    return Difference(bootstrap(differences, clusters), len(set(clusters)))
