"""Pure scoring: lane scores in, one comparable score per record out. No I/O, no clock.

Lanes are fused by a weighted sum of scores that are normalised by what the query could reach, not by its own best hit
(theoretical min-max normalisation: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM
TOIS 2023). So scores of different queries compare: an exact answer is near 1, an off-topic best hit stays low. The
weights were chosen on four labelled collections (`engrain eval`); the figures are in `docs/decisions/0002-scores.md`.
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
"""Of BM25 as a share of its ceiling; the cosine has weight 1."""
COVERAGE_WEIGHT = 0.2
HELD_ONCE = 1 / 2.2
"""The share of its ceiling that BM25 (k1 = 1.2) gives a term which a text of usual length holds once."""
HOLDING = BM25_WEIGHT * HELD_ONCE + COVERAGE_WEIGHT
"""What holding a share of the question once counts for, times that share."""
THREAD_WORDS, THREAD_NEARNESS = 1.4, 0.7
"""In a thread words count for more and nearness for less: alone, a turn of a conversation has little meaning. The most
that both can come to is the same."""
CODE_NEARNESS, CODE_WORDS, CODE_LATE = 1.5, 0.375, 0.5
"""In code nearness, above that of unrelated texts, counts for more, and words for less: few of those are people's own.
What the token by token model says, which has read prose, counts for half."""
CODE_BACK = 0.5
"""What counts beside that, as a share: how well the tokens of code are matched by those of the question. What does more
than was asked for has other tokens as well."""
WORDS_ALONE = 2.0
"""What the words' evidence counts for when there are no vectors."""
BACKGROUND = 0.2
"""A record outside of the dense lane is taken to be as near as the lane's last hit, and no nearer than unrelated texts
under the default model are."""

UNREAD = 0.5
"""The cosine that stands for as much in a question of letters that the built-in model has not read: all of a script is
alike to it."""

EXACT_EVIDENCE = 1.1
EXACTNESS = 16
"""The power of the coverage that tells holding every word from holding most of them."""
DENSELY = 0.9
"""From which share of what holding the words once in a text of usual length scores on, a record holds them densely."""
FEW = 3
"""So many records hold every word of a question by no chance, however long they are."""
EXACT_SHARE = 0.1
"""How much the evidence still tells among records that hold every word."""

CALIBRATION = ((0.0, 0.0), (0.6, 0.3), (EXACT_EVIDENCE, 0.9), (1.8, 1.0))
"""From evidence to score: the best hit of an off-topic query stays below the second point, records that hold every word
reach the third, and the last is every lane's maximum. Straight in between."""

RRF_K = 60

NAMED = 0.98
"""Records whose name is the whole question score above it, all others below."""

NEIGHBOUR_SHARE = 0.6
"""A neighbour scores at least this share of the squared score of the candidate that led to it: beside a certain answer
it is worth showing, beside a doubtful one it is not."""
FILED_SHARE = 0.3
"""The same for what is merely filed with it or one of many, where no other lane has found it."""
NEIGHBOUR_BONUS = 0.2
"""How far being linked to one of the best can lift a score, times that one's score; see `lifted`."""
RECENCY_BONUS = 0.2
"""How far being new can lift a score; see `lifted`."""
DATED_BONUS = 0.2
"""How far it can lift a score to tell of the days that the question names; see `lifted`."""
DATED_AMONG = 200
"""Best candidates of which it is looked up when they happened: a millisecond, and five for all of a large pool."""
LATE_WEIGHT = 3.0
"""Of the mean best match of the question's tokens, above what the best candidates have on average; the cosine has
weight 1."""
THREAD_LATE = 20.0
"""The same among records in threads, for their order alone: so much of it would lift the best of bad ones, too."""
SPOKEN = 0.25
"""Added to what orders records in threads where they are said by whom the question asks about."""
ALIKE_SHARE = 0.4
"""Of the evidence that orders the best candidates outside of threads, what comes from those that each is most like."""
UNKNOWN = 0.7
"""By how much scores fall where the whole question is a name with a number that nobody wrote down, and by its share of
that where it is at least so much of the question:"""
MOSTLY = 0.5
USAGE_BONUS = 0.1
"""How far having been cited can lift a score; see `lifted`."""
USAGE_HALF = 2.0
"""The weight of citations that gives half of the bonus: one user's weigh at most 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """What the neighbours of records in threads lend them, one row per record."""

    is_threaded: NDArray[np.bool_]
    share: Scores
    """The idf-weighted share of the query's terms that neighbours hold and the record does not, discounted."""
    is_spoken: NDArray[np.bool_] | None = None
    """Which are said by whom the question asks about; None where it asks about nobody."""


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Which of the best candidates say alike things."""

    places: NDArray[np.int64]
    """Of these candidates, among all."""
    shares: Scores
    """(places, places): how much of what each takes over comes from each; every line sums to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Lent:
    """What is known of candidates beyond what the lanes say."""

    beside: Beside | None = None
    late: Scores | None = None
    """How much better the question's tokens match those of a record than they match the best candidates on average;
    0 where that is not known."""
    is_code: NDArray[np.bool_] | None = None
    """Of which records the content is code; None where that is not known."""
    is_loose: NDArray[np.bool_] | None = None
    """Of which records the content is code that does not say the question as it is asked; None where there are none.
    The words of prose stand all over many a function: that it holds every one of them makes none an exact answer."""
    alike: Alike | None = None
    """None where the best candidates were not held against each other."""
    back: Scores | None = None
    """How well the tokens of a record are matched by those of the question; not a number where that is not known."""
    unrelated: float = BACKGROUND
    """The cosine that unrelated texts may have; more than usual where the default model cannot read the question."""
    is_unread: bool = False
    """Whether the question is in letters of which matches of tokens tell an order, and not how good an answer is."""
    told: Scores | None = None
    """The share of the question that is told by when it happened, and not by words; None where it is 0 for all."""


