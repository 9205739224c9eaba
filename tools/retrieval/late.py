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


class Near(NamedTuple):
    """Pairs of a candidate and one that stands near it in its thread, those of one candidate behind each other."""

    owners: list[int]
    """Which of the candidates, counted from 0, ascending."""
    others: list[str]
    distances: list[int]
    """How many places away they are."""

    def nearest_first(self) -> list[str]:
        """Those near some candidate: the next ones of all, in the order of these, before those further away."""
        return [other for _, other in sorted(zip(self.distances, self.others, strict=True), key=itemgetter(0))]


NOBODY_NEAR = Near([], [], [])


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
    near = _near(indexes.lexical, ids, checks) if plan.heeds_threads and indexes.lexical is not None else NOBODY_NEAR
    if not near.owners:
        places, ids = places[:AMONG], ids[:AMONG]
    starts = dict(zip(ids, pool.passage_starts(places), strict=True))
    wanted = {each: starts.get(each, 0) for each in (*ids, *near.nearest_first())}
    held = store.read(wanted, most=MOST_WITH_NEIGHBOURS if near.owners else MOST_TOKENS)
    if not held.keys() & starts.keys():
        return None
    # While the model still reads the question, what every candidate is asked later.
    checks.ask(pool.ids)
    found = best_matches(question.result(), held.values())
    rows = dict(zip(held, range(len(held)), strict=True))
    shown = checks.found(ids)
    known = [at for at, record_id in enumerate(ids) if record_id in rows and record_id in shown]
    if not known:
        return None
    own = [rows[ids[at]] for at in known]
    means = _with_neighbours(found.best, rows, ids, near)[own].mean(axis=1).astype(np.float64)
    better, back = np.zeros(len(pool.ids)), np.full(len(pool.ids), np.nan)
    better[np.array(places)[known]] = means - means.mean()
    back[np.array(places)[known]] = found.back[own]
    return better, back


def best_matches(question: Questions, records: Collection[Sequence[Tokens]]) -> Matches:
    """Match the tokens of a question with those of records, none of which is without tokens."""
    sizes = [sum(map(len, passages)) for passages in records]
    tokens = np.concatenate([passage for passages in records for passage in passages])
    products = np.empty((len(tokens), len(question)), np.float32)
    for first in range(0, len(tokens), _ROWS):
        np.matmul(unpacked(tokens[first : first + _ROWS]), question.T, out=products[first : first + _ROWS])
    starts = np.cumsum([0, *sizes[:-1]])
    # The other way round each maximum runs along its line: half the time of steps across lines.
    along = np.ascontiguousarray(products.T)
    best: Questions = np.ascontiguousarray(np.maximum.reduceat(along, starts, axis=1).T)
    back: Scores = np.add.reduceat(along.max(axis=0).astype(np.float64), starts) / np.array(sizes)
    return Matches(best, back)


def _with_neighbours(best: Questions, rows: Mapping[str, int], ids: Sequence[str], near: Near) -> Questions:
    """The matches of records, raised for candidates to what those near them have, discounted."""
    of = [rows.get(each, -1) for each in ids]
    owners = np.array([of[owner] for owner in near.owners], np.int64)
    others = np.array([rows.get(each, -1) for each in near.others], np.int64)
    pairs = np.flatnonzero((owners >= 0) & (others >= 0))
    if not len(pairs):
        return best
    owners, others, distances = owners[pairs], others[pairs], np.array(near.distances, np.float64)[pairs]
    factors = (DISCOUNT**distances).astype(np.float32)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    raised = best.copy()
    raised[owners[first]] = np.maximum(
        best[owners[first]], np.maximum.reduceat(best[others] * factors[:, None], first, axis=0)
    )
    return raised


def _near(index: LexicalIndex, ids: Sequence[str], checks: Checks) -> Near:
    """Those near in their threads that the caller may read and that are in force."""
    found = index.around(ids, REACH)
    if not found.keys:
        return NOBODY_NEAR
    names = index.named_by(set(found.keys))
    allowed = checks.wanted(names.values())
    near = Near([], [], [])
    for owner, key, distance in zip(found.owners, found.keys, found.distances, strict=True):
        other = names.get(key)
        if other in allowed:
            near.owners.append(owner)
            near.others.append(other)
            near.distances.append(distance)
    return near
