"""What was captured next to a candidate in its thread lends it the words that it lacks itself."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stores.lexical import Alongside, HeldTerms, LexicalIndex, LexicalResult, key_of
from tools.retrieval.checks import Checks
from tools.retrieval.plan import Plan
from tools.retrieval.pool import Places, Pool
from tools.retrieval.scoring import HELD_ONCE, Beside, Scores, ranked

DEEP = 200
"""Best candidates whose threads are looked at."""
RADIUS = 2
"""Places before and after a record that lend it their words."""
DISCOUNT = 0.7
"""What a word counts for one place away, as a share of what it counts in the record; two places away its square."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Candidates and permitted records near them, those of one candidate together."""

    owners: Places
    """Places of candidates among those asked about."""
    marks: Places
    """What the neighbours hold, a bit for each term."""
    factors: Values


def beside(index: LexicalIndex, plan: Plan, pool: Pool, checks: Checks, words: LexicalResult) -> Beside | None:
    """Tell what share of the question the neighbours of the best candidates hold of which these hold nothing.

    A neighbour that the caller may not read, that the filter leaves out or that is no longer in force lends nothing.
    None where no candidate has a neighbour.
    """
    places = np.array(ranked(pool.ids, pool.fused, DEEP), np.int64)
    ids = [pool.ids[place] for place in places.tolist()]
    near = index.around(ids, RADIUS)
    if not near.keys:
        return None
    held = index.held(words, filter=plan.prefilter)
    own = np.array(held.of(map(key_of, ids)), np.int64)
    pairs = _pairs(index, near, held, own, checks)
    if not len(pairs.owners):
        return None
    is_threaded, share = np.zeros(len(pool.ids), np.bool_), np.zeros(len(pool.ids))
    is_threaded[places[pairs.owners]] = True
    share[places] = _lent(pairs, held, own)
    _note_held(pool, places, _shares_of(own, held), words.ceiling)
    _note_lane(pool, share)
    return Beside(is_threaded, share)


def _pairs(index: LexicalIndex, near: Alongside, held: HeldTerms, own: Places, checks: Checks) -> Pairs:
    """Keep the permitted neighbours: the next ones, and of the others those that hold what the candidate lacks."""
    owners, keys = np.array(near.owners, np.int64), np.array(near.keys, np.int64)
    marks, distances = np.array(held.of(near.keys), np.int64), np.array(near.distances, np.int64)
    chosen = np.flatnonzero((marks & ~own[owners] != 0) | (distances == 1))
    found = keys[chosen].tolist()
    names = index.named_by(set(found))
    allowed = checks.wanted(names.values())
    kept = chosen[np.array([names.get(key) in allowed for key in found], np.bool_)]
    return Pairs(owners[kept], marks[kept], DISCOUNT ** distances[kept].astype(np.float64))


def _lent(pairs: Pairs, held: HeldTerms, own: Places) -> Scores:
    """For each candidate the share of the terms that it lacks, each with the factor of the nearest that holds it."""
    best = np.zeros((len(own), len(held.shares)))
    first = np.flatnonzero(np.diff(pairs.owners, prepend=-1))
    values = _bits(pairs.marks, held) * pairs.factors[:, None]
    best[pairs.owners[first]] = np.maximum.reduceat(values, first, axis=0)
    lent: Scores = (best * (1 - _bits(own, held))) @ np.array(held.shares, np.float64)
    return lent


def _shares_of(marks: Places, held: HeldTerms) -> Scores:
    shares: Scores = np.minimum(_bits(marks, held) @ np.array(held.shares, np.float64), 1.0)
    return shares


def _bits(marks: Places, held: HeldTerms) -> Values:
    """1 for each term that a record holds, the first term first."""
    return (marks[:, None] >> np.arange(len(held.shares) - 1, -1, -1) & 1).astype(np.float64)


def _note_held(pool: Pool, places: Places, coverage: Scores, ceiling: float) -> None:
    """Note what candidates hold that the lexical lane did not find, as if once in a text of usual length."""
    unknown = np.isnan(pool.lexical[places]) & (coverage > 0)
    found = places[unknown]
    pool.coverage[found] = coverage[unknown]
    pool.lexical[found] = HELD_ONCE * ceiling * coverage[unknown]


def _note_lane(pool: Pool, share: Scores) -> None:
    """Rank the candidates to which neighbours lend words."""
    lent = np.flatnonzero(share > 0).tolist()
    order = sorted(lent, key=lambda place: (-share[place], pool.ids[place]))
    pool.ranks["thread"][order] = np.arange(1, len(order) + 1)
