"""Candidates that say alike things: each takes over some of the evidence of those that it is most like.

What answers a question is mostly alike (the cluster hypothesis: Jardine and van Rijsbergen, Information Storage and
Retrieval 7, 1971), so that scores of records near to each other had better not lie far apart (Diaz, "Regularizing Ad
Hoc Retrieval Scores", CIKM 2005). It is what finds several memories that a question needs: the one that says it in the
question's words speaks for the others. What was measured is in `docs/retrieval.md`.
"""

import numpy as np

from stores.vectors import VectorIndex
from tools.retrieval.checks import Checks
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import Alike, Beside, ranked

AMONG = 50
"""Best candidates that are looked at; what is in a thread is not, since its neighbours there tell more."""
NEAREST = 4
"""How many others each of them is held against: those that it is most like, and what is just as like as the last."""


def alike(vectors: VectorIndex, pool: Pool, checks: Checks, beside: Beside | None) -> Alike | None:
    """Tell which of the best candidates are like which, by the cosine of their first passages.

    Only those that the caller may read and that are in force are held against each other. None where there are no two.
    """
    best = ranked(pool.ids, pool.fused, AMONG)
    if beside is not None:
        best = [place for place in best if not beside.is_threaded[place]]
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
    # What is like nothing stays as it is.
    nearness[np.diag_indices(len(places))] = nearness.sum(axis=1) == 0
    return Alike(np.array(places, np.int64), nearness / nearness.sum(axis=1, keepdims=True))
