"""How near the best candidates are by a second model, which has read more and would take too long to ask of all.

Two models that were taught with different texts err in different places, so that what both say tells more (linear
combination of evidence: Bartell, Cottrell and Belew, SIGIR 1994). What was measured is in `docs/retrieval.md`.
"""

from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
from numpy.typing import NDArray

from stores.embedding.second import cosines
from stores.indexer import OpenIndexes
from tools.retrieval.checks import Checks
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import Beside, Scores, ranked

AMONG = 50
"""Best candidates that it is asked of; what is in a thread is not, since there a single turn says little by itself."""

Question = NDArray[np.float32]
"""(dimension,), of length 1."""


def nearness(
    indexes: OpenIndexes, pool: Pool, checks: Checks, beside: Beside | None, question: Callable[[], Future[Question]]
) -> Scores | None:
    """Tell of the best candidates how near they are, by the best of their passages that are read.

    The question begins to be read when it is asked for. One row per candidate, the cosine, and not a number where it
    is not known: beyond the best, in threads, for records whose passages are still to be read, and for those that are
    not shown. None where nothing is known of any.

    Raises:
        EmbeddingFailed: The question could not be read.
        sqlite3.Error: The vectors of records could not be.
    """
    store = indexes.vectors.tokens if indexes.vectors is not None else None
    best = ranked(pool.ids, pool.fused, AMONG)
    if beside is not None:
        best = [place for place in best if not beside.is_threaded[place]]
    if store is None or not best:
        return None
    reading, ids = question(), [pool.ids[place] for place in best]
    held = store.sentences(dict(zip(ids, pool.passage_starts(best), strict=True)))
    # While the model still reads the question, what every candidate is asked later.
    checks.ask(pool.ids)
    shown = checks.found(ids)
    known = [place for place in best if pool.ids[place] in held and pool.ids[place] in shown]
    if not known:
        return None
    passages = [held[pool.ids[place]] for place in known]
    near = cosines(reading.result(), np.concatenate(passages))
    starts = np.cumsum([0, *map(len, passages[:-1])])
    found = np.full(len(pool.ids), np.nan)
    found[known] = np.maximum.reduceat(near, starts)
    return found
