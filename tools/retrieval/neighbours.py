"""Thread context: candidates borrow words from their neighbours, which become candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stores.language.speakers import NOBODY, asked_about
from stores.lexical import Alongside, HeldTerms, LexicalIndex, LexicalResult, key_of
from tools.retrieval.checks import Checks
from tools.retrieval.plan import LEADING, RADIUS, Plan
from tools.retrieval.pool import Places, Pool
from tools.retrieval.scoring import HELD_ONCE, Scores, ThreadContext

DEEP = 200
DISCOUNT = 0.7
"""Weight of a word one position away; two away its square."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    owners: Places
    marks: Places
    factors: Values


def thread_context(
    index: LexicalIndex, plan: Plan, pool: Pool, best: Sequence[int], checks: Checks, words: LexicalResult
) -> ThreadContext | None:
    """Compute the share of the query that only neighbours of the best hold; None without any.

    Adds the neighbours of the very best to the pool. Hidden ones are ignored.
    """
    places = np.array(best, np.int64)
    found = [pool.ids[place] for place in best]
    known = set(pool.ids)
    ids = [*found, *(each for each in _next_to(index, found[:LEADING]) if each not in known)]
    near = index.around(ids, RADIUS)
    if not near.keys:
        return None
    checks.expect([*pool.ids, *ids])
    held = index.held(words, filter=plan.prefilter)
    own = np.array(held.of(map(key_of, ids)), np.int64)
    pairs = _pairs(index, near, held, own, checks)
    if not len(pairs.owners):
        return None
    # In the order of the ranking: sets have none.
    wanted = checks.wanted(found[:LEADING])
    leading = [each for each in found[:LEADING] if each in wanted]
    brought = checks.wanted(_next_to(index, leading)) - known
    is_kept = np.array([each in known or each in brought for each in ids], np.bool_)
    new = [each for each in ids if each in brought]
    places = np.concatenate([places, pool.add(new)])
    is_threaded, share = np.zeros(len(pool.ids), np.bool_), np.zeros(len(pool.ids))
    has_neighbour = np.zeros(len(ids), np.bool_)
    has_neighbour[pairs.owners] = True
    is_threaded[places] = has_neighbour[is_kept]
    share[places] = _lent(pairs, held, own)[is_kept]
    shares: Scores = np.minimum(_bits(own, held) @ np.array(held.shares, np.float64), 1.0)
    _note_held(pool, places, shares[is_kept], words.ceiling)
    _note_lane(pool, share, places[len(found) :])
    return ThreadContext(is_threaded, share, _spoken(index, plan, pool, is_threaded, checks))


def _spoken(
    index: LexicalIndex, plan: Plan, pool: Pool, is_threaded: NDArray[np.bool_], checks: Checks
) -> NDArray[np.bool_] | None:
    places = np.flatnonzero(is_threaded)
    ids = [pool.ids[place] for place in places]
    allowed, numbers = checks.found(ids), index.speakers_of(ids)
    speakers = {number for each, number in zip(ids, numbers, strict=True) if number != NOBODY and each in allowed}
    about = asked_about(plan.query, speakers)
    if not about:
        return None
    spoken = np.zeros(len(pool.ids), np.bool_)
    spoken[places] = [number in about and each in allowed for each, number in zip(ids, numbers, strict=True)]
    return spoken


def _next_to(index: LexicalIndex, record_ids: Sequence[str]) -> list[str]:
    keys = index.around(record_ids, RADIUS).keys
    names = index.named_by(set(keys))
    return list(dict.fromkeys(names[key] for key in keys if key in names))


def _pairs(index: LexicalIndex, near: Alongside, held: HeldTerms, own: Places, checks: Checks) -> Pairs:
    owners, keys = np.array(near.owners, np.int64), np.array(near.keys, np.int64)
    marks, distances = np.array(held.of(near.keys), np.int64), np.array(near.distances, np.int64)
    chosen = np.flatnonzero((marks & ~own[owners] != 0) | (distances == 1))
    found = keys[chosen].tolist()
    names = index.named_by(set(found))
    allowed = checks.wanted(names.values())
    kept = chosen[np.array([names.get(key) in allowed for key in found], np.bool_)]
    return Pairs(owners[kept], marks[kept], DISCOUNT ** distances[kept].astype(np.float64))


def _lent(pairs: Pairs, held: HeldTerms, own: Places) -> Scores:
    best = np.zeros((len(own), len(held.shares)))
    first = np.flatnonzero(np.diff(pairs.owners, prepend=-1))
    values = _bits(pairs.marks, held) * pairs.factors[:, None]
    best[pairs.owners[first]] = np.maximum.reduceat(values, first, axis=0)
    lent: Scores = (best * (1 - _bits(own, held))) @ np.array(held.shares, np.float64)
    return lent


def _bits(marks: Places, held: HeldTerms) -> Values:
    return (marks[:, None] >> np.arange(len(held.shares) - 1, -1, -1) & 1).astype(np.float64)


def _note_held(pool: Pool, places: Places, coverage: Scores, ceiling: float) -> None:
    unknown = np.isnan(pool.lexical[places]) & (coverage > 0)
    found = places[unknown]
    pool.coverage[found] = coverage[unknown]
    pool.lexical[found] = HELD_ONCE * ceiling * coverage[unknown]


def _note_lane(pool: Pool, share: Scores, brought: Places) -> None:
    lent = np.union1d(np.flatnonzero(share > 0), brought).tolist()
    order = sorted(lent, key=lambda place: (-share[place], pool.ids[place]))
    pool.ranks["thread"][order] = np.arange(1, len(order) + 1)
