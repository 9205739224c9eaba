"""Pure scoring: lane scores in, one score per record out. No I/O, no clock.

Lanes are fused by a weighted sum of normalised scores. They are normalised by the maximum that the query could reach,
not by its best hit (theoretical min-max: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval",
ACM TOIS 2023), so that scores compare between queries. The weights were chosen on four labelled collections; figures
are in `docs/experiments/0002-scores.md`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tools.retrieval.ranking import HELD_WHOLLY

Scores = NDArray[np.float64]
Score = TypeVar("Score", float, Scores)

BM25_WEIGHT = 0.6
"""Weight of BM25 as a share of its ceiling; the cosine has weight 1."""
COVERAGE_WEIGHT = 0.2
HELD_ONCE = 1 / 2.2
"""BM25 (k1 = 1.2) of a term that occurs once in a text of average length, as a share of its ceiling."""
HOLDING = BM25_WEIGHT * HELD_ONCE + COVERAGE_WEIGHT
"""Evidence of holding all terms once."""
THREAD_WORDS, THREAD_NEARNESS = 1.4, 0.7
"""In threads words count more and cosines less, because a single turn has little meaning; the maximum is the same."""
CODE_NEARNESS, CODE_WORDS, CODE_TOKENS = 1.5, 0.375, 0.5
"""In code cosines above the background count more, words less, and the token model, trained on prose, half."""
CODE_BACK = 0.5
"""Weight of how well the query matches the tokens of code: code that does more than was asked for has other tokens."""
WORDS_ALONE = 2.0
"""Weight of words without vectors."""
BACKGROUND = 0.2
"""Cosine of unrelated texts under the default model. Records outside of the dense lane get its last cosine, at most
this one."""
UNREAD = 0.5
"""The same for queries in scripts that the built-in model was not trained on: all texts of a script are similar."""

EXACT_EVIDENCE = 1.1
EXACTNESS = 16
"""Power of the coverage that separates holding every word from holding most of them."""
DENSELY = 0.9
"""A text is dense in the query's words from this share of `HELD_ONCE` on."""
FEW = 3
"""Up to so many records hold every word of a query by no chance, however long they are."""
EXACT_SHARE = 0.1
"""Weight of the evidence among records that hold every word."""

CALIBRATION = ((0.0, 0.0), (0.6, 0.3), (EXACT_EVIDENCE, 0.9), (1.8, 1.0))
"""Piecewise linear map from evidence to score. Off-topic hits stay below the second point, records that hold every word
reach the third, and the last is the maximum of all lanes."""

RRF_K = 60

NAMED = 0.98
"""Records whose name is the whole query score above it, all others below."""

NEIGHBOUR_SHARE = 0.6
"""A graph neighbour scores at least this share of the squared score of its lead: worth showing beside a certain hit,
not beside a doubtful one."""
FILED_SHARE = 0.3
"""The same for neighbours by membership or of a hub, if no other lane has found them."""
NEIGHBOUR_BONUS = 0.2
"""Largest lift for being linked to a good hit, times its score; see `lifted`."""
RECENCY_BONUS = 0.2
DATED_BONUS = 0.2
DATED_AMONG = 200
"""Candidates whose event times are looked up: 1 ms, against 5 for a whole large pool."""
TOKEN_WEIGHT = 3.0
"""Weight of the mean best match of the query's tokens, relative to the average candidate; the cosine has weight 1."""
THREAD_TOKENS = 20.0
"""The same in threads, for the order alone: such a weight would lift the best of bad candidates, too."""
SPOKEN = 0.25
"""Added to the order in threads for records of the speaker that the query is about."""
ALIKE_SHARE = 0.4
"""Share of a candidate's order outside of threads that comes from similar candidates."""
UNKNOWN = 0.7
"""Penalty on all scores if the whole query is a name with a number that no record has; scaled by the name's share of
the query, from this share on:"""
MOSTLY = 0.5
USAGE_BONUS = 0.1
USAGE_HALF = 2.0
"""Weight of citations that gives half of the bonus; one user's weigh at most 1."""


@dataclass(frozen=True, slots=True, eq=False)
class ThreadContext:
    """Words that records in threads borrow from their neighbours; one row per record."""

    is_threaded: NDArray[np.bool_]
    share: Scores
    """Discounted, idf-weighted share of the query's terms that only neighbours hold."""
    is_spoken: NDArray[np.bool_] | None = None
    """Said by the speaker that the query is about; None if it is about nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    places: NDArray[np.int64]
    shares: Scores
    """(places, places): weight of each candidate for each; rows sum to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """Evidence beside the lanes; one row per record, None if unknown."""

    context: ThreadContext | None = None
    token_match: Scores | None = None
    """Mean best match of the query's tokens, minus that of the average candidate; 0 where unknown."""
    code_match: Scores | None = None
    """Mean best match of the record's tokens; NaN where unknown."""
    is_code: NDArray[np.bool_] | None = None
    is_scattered: NDArray[np.bool_] | None = None
    """Code that holds every word of a prose query, but not as a phrase: no exact answer."""
    alike: Alike | None = None
    date_share: Scores | None = None
    """Share of the query that matches by event time instead of words."""
    unrelated: float = BACKGROUND
    is_unread: bool = False
    """The query is in a script in which token matches give an order, but no certainty."""


NO_SIGNALS = Signals()


