"""Reciprocal rank: how far down the first relevant record is."""

import math
from collections.abc import Mapping, Sequence


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int], *, k: int) -> float:
    """Return 1 over the rank of the first relevant record, 0 when none is among the first `k`."""
    ranks = (rank for rank, record_id in enumerate(ranking[:k], start=1) if grades.get(record_id, 0) > 0)
    return 1 / next(ranks, math.inf)
