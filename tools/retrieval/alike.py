"""Similar candidates: they support each other outside of threads, and give way in threads.

Smoothing: Diaz, "Regularizing Ad Hoc Retrieval Scores" (CIKM 2005). Maximal marginal relevance: Carbonell and
Goldstein (SIGIR 1998).
"""

from collections.abc import Sequence

import numpy as np

from stores.vectors import VectorIndex
from tools.retrieval.checks import Checks
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import REPEATED, Alike, Scores, ThreadContext

AMONG = 50
NEAREST = 4


def alike(
    vectors: VectorIndex, pool: Pool, best: Sequence[int], checks: Checks, context: ThreadContext | None
) -> Alike | None:
    """Compare the first passages of the best readable candidates; None if fewer than two."""
    if context is not None:
        best = [place for place in best if not context.is_threaded[place]]
    allowed = checks.found(pool.ids[place] for place in best)
    held = vectors.vectors_of(pool.ids[place] for place in best if pool.ids[place] in allowed)
    places = [place for place in best if pool.ids[place] in held]
    if len(places) < 2:
        return None
    rows = np.stack([held[pool.ids[place]] for place in places])
    nearness = np.maximum(rows @ rows.T, 0.0).astype(np.float64)
    np.fill_diagonal(nearness, 0.0)
    if len(places) > NEAREST:
        nearness[nearness < np.partition(nearness, -NEAREST, axis=1)[:, -NEAREST, None]] = 0.0
    # A candidate without similar ones keeps its own evidence.
    nearness[np.diag_indices(len(places))] = nearness.sum(axis=1) == 0
    return Alike(np.array(places, np.int64), nearness / nearness.sum(axis=1, keepdims=True))


def diversified(vectors: VectorIndex, pool: Pool, best: Sequence[int], scores: Scores) -> list[int]:
    """Order the first of `best` anew: what is in threads, by maximal marginal relevance; the others keep their rank."""
    first = [at for at, place in enumerate(best[:AMONG]) if pool.ids[place] in pool.threaded]
    held = vectors.vectors_of(pool.ids[best[at]] for at in first)
    ranks = [at for at in first if pool.ids[best[at]] in held and not pool.is_named[best[at]]]
    order = list(best)
    if len(ranks) < 3:
        return order
    places = np.array([best[at] for at in ranks], np.int64)
    rows = np.stack([held[pool.ids[place]] for place in places])
    left, nearest = scores[places], np.zeros(len(places))
    for rank in ranks:
        chosen = int((left - REPEATED * nearest).argmax())
        order[rank], left[chosen] = int(places[chosen]), -np.inf
        nearest = np.maximum(nearest, rows @ rows[chosen])
    return order
