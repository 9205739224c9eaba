"""Candidates near one another: smoothing of their scores outside of threads, diversity in threads.

Smoothing: Diaz, "Regularizing Ad Hoc Retrieval Scores" (CIKM 2005).
"""

from collections.abc import Sequence

import numpy as np

from stores.vectors import VectorIndex
from tools.retrieval.checks import Checks
from tools.retrieval.pool import Places, Pool
from tools.retrieval.scoring import Alike, Near, Scores, ThreadContext

AMONG = 50
NEAREST = 4


def near_one_another(
    vectors: VectorIndex, pool: Pool, best: Sequence[int], checks: Checks, context: ThreadContext | None
) -> tuple[Alike | None, Near | None]:
    """Compare the first passages of the best readable candidates, outside of threads and in threads."""
    allowed = checks.found(pool.ids[place] for place in best)
    held = vectors.vectors_of(pool.ids[place] for place in best if pool.ids[place] in allowed)
    places = np.array([place for place in best if pool.ids[place] in held], np.int64)
    if len(places) < 2:
        return None, None
    rows = np.stack([held[pool.ids[place]] for place in places])
    nearness = np.maximum(rows @ rows.T, 0.0).astype(np.float64)
    in_thread = np.zeros(len(places), np.bool_) if context is None else context.is_threaded[places]
    inside, outside = np.flatnonzero(in_thread), np.flatnonzero(~in_thread)
    near = Near(places[inside], nearness[np.ix_(inside, inside)]) if len(inside) > 1 else None
    return _alike(places[outside], nearness[np.ix_(outside, outside)]), near


def _alike(places: Places, nearness: Scores) -> Alike | None:
    if len(places) < 2:
        return None
    np.fill_diagonal(nearness, 0.0)
    if len(places) > NEAREST:
        nearness[nearness < np.partition(nearness, -NEAREST, axis=1)[:, -NEAREST, None]] = 0.0
    # A candidate without similar ones keeps its own evidence.
    nearness[np.diag_indices(len(places))] = nearness.sum(axis=1) == 0
    return Alike(places, nearness / nearness.sum(axis=1, keepdims=True))
