"""Score smoothing over similar candidates (Diaz, "Regularizing Ad Hoc Retrieval Scores", CIKM 2005)."""

from collections.abc import Sequence

import numpy as np

from stores.vectors import VectorIndex
from tools.retrieval.checks import Checks
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import Alike, ThreadContext

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
