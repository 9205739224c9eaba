"""Retrieval metrics: a ranking of ids and graded judgements in, a figure from 0 to 1 out. Pure."""

from collections.abc import Callable, Mapping, Sequence

from evals.metrics.interval import Interval, bootstrap
from evals.metrics.ndcg import ndcg
from evals.metrics.recall import recall
from evals.metrics.reciprocal_rank import reciprocal_rank

Metric = Callable[[Sequence[str], Mapping[str, int]], float]

METRICS: Mapping[str, Metric] = {
    "nDCG@10": lambda ranking, grades: ndcg(ranking, grades, k=10),
    "recall@5": lambda ranking, grades: recall(ranking, grades, k=5),
    "recall@10": lambda ranking, grades: recall(ranking, grades, k=10),
    "MRR@10": lambda ranking, grades: reciprocal_rank(ranking, grades, k=10),
}
"""Every metric that a report shows, in its order."""

__all__ = ["METRICS", "Interval", "Metric", "bootstrap", "ndcg", "recall", "reciprocal_rank"]
