"""Late interaction: the best candidates, held against the question token by token.

Each token of the question counts with its best match among the tokens of a record (MaxSim: Khattab and Zaharia, SIGIR
2020), or of one that stands near it in its thread, discounted. What was measured is in `docs/retrieval.md`.
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stores.embedding.late import unpacked
from stores.indexer import OpenIndexes
from stores.lexical import LexicalIndex
from stores.tokens import Tokens
from tools.retrieval.checks import Checks
from tools.retrieval.plan import Plan
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import Scores, ranked

AMONG = 50
"""Best candidates that are compared: 100 find the same, for twice the time."""
AMONG_IN_THREADS = 75
"""The same where some of them stand in threads: there what words and vectors say of the order tells less."""
MOST_TOKENS = 6_500
"""Tokens that are compared: of long texts, the twenty best candidates find the same as all."""
MOST_WITH_NEIGHBOURS = 8_000
"""The same with those that stand near candidates in threads: the next ones of all before others of any."""
REACH = 4
"""Places before and after a candidate, in its thread, whose matches count for it."""
DISCOUNT = 0.93
"""What a match one place away in a thread counts, as a share; two places away its square."""
_ROWS = 512
"""Tokens that are unpacked and multiplied at once: they stay near the processor meanwhile."""

Questions = NDArray[np.float32]
"""(tokens, width), of length 1 each."""
Near = Mapping[str, Sequence[tuple[str, int]]]
"""For each record those that stand near it in its thread, and how many places away."""


class Matches(NamedTuple):
    """How the tokens of a question and those of records match."""

    best: Questions
    """For each record and token of the question, the greatest cosine with a token of any passage; (records, tokens)."""
    back: Scores
    """For each record the mean, over its own tokens, of the greatest cosine with a token of the question; (records,)"""


def compare(
    indexes: OpenIndexes, plan: Plan, pool: Pool, checks: Checks, question: Future[Questions]
) -> tuple[Scores, Scores] | None:
    """Tell of each record how much better the question's tokens match it than they match the best on average.

    Between -2 and 2, and 0 where that is not known: beyond the best candidates, for records whose tokens are still to
    be encoded, and for those that are not shown, which count for no average. The second column is how well its own
    tokens are matched by those of the question, between -1 and 1, and not a number where the first is not known. None
    where there is nothing to compare.

    Raises:
        EmbeddingFailed: The question could not be read.
        sqlite3.Error: The tokens of records could not be.
    """
    store = indexes.vectors.tokens if indexes.vectors is not None else None
    places = ranked(pool.ids, pool.fused, AMONG_IN_THREADS)
    if store is None or not places:
        return None
    ids = [pool.ids[place] for place in places]
    near = _near(indexes.lexical, ids, checks) if plan.heeds_threads and indexes.lexical is not None else {}
    if not near:
        places, ids = places[:AMONG], ids[:AMONG]
    starts = dict(zip(ids, pool.passage_starts(places), strict=True))
    wanted = {each: starts.get(each, 0) for each in (*ids, *_nearest_first(ids, near))}
    held = store.read(wanted, most=MOST_WITH_NEIGHBOURS if near else MOST_TOKENS)
    if not held.keys() & starts.keys():
        return None
    # While the model still reads the question, what every candidate is asked later.
    checks.ask(pool.ids)
    found = best_matches(question.result(), held.values())
    matches, own = dict(zip(held, found.best, strict=True)), dict(zip(held, found.back, strict=True))
    shown = checks.found(ids)
    known = [at for at, record_id in enumerate(ids) if record_id in matches and record_id in shown]
    if not known:
        return None
    means = np.array([_with_neighbours(ids[at], near, matches).mean() for at in known], np.float64)
    better, back = np.zeros(len(pool.ids)), np.full(len(pool.ids), np.nan)
    better[np.array(places)[known]] = means - means.mean()
    back[np.array(places)[known]] = [own[ids[at]] for at in known]
    return better, back


def best_matches(question: Questions, records: Collection[Sequence[Tokens]]) -> Matches:
    """Match the tokens of a question with those of records, none of which is without tokens."""
    sizes = [sum(map(len, passages)) for passages in records]
    tokens = np.concatenate([passage for passages in records for passage in passages])
    products = np.empty((len(tokens), len(question)), np.float32)
    for first in range(0, len(tokens), _ROWS):
        np.matmul(unpacked(tokens[first : first + _ROWS]), question.T, out=products[first : first + _ROWS])
    starts = np.cumsum([0, *sizes[:-1]])
    best: Questions = np.maximum.reduceat(products, starts, axis=0)
    back: Scores = np.add.reduceat(products.max(axis=1).astype(np.float64), starts) / np.array(sizes)
    return Matches(best, back)


def _with_neighbours(record_id: str, near: Near, matches: Mapping[str, Questions]) -> Questions:
    best = matches[record_id]
    for other, distance in near.get(record_id, ()):
        if other in matches:
            best = np.maximum(best, DISCOUNT**distance * matches[other])
    return best


def _near(index: LexicalIndex, ids: Sequence[str], checks: Checks) -> Near:
    """Those near in their threads that the caller may read and that are in force."""
    found = index.around(ids, REACH)
    if not found.keys:
        return {}
    names = index.named_by(set(found.keys))
    allowed = checks.wanted(names.values())
    near: dict[str, list[tuple[str, int]]] = {}
    for owner, key, distance in zip(found.owners, found.keys, found.distances, strict=True):
        other = names.get(key)
        if other in allowed:
            near.setdefault(ids[owner], []).append((other, distance))
    return near


def _nearest_first(ids: Sequence[str], near: Near) -> list[str]:
    """Those near some records: the next ones of all, in the order of these, before those further away."""
    found = [(distance, other) for each in ids for other, distance in near.get(each, ())]
    return [other for _, other in sorted(found, key=itemgetter(0))]
