"""Normalised discounted cumulative gain."""

import math
from collections.abc import Iterable, Mapping, Sequence


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], *, k: int) -> float:
    """Compare the gain of the first `k` with the best order's (Järvelin and Kekäläinen, ACM TOIS 2002).

    The gain is the grade itself, discounted by log2(rank + 1) as trec_eval has it. Without judgements it is 0.
    """
    best = _gain(sorted(grades.values(), reverse=True)[:k])
    return _gain(grades.get(record_id, 0) for record_id in ranking[:k]) / best if best else 0.0


def _gain(grades: Iterable[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))