def fuse(
    lexical: Scores, coverage: Scores, cosine: Scores, *, ceiling: float, dense: bool, signals: Signals = NO_SIGNALS
) -> Scores:
    """Return the fused score of each record, 0 to 1.

    BM25 and cosine are NaN where their lane did not find the record. `ceiling` is the BM25 that no record can exceed
    for this query; `dense` says whether there is a dense lane.
    """
    strength = _strength(lexical, ceiling)
    words, context, is_code = BM25_WEIGHT * strength + COVERAGE_WEIGHT * coverage, signals.context, signals.is_code
    held, density = coverage, _density(strength, coverage)
    if signals.date_share is not None:
        words += HOLDING * signals.date_share
        held = np.minimum(coverage + signals.date_share, 1.0)
    if context is not None:
        is_code = None if is_code is None else is_code & ~context.is_threaded
        words += HOLDING * (context.share if signals.date_share is None else np.minimum(context.share, 1.0 - held))
    if dense:
        near = _nearness(cosine, signals.unrelated)
        evidence = near + words
        if is_code is not None:
            stretched = BACKGROUND + CODE_NEARNESS * (near - BACKGROUND)
            evidence = np.where(is_code, stretched + CODE_WORDS * words, evidence)
        if context is not None:
            evidence = np.where(context.is_threaded, THREAD_NEARNESS * near + THREAD_WORDS * words, evidence)
    else:
        evidence = WORDS_ALONE * words
    if signals.token_match is not None:
        evidence = _with_tokens(evidence, signals.token_match, signals, is_code)
    if signals.alike is not None:
        evidence = _smoothed(evidence, signals.alike, held * density < HELD_WHOLLY)
    return calibrated(np.maximum(evidence, _exact(held, density, evidence, signals)))


def _with_tokens(evidence: Scores, match: Scores, signals: Signals, is_code: NDArray[np.bool_] | None) -> Scores:
    matched = np.maximum(evidence + TOKEN_WEIGHT * _matched(match, signals.code_match, is_code), 0.0)
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


def _nearness(cosine: Scores, unrelated: float) -> Scores:
    near = np.maximum(_beyond(cosine, unrelated), 0.0)
    return np.where(np.isnan(near), _absent_cosine(near), near)


def _beyond(cosine: Scores, unrelated: float) -> Scores:
    if unrelated == BACKGROUND:
        return cosine
    stretched: Scores = BACKGROUND + (cosine - unrelated) * (1 - BACKGROUND) / (1 - unrelated)
    return stretched


def _matched(match: Scores, code_match: Scores | None, is_code: NDArray[np.bool_] | None) -> Scores:
    if is_code is None:
        return match
    matched = match
    if code_match is not None and (known := is_code & ~np.isnan(code_match)).any():
        matched = match + CODE_BACK * np.where(known, code_match - code_match[known].mean(), 0.0)
    return np.where(is_code, CODE_TOKENS * matched, match)


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
    """Fuse lanes by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009), scaled to 1 for the first of each.

    Ranks begin at 1; 0 stands for a record that the lane did not find.
    """
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


def _absent_cosine(near: Scores) -> float:
    found = near[~np.isnan(near)]
    return min(float(found.min()), BACKGROUND) if len(found) else 0.0


def calibrated(evidence: Scores) -> Scores:
    """Map evidence to scores from 0 to 1, monotonically."""
    points = np.array(CALIBRATION)
    scores: Scores = np.interp(evidence, points[:, 0], points[:, 1])
    return scores


def lifted(score: Score, share: Score) -> Score:
    """Add `share * score * (1 - score)`: monotone in the score, within 0 and 1, largest for doubtful scores."""
    return score + share * score * (1 - score)


def doubted(scores: Scores, unknown: float) -> Scores:
    """Lower all scores if most of the query is a name that no record has."""
    return scores if unknown < MOSTLY else np.round(scores * (1 - UNKNOWN * unknown), 6)


def set_apart(scores: Scores, is_named: NDArray[np.bool_]) -> Scores:
    """Move records whose name is the whole query above `NAMED` and all others below it.

    Order is kept in both groups; only scores of exact answers change.
    """
    above = NAMED + (1 - NAMED) * scores
    exact = CALIBRATION[2][1]
    below = np.interp(scores, (0.0, exact, 1.0), (0.0, exact, NAMED))
    apart: Scores = np.where(is_named, above, below)
    return apart


def recency(age_s: Scores, decay_days: float) -> Scores:
    """Return 1 for a record of this moment, halving every `decay_days`; the future counts as present."""
    # Divided in two steps, since a tiny number of days would underflow to 0 seconds.
    with np.errstate(over="ignore"):
        periods = np.maximum(age_s, 0.0) / 86_400 / decay_days
    return np.exp2(-periods)


def neighbourly(scores: Scores, leads: Scores, telling: NDArray[np.bool_], known: NDArray[np.bool_]) -> Scores:
    """Score graph neighbours by the scores of the candidates that lead to them.

    `telling` marks those that are about their lead, `known` those that another lane has found as well.
    """
    shares = np.where(telling, NEIGHBOUR_SHARE, np.where(known, 0.0, FILED_SHARE))
    linked: Scores = np.maximum(lifted(scores, NEIGHBOUR_BONUS * leads), shares * leads**2)
    return linked


def usage_share(weight: Scores) -> Scores:
    """Return the bonus for citations of these weights (`tools/retrieval/usage.py`), saturating."""
    share: Scores = USAGE_BONUS * weight / (weight + USAGE_HALF)
    return share


def ranked(ids: Sequence[str], scores: Scores, count: int, *, newest: Sequence[Scores] = ()) -> list[int]:
    """Return the places of the best, best first; ties by later time, then smaller id, so that pages never overlap."""
    last = np.partition(scores, -count)[-count] if 0 < count < len(ids) else -np.inf
    best = np.flatnonzero(scores >= last)
    best = best[np.argsort(-scores[best], kind="stable")]
    places: list[int] = best.tolist()
    if (np.diff(scores[best]) < 0).all():
        return places[:count]
    return sorted(places, key=lambda place: (-scores[place], *(-times[place] for times in newest), ids[place]))[:count]