NOTHING_LENT = Lent()


def fuse(
    lexical: Scores, coverage: Scores, cosine: Scores, *, ceiling: float, dense: bool, lent: Lent = NOTHING_LENT
) -> Scores:
    """Return the fused score of each record, 0 to 1.

    The columns have one row per record; BM25 and cosine are not a number where their lane did not find the record.
    `ceiling` is the BM25 that no record can exceed for this query; without `dense` there is no dense lane.
    """
    strength = _strength(lexical, ceiling)
    words, beside, is_code = BM25_WEIGHT * strength + COVERAGE_WEIGHT * coverage, lent.beside, lent.is_code
    held, density = coverage, _density(strength, coverage)
    if lent.told is not None:
        words += HOLDING * lent.told
        held = np.minimum(coverage + lent.told, 1.0)
    if beside is not None:
        is_code = None if is_code is None else is_code & ~beside.is_threaded
        words += HOLDING * (beside.share if lent.told is None else np.minimum(beside.share, 1.0 - held))
    if dense:
        near = _nearness(cosine, lent.unrelated)
        evidence = near + words
        if is_code is not None:
            stretched = BACKGROUND + CODE_NEARNESS * (near - BACKGROUND)
            evidence = np.where(is_code, stretched + CODE_WORDS * words, evidence)
        if beside is not None:
            evidence = np.where(beside.is_threaded, THREAD_NEARNESS * near + THREAD_WORDS * words, evidence)
    else:
        evidence = WORDS_ALONE * words
    if lent.late is not None:
        matched = np.maximum(evidence + LATE_WEIGHT * _matched(lent.late, lent.back, is_code), 0.0)
        evidence = _reordered(evidence, matched, lent.late != 0) if lent.is_unread else matched
        if beside is not None:
            order = evidence + (THREAD_LATE - LATE_WEIGHT) * lent.late
            if beside.is_spoken is not None:
                order += SPOKEN * beside.is_spoken
            evidence = _reordered(evidence, order, beside.is_threaded & (lent.late != 0))
    if lent.alike is not None:
        evidence = _drawn_together(evidence, lent.alike, held * density < HELD_WHOLLY)
    return calibrated(np.maximum(evidence, _exact(held, density, evidence, lent)))


def _exact(held: Scores, density: Scores, evidence: Scores, lent: Lent) -> Scores:
    """What records count for as exact answers, by how much of the question's words they hold."""
    exact: Scores = EXACT_EVIDENCE * density * held**EXACTNESS + EXACT_SHARE * evidence
    if lent.is_loose is None:
        return exact
    is_loose = lent.is_loose if lent.beside is None else lent.is_loose & ~lent.beside.is_threaded
    return np.where(is_loose, 0.0, exact)


def _nearness(cosine: Scores, unrelated: float) -> Scores:
    near = np.maximum(_beyond(cosine, unrelated), 0.0)
    return np.where(np.isnan(near), _absent_cosine(near), near)


def _beyond(cosine: Scores, unrelated: float) -> Scores:
    """Stretch cosines so that what unrelated texts have counts as it does else, and a cosine of 1 stays."""
    if unrelated == BACKGROUND:
        return cosine
    stretched: Scores = BACKGROUND + (cosine - unrelated) * (1 - BACKGROUND) / (1 - unrelated)
    return stretched


def _matched(late: Scores, back: Scores | None, is_code: NDArray[np.bool_] | None) -> Scores:
    """How much better records match token by token, by what is told of each kind."""
    if is_code is None:
        return late
    matched = late
    if back is not None and (known := is_code & ~np.isnan(back)).any():
        matched = late + CODE_BACK * np.where(known, back - back[known].mean(), 0.0)
    return np.where(is_code, CODE_LATE * matched, late)


def _drawn_together(evidence: Scores, alike: Alike, is_open: NDArray[np.bool_]) -> Scores:
    """Put candidates into the order that they have when each takes over some evidence of those that it is like.

    What is not open, since it holds the whole question, lends and keeps its own.
    """
    own, order, among = evidence[alike.places], evidence.copy(), np.zeros(len(evidence), np.bool_)
    order[alike.places] = own + ALIKE_SHARE * (alike.shares @ own - own)
    among[alike.places] = True
    return _reordered(evidence, order, among & is_open)


