"""Pure scoring: lane scores in, one score per record out.

Weighted sum of scores normalised by their theoretical maximum (Bruch, Gai and Ingber, ACM TOIS 2023). Weights:
`docs/experiments/0002-scores.md`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Counts = NDArray[np.int64]
Score = TypeVar("Score", float, Scores)

HELD_WHOLLY = 0.9999
"""Coverage of a record with every word, but for rounding."""
BM25_WEIGHT = 0.45
"""As a share of the BM25 ceiling; the cosine has weight 1."""
COVERAGE_WEIGHT = 0.35
HELD_ONCE = 1 / 2.2
"""BM25 (k1 = 1.2) of one occurrence in an average text, as a share of its ceiling."""
HOLDING = BM25_WEIGHT * HELD_ONCE + COVERAGE_WEIGHT
CODE_NEARNESS, CODE_WORDS, CODE_TOKENS = 1.5, 0.375, 0.5
"""The token model was trained on prose."""
WORDS_ALONE = 1.5
BACKGROUND = 0.2
"""Cosine of unrelated texts under the default model."""
UNREAD = 0.5
"""The same for scripts unknown to the built-in model."""
UNREAD_BEST = 0.5
"""Evidence of equal vectors there: words that the model does not know are all alike to it."""
CHANCE = 0.12
"""Spread of the cosine among the passages of a text: the best of many is near by chance."""
TOKEN_CHANCE = 0.04
"""The same of the token match."""
SILENT, TELLING = 0.25, 0.4
"""Greatest coverage in the pool at which words begin to count, and count fully: fewer meet by chance."""
MOST_PASSAGES = 256

EXACT_EVIDENCE = 1.1
EXACTNESS = 16
"""Power of the coverage."""
DENSELY = 0.9
"""Share of `HELD_ONCE`."""
FEW = 3
"""So few records hold every word by no chance."""
EXACT_SHARE = 0.1

CALIBRATION = ((0.0, 0.0), (0.6, 0.3), (EXACT_EVIDENCE, 0.9), (1.8, 1.0))
"""Piecewise linear map from evidence to score."""

RRF_K = 60

NAMED = 0.98
"""Records whose name is the whole query score above."""

NEIGHBOUR_SHARE = 0.6
"""Times the squared score of its lead."""
FILED_SHARE = 0.3
"""The same for membership or hubs."""
NEIGHBOUR_BONUS = 0.2
"""See `lifted`."""
RECENCY_BONUS = 0.2
DATED_BONUS = 0.2
DATED_AMONG = 200
"""1 ms, against 5 for a large pool."""
TOKEN_WEIGHT = 3.0
"""The cosine has weight 1."""
THREAD_TOKENS = 20.0
"""The same in threads, for the order alone."""
SPOKEN = 0.25
"""Bonus for the named speaker."""
ALIKE_SHARE = 0.4
REPEATED = 0.05
"""Penalty for a candidate like a better one, times their cosine."""
WEAKEST = ((0.5, 0.1), (0.6, 0.2), (0.7, 0.5), (0.85, 1.0))
"""Piecewise linear map from the worst token match of the best record to the greatest score."""
UNKNOWN = 0.7
"""Penalty if the query is an unknown name with a number, from the share `MOSTLY` on."""
MOSTLY = 0.5
CITED_AMONG = 200
USAGE_BONUS = 0.1
USAGE_HALF = 2.0
"""Weight of citations that gives half of the bonus."""


@dataclass(frozen=True, slots=True, eq=False)
class ThreadContext:
    is_threaded: NDArray[np.bool_]
    share: Scores
    """Idf-weighted share of query terms that only neighbours hold."""
    is_spoken: NDArray[np.bool_] | None = None
    """None if the query names no speaker."""


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    places: NDArray[np.int64]
    shares: Scores
    """(places, places): rows sum to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Evidence beside the lanes; one row per record, None if unknown."""

    context: ThreadContext | None = None
    token_match: Scores | None = None
    """Relative to the average candidate; 0 where unknown."""
    is_code: NDArray[np.bool_] | None = None
    is_scattered: NDArray[np.bool_] | None = None
    """Code that holds every word, but not as a phrase."""
    alike: Alike | None = None
    date_share: Scores | None = None
    unrelated: float = BACKGROUND
    is_unread: bool = False
    """The script gives token matches an order, but no certainty."""
    passages: Counts | None = None
    rarities: Sequence[float] = ()
    """Inverse document frequency of each term of the query."""
    asks: bool = True
    """False for a text that is compared: its words count whatever their share."""


NO_SIGNALS = Signals()


def fuse(
    lexical: Scores, coverage: Scores, cosine: Scores, *, ceiling: float, dense: bool, signals: Signals = NO_SIGNALS
) -> Scores:
    """Return the fused score of each record, 0 to 1.

    BM25 and cosine are NaN where their lane did not find the record. `ceiling` is the largest possible BM25.
    """
    strength = _strength(lexical, ceiling)
    if signals.passages is not None and signals.asks:
        by_date = 0.0 if signals.date_share is None else signals.date_share
        held = beyond_chance(_held(coverage, signals), signals.rarities, signals.passages)
        coverage = np.maximum(held - by_date, 0.0)
    held, density = _held(coverage, signals), _density(strength, coverage)
    words, is_code = _words(strength, coverage, signals), signals.is_code
    telling = float(np.interp(held.max(initial=0.0), (SILENT, TELLING), (0.0, 1.0))) if signals.asks else 1.0
    if is_code is not None and signals.context is not None:
        is_code = is_code & ~signals.context.is_threaded
    if dense:
        by_chance = 0.0 if signals.passages is None else CHANCE * expected_best(signals.passages)
        near = _nearness(cosine - by_chance, signals.unrelated)
        evidence = near + telling * words
        if is_code is not None:
            stretched = BACKGROUND + CODE_NEARNESS * (near - BACKGROUND)
            evidence = np.where(is_code, stretched + CODE_WORDS * telling * words, evidence)
    else:
        evidence = WORDS_ALONE * words
    if signals.token_match is not None:
        evidence = _with_tokens(evidence, telling * signals.token_match, signals, is_code)
    if signals.alike is not None:
        evidence = _smoothed(evidence, signals.alike, held * density < HELD_WHOLLY)
    return calibrated(np.maximum(evidence, _exact(held, density, evidence, signals)))


def beyond_chance(coverage: Scores, rarities: Sequence[float], passages: Counts) -> Scores:
    """Correct the coverage of long texts for chance; 1 stays 1 (Cohen's kappa, 1960).

    A term of inverse document frequency i is in a passage with probability exp(-i). One passage gains nothing by
    chance.
    """
    idf = np.array(rarities, np.float64)
    if not len(coverage) or not idf.sum() > 0:
        return coverage
    absent, passages = 1.0 - np.exp(-idf), np.minimum(passages, MOST_PASSAGES)
    expected = np.array([idf @ (absent - absent ** max(n, 1)) for n in range(passages.max() + 1)])[passages] / idf.sum()
    beyond: Scores = np.maximum((coverage - expected) / (1.0 - expected), 0.0)
    return beyond


def by_words(lexical: Scores, coverage: Scores, ceiling: float, signals: Signals) -> Scores:
    """Return the evidence of the words alone, of each record and its neighbours."""
    return _words(_strength(lexical, ceiling), coverage, signals)


def _words(strength: Scores, coverage: Scores, signals: Signals) -> Scores:
    words: Scores = BM25_WEIGHT * strength + COVERAGE_WEIGHT * coverage
    if signals.date_share is not None:
        words += HOLDING * signals.date_share
    if signals.context is not None:
        words += HOLDING * np.minimum(signals.context.share, 1.0 - _held(coverage, signals))
    return words


def _held(coverage: Scores, signals: Signals) -> Scores:
    return coverage if signals.date_share is None else np.minimum(coverage + signals.date_share, 1.0)


def _with_tokens(evidence: Scores, match: Scores, signals: Signals, is_code: NDArray[np.bool_] | None) -> Scores:
    weighed = match if is_code is None else np.where(is_code, CODE_TOKENS * match, match)
    matched = np.maximum(evidence + TOKEN_WEIGHT * weighed, 0.0)
    evidence = _reordered(evidence, matched, match != 0) if signals.is_unread else matched
    if signals.context is None:
        return evidence
    order = evidence + (THREAD_TOKENS - TOKEN_WEIGHT) * match
    if signals.context.is_spoken is not None:
        order += SPOKEN * signals.context.is_spoken
    return _reordered(evidence, order, signals.context.is_threaded & (match != 0))


def _exact(held: Scores, density: Scores, evidence: Scores, signals: Signals) -> Scores:
    exact: Scores = EXACT_EVIDENCE * density * held**EXACTNESS + EXACT_SHARE * evidence
    is_scattered, context = signals.is_scattered, signals.context
    if is_scattered is None:
        return exact
    return np.where(is_scattered if context is None else is_scattered & ~context.is_threaded, 0.0, exact)


def expected_best(counts: Counts) -> Scores:
    """Return the expected maximum of so many standard normal values (Blom 1958)."""
    expected: Scores = _EXPECTED[np.clip(counts, 0, MOST_PASSAGES)]
    return expected


_EXPECTED = np.array([0.0, *(NormalDist().inv_cdf((n - 0.375) / (n + 0.25)) for n in range(1, MOST_PASSAGES + 1))])


def _nearness(cosine: Scores, unrelated: float) -> Scores:
    if unrelated != BACKGROUND:
        cosine = BACKGROUND + (cosine - unrelated) * (UNREAD_BEST - BACKGROUND) / (1 - unrelated)
    near = np.maximum(cosine, 0.0)
    found = near[~np.isnan(near)]
    absent = min(float(found.min()), BACKGROUND) if len(found) else 0.0
    return np.where(np.isnan(near), absent, near)


def _smoothed(evidence: Scores, alike: Alike, is_open: NDArray[np.bool_]) -> Scores:
    own, order, among = evidence[alike.places], evidence.copy(), np.zeros(len(evidence), np.bool_)
    order[alike.places] = own + ALIKE_SHARE * (alike.shares @ own - own)
    among[alike.places] = True
    return _reordered(evidence, order, among & is_open)


def _reordered(evidence: Scores, order: Scores, among: NDArray[np.bool_]) -> Scores:
    places = np.flatnonzero(among)
    turned = evidence.copy()
    turned[places[np.argsort(-order[places], kind="stable")]] = np.sort(evidence[places])[::-1]
    return turned


def fused_by_rank(lanes: Iterable[NDArray[np.int64]]) -> Scores:
    """Fuse lanes by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009); rank 0 is absent."""
    shares = [np.where(ranks > 0, (RRF_K + 1) / (RRF_K + ranks), 0.0) for ranks in lanes]
    scores: Scores = np.sum(shares, axis=0) / len(shares)
    return scores


def _strength(lexical: Scores, ceiling: float) -> Scores:
    # Clipped first: division by a tiny ceiling would be infinite.
    return np.minimum(np.nan_to_num(lexical), ceiling) / ceiling if ceiling > 0 else np.zeros(len(lexical))


def _density(strength: Scores, coverage: Scores) -> Scores:
    enough, is_whole = DENSELY * HELD_ONCE * coverage, coverage >= HELD_WHOLLY
    # Not counting the record itself, so that gaining a word never lowers its score.
    has_others = is_whole.sum() - is_whole >= FEW
    return np.divide(np.minimum(strength, enough), enough, out=np.ones_like(enough), where=has_others & (enough > 0))


def calibrated(evidence: Scores) -> Scores:
    points = np.array(CALIBRATION)
    scores: Scores = np.interp(evidence, points[:, 0], points[:, 1])
    return scores


def lifted(score: Score, share: Score) -> Score:
    """Add `share * score * (1 - score)`: monotone, within 0 and 1, largest for doubtful scores."""
    return score + share * score * (1 - score)


def doubted(scores: Scores, best: float, unknown: float, weakest: float | None) -> Scores:
    """Lower all scores for an unknown name, and so that the best is no better than its weakest token match allows."""
    share = 1.0 if unknown < MOSTLY else 1 - UNKNOWN * unknown
    if weakest is not None and best > 0:
        points = np.array(WEAKEST)
        share *= min(1.0, float(np.interp(weakest, points[:, 0], points[:, 1])) / best)
    return np.round(share * scores, 6)


def set_apart(scores: Scores, is_named: NDArray[np.bool_]) -> Scores:
    """Move records whose name is the whole query above `NAMED`, all others below."""
    above = NAMED + (1 - NAMED) * scores
    exact = CALIBRATION[2][1]
    below = np.interp(scores, (0.0, exact, 1.0), (0.0, exact, NAMED))
    apart: Scores = np.where(is_named, above, below)
    return apart


def recency(age_s: Scores, decay_days: float) -> Scores:
    """Return 1 for the present and future, halving every `decay_days`."""
    # Divided in two steps, since a tiny number of days would underflow to 0 seconds.
    with np.errstate(over="ignore"):
        periods = np.maximum(age_s, 0.0) / 86_400 / decay_days
    return np.exp2(-periods)


def neighbourly(scores: Scores, leads: Scores, telling: NDArray[np.bool_], known: NDArray[np.bool_]) -> Scores:
    """Score graph neighbours by their leads.

    `known` neighbours were found by another lane, too.
    """
    shares = np.where(telling, NEIGHBOUR_SHARE, np.where(known, 0.0, FILED_SHARE))
    linked: Scores = np.maximum(lifted(scores, NEIGHBOUR_BONUS * leads), shares * leads**2)
    return linked


def usage_share(weight: Scores) -> Scores:
    share: Scores = USAGE_BONUS * weight / (weight + USAGE_HALF)
    return share


def ranked(ids: Sequence[str], scores: Scores, count: int, *, newest: Sequence[Scores] = ()) -> list[int]:
    """Return the best places; ties by later time, then id, so that pages never overlap."""
    last = np.partition(scores, -count)[-count] if 0 < count < len(ids) else -np.inf
    best = np.flatnonzero(scores >= last)
    ties = (np.array([ids[place] for place in best.tolist()]), *(-times[best] for times in reversed(newest)))
    places: list[int] = best[np.lexsort((*ties, -scores[best]))][:count].tolist()
    return places