def _reordered(evidence: Scores, order: Scores, among: NDArray[np.bool_]) -> Scores:
    """Put some of the records into another order: the first has the most evidence that any of them had, and so on."""
    places = np.flatnonzero(among)
    turned = evidence.copy()
    turned[places[np.argsort(-order[places], kind="stable")]] = np.sort(evidence[places])[::-1]
    return turned


def fused_by_rank(lanes: Iterable[NDArray[np.int64]]) -> Scores:
    """Join lanes by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009): what is first in each has 1.

    The columns have one row per record; a rank is at least 1, and 0 where the lane did not find the record. A lane
    counts as much as any other, whatever its scores; so these tell an order, and not how good an answer is.
    """
    shares = [np.where(ranks > 0, (RRF_K + 1) / (RRF_K + ranks), 0.0) for ranks in lanes]
    scores: Scores = np.sum(shares, axis=0) / len(shares)
    return scores


def _strength(lexical: Scores, ceiling: float) -> Scores:
    """BM25 as a share of its ceiling."""
    # Cut off first: what is divided by the smallest of numbers would be infinite.
    return np.minimum(np.nan_to_num(lexical), ceiling) / ceiling if ceiling > 0 else np.zeros(len(lexical))


def _density(strength: Scores, coverage: Scores) -> Scores:
    """How densely each record holds what it holds of the words, from 0 to 1; 1 where few others hold all of them.

    A page holds every word of many a question somewhere; words that few records hold are no chance.
    """
    enough, is_whole = DENSELY * HELD_ONCE * coverage, coverage >= HELD_WHOLLY
    # Of the others, so that no record falls as it comes to hold every word itself.
    has_others = is_whole.sum() - is_whole >= FEW
    return np.divide(np.minimum(strength, enough), enough, out=np.ones_like(enough), where=has_others & (enough > 0))


def _absent_cosine(near: Scores) -> float:
    found = near[~np.isnan(near)]
    return min(float(found.min()), BACKGROUND) if len(found) else 0.0


def calibrated(evidence: Scores) -> Scores:
    """Map evidence to scores from 0 to 1; a score rises wherever evidence does."""
    points = np.array(CALIBRATION)
    scores: Scores = np.interp(evidence, points[:, 0], points[:, 1])
    return scores


def lifted(score: Score, share: Score) -> Score:
    """Raise a score by up to a share (0 to 1) of what separates it from certainty either way.

    It rises wherever the score does and stays within 0 and 1, so a bonus never makes two scores equal; it moves the
    doubtful ones most, and hardly lifts what is off topic.
    """
    return score + share * score * (1 - score)


def doubted(scores: Scores, unknown: float) -> Scores:
    """Lower all scores where most of the question names what nobody wrote down: what is near is something else."""
    return scores if unknown < MOSTLY else np.round(scores * (1 - UNKNOWN * unknown), 6)


def set_apart(scores: Scores, is_named: NDArray[np.bool_]) -> Scores:
    """Put records whose name is the whole question above all others, and keep the order among either.

    Only scores that stand for an exact answer move: they make room.
    """
    above = NAMED + (1 - NAMED) * scores
    exact = CALIBRATION[2][1]
    below = np.interp(scores, (0.0, exact, 1.0), (0.0, exact, NAMED))
    apart: Scores = np.where(is_named, above, below)
    return apart


def recency(age_s: Scores, decay_days: float) -> Scores:
    """1 for a record of this moment, falling by half every `decay_days`; records of the future count as present."""
    # Divided in two steps: a tiny number of days would be no seconds at all.
    with np.errstate(over="ignore"):
        periods = np.maximum(age_s, 0.0) / 86_400 / decay_days
    return np.exp2(-periods)


def neighbourly(scores: Scores, leads: Scores, telling: NDArray[np.bool_], known: NDArray[np.bool_]) -> Scores:
    """Score records for being linked to some of the best, whose scores are the leads; two of these lift each other.

    `telling` are those that are about what led to them, `known` those that another lane has found as well.
    """
    shares = np.where(telling, NEIGHBOUR_SHARE, np.where(known, 0.0, FILED_SHARE))
    linked: Scores = np.maximum(lifted(scores, NEIGHBOUR_BONUS * leads), shares * leads**2)
    return linked


def usage_share(weight: Scores) -> Scores:
    """The bonus for citations of these weights (see `tools/retrieval/usage.py`): more of them add less and less."""
    share: Scores = USAGE_BONUS * weight / (weight + USAGE_HALF)
    return share


def ranked(ids: Sequence[str], scores: Scores, count: int, *, newest: Sequence[Scores] = ()) -> list[int]:
    """The places of the best, best first; ties go to the later times, then to the smaller id: pages never overlap."""
    last = np.partition(scores, -count)[-count] if 0 < count < len(ids) else -np.inf
    best = np.flatnonzero(scores >= last)
    best = best[np.argsort(-scores[best], kind="stable")]
    places: list[int] = best.tolist()
    if (np.diff(scores[best]) < 0).all():
        return places[:count]
    return sorted(places, key=lambda place: (-scores[place], *(-times[place] for times in newest), ids[place]))[:count]
