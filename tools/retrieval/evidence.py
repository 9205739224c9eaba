"""Evidence on the candidates: words, meaning, dates, threads, tokens and similarity.

Similar candidates support each other outside of threads (Diaz, "Regularizing Ad Hoc Retrieval Scores", CIKM 2005), and
give way in threads (maximal marginal relevance: Carbonell and Goldstein, SIGIR 1998).
"""

import sqlite3
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from stores.embedding import EmbeddingFailed
from stores.indexer import OpenIndexes
from stores.lexical import LexicalIndex, LexicalResult
from stores.vectors import VectorIndex
from tools.retrieval import late_interaction, scoring
from tools.retrieval.checks import Checks
from tools.retrieval.date_phrases import DatePhrases
from tools.retrieval.late_interaction import AMONG, AMONG_BY_WORDS, QueryTokens
from tools.retrieval.neighbours import DEEP, thread_context
from tools.retrieval.plan import LEAST_ASKED, SEEDS, Plan
from tools.retrieval.pool import NAIVE_LANES, Measure, Pool, Ranking
from tools.retrieval.scoring import HELD_ONCE, HELD_WHOLLY, Alike, Scores, Signals, ThreadContext, ranked

BROUGHT = 50
SIMILAR_AMONG, MOST_SIMILAR = 50, 4
REPORTED = 0.5
"""Weight of records from the week after, in which events are reported."""

log = structlog.get_logger("search")


@dataclass(slots=True, eq=False)
class Evidence:
    """Knowledge of the candidates; every step adds to it, and later steps look at the best so far."""

    indexes: OpenIndexes
    plan: Plan
    pool: Pool
    words: LexicalResult
    checks: Checks
    has_vector: bool
    signals: Signals
    weakest: Mapping[str, float] = field(default_factory=dict, init=False)
    """Match of the question's worst token, by record."""
    _fused: Scores | None = field(default=None, init=False)
    _has_dates: bool = field(default=False, init=False)
    _has_phrase: dict[str, bool] = field(default_factory=dict, init=False)
    """Code that has the query as a phrase or identifier."""

    def fused(self) -> Scores:
        pool = self.pool
        if self._fused is None or len(self._fused) != len(pool.ids):
            if self.plan.is_naive:
                self._fused = scoring.fused_by_rank(pool.ranks[lane] for lane in NAIVE_LANES)
            else:
                self._describe()
                date_share = pool.date_share if self._has_dates else None
                self._fused = self._score(pool.lexical, pool.coverage, date_share)
        return self._fused

    def best(self, count: int) -> list[int]:
        return self._ranked(self.fused(), count)

    def add_dates(self, dates: DatePhrases, measure: Measure) -> None:
        index = self.indexes.lexical
        if index is not None and dates.days and self.words.ceiling > 0:
            _match_dates(index, self, dates, measure)
            self._has_dates, self._fused = True, None

    def add_threads(self, measure: Measure) -> None:
        index = self.indexes.lexical
        if index is None or not self.plan.uses_threads:
            return
        self.checks.expect(self.pool.ids)
        known, pool = len(self.pool.ids), self.pool
        context = thread_context(index, self.plan, pool, self.best(DEEP), self.checks, self.words)
        pool.measure(measure(pool.ids[known:]))
        if context is not None:
            pool.threaded = frozenset(pool.ids[place] for place in np.flatnonzero(context.is_threaded))
        self._learn(context=context)

    def add_tokens(self, query: Future[QueryTokens] | None, ranking: Ranking) -> None:
        if query is None or not self.has_vector:
            return
        pool, signals = self.pool, replace(self.signals, date_share=self.pool.date_share)
        words = scoring.by_words(pool.lexical, pool.coverage, self.words.ceiling, signals)
        places = [*self.best(AMONG), *self._ranked(words, AMONG_BY_WORDS)]
        try:
            found = late_interaction.compare(self.indexes, self.plan, pool, places, self.checks, query)
        except (EmbeddingFailed, sqlite3.Error) as error:
            ranking.degraded["tokens"] = "index_unavailable"
            log.warning("tokens_not_compared", organization_id=self.plan.organization_id, detail=str(error))
            return
        if found is not None:
            self.weakest = {} if self.signals.is_unread else self._doubtful(found.weakest)
            self._learn(token_match=found.better)

    def _doubtful(self, weakest: Mapping[str, float]) -> Mapping[str, float]:
        # A short text that holds every word is exact; the text of a speaker need not hold the name.
        held, passages, ids = self.pool.coverage + self.pool.date_share, self.signals.passages, self.pool.ids
        is_short = np.ones(len(ids), np.bool_) if passages is None else passages <= 1
        is_sure, context = is_short & (held >= HELD_WHOLLY), self.signals.context
        if context is not None and context.is_spoken is not None:
            is_sure |= context.is_spoken
        sure = {ids[place] for place in np.flatnonzero(is_sure)}
        return {each: match for each, match in weakest.items() if each not in sure}

    def add_similar(self) -> None:
        vectors = self.indexes.vectors
        if vectors is not None and self.has_vector and self.plan.rescores:
            best = self.best(SIMILAR_AMONG)
            self._learn(alike=alike(vectors, self.pool, best, self.checks, self.signals.context))

    def without_dates(self, dates: DatePhrases) -> Scores:
        """Score without date phrases: the time of a relation is in the relation."""
        index, pool, words = self.indexes.lexical, self.pool, self.words
        if index is None or not dates.days:
            return self.fused()
        best = {pool.ids[place]: place for place in self.best(SEEDS)}
        among = replace(self.plan.prefilter, ids=frozenset(best))
        alone = index.search(dates.rest, filter=among, limit=len(best), heed_names=self.plan.uses_names)
        if len(alone.terms) < LEAST_ASKED and not alone.named:
            return self.fused()
        lexical, coverage = pool.lexical.copy(), pool.coverage.copy()
        # A name may consist of stop words, whose ceiling is 0.
        scale = words.ceiling / alone.ceiling if alone.ceiling > 0 else 0.0
        for hit in alone.hits:
            place = best[hit.record_id]
            lexical[place], coverage[place] = scale * hit.score, hit.coverage
        certain: Scores = np.maximum(self.fused(), self._score(lexical, coverage, None))
        return certain

    def _ranked(self, scores: Scores, count: int) -> list[int]:
        ids = self.pool.ids
        if self.plan.imported.wants_nothing:
            return ranked(ids, scores, count)
        passed = self.checks.found(ids)
        among = [place for place, each in enumerate(ids) if each in passed]
        return [among[at] for at in ranked([ids[place] for place in among], scores[among], count)]

    def _learn(self, **signals: Any) -> None:
        if any(found is not None for found in signals.values()):
            self.signals, self._fused = replace(self.signals, **signals), None

    def _score(self, lexical: Scores, coverage: Scores, date_share: Scores | None) -> Scores:
        signals = replace(self.signals, date_share=date_share)
        ceiling, cosine = self.words.ceiling, self.pool.cosine
        return scoring.fuse(lexical, coverage, cosine, ceiling=ceiling, dense=self.has_vector, signals=signals)

    def _describe(self) -> None:
        vectors, index, ids, signals = self.indexes.vectors, self.indexes.lexical, self.pool.ids, self.signals
        passages, is_code = signals.passages, signals.is_code
        if vectors is not None and (passages is None or len(passages) != len(ids)):
            passages = np.array(vectors.passage_counts(ids), np.int64)
        if index is not None and (is_code is None or len(is_code) != len(ids)):
            is_code = np.array(index.code_among(ids), np.bool_)
        self.signals = replace(signals, passages=passages, is_code=is_code, is_scattered=self._scattered(is_code))

    def _scattered(self, is_code: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        index, question, pool = self.indexes.lexical, self.words.question, self.pool
        if index is None or question is None or self._has_dates or self.plan.as_of is not None:
            return None
        if is_code is None or not is_code.any() or not question.is_prose or not question.words:
            return None
        whole = {pool.ids[place] for place in np.flatnonzero(is_code & (pool.coverage >= HELD_WHOLLY))}
        if unknown := whole - self._has_phrase.keys():
            self._has_phrase |= dict.fromkeys(unknown, False)
            self._has_phrase |= dict.fromkeys(index.saying(self.words, unknown), True)
        has_phrase = np.array([self._has_phrase.get(each, False) for each in pool.ids], np.bool_)
        return is_code & ~has_phrase


def _match_dates(index: LexicalIndex, evidence: Evidence, dates: DatePhrases, measure: Measure) -> None:
    """Note the share of the query matched by time alone; add records of the named days."""
    plan, pool, words = evidence.plan, evidence.pool, evidence.words
    uses_names, best = plan.uses_names, [pool.ids[place] for place in evidence.best(scoring.DATED_AMONG)]
    found = index.happened_in(dates.days, dates.rest, filter=plan.prefilter, limit=BROUGHT, heed_names=uses_names)
    known = set(pool.ids)
    new = [each for each in found if each not in known]
    added = pool.add(new)
    pool.measure(measure(new))
    dated = index.happened(dict.fromkeys([*best, *found]), dates.spans)
    among = replace(plan.prefilter, ids=frozenset(dated))
    alone = index.search(dates.rest, filter=among, limit=max(len(dated), 1), heed_names=uses_names)
    places = {each: place for place, each in enumerate(pool.ids) if each in dated}
    rest, share = np.zeros(len(pool.ids)), min(alone.ceiling / words.ceiling, 1.0)
    for each, coverage in zip(alone.hits.ids, alone.hits.coverage.tolist(), strict=True):
        rest[places[each]] = share * coverage
    pool.coverage[added] = rest[added]
    pool.lexical[added] = HELD_ONCE * words.ceiling * rest[added]
    # Behind what the lexical index found by its words.
    ranks = pool.ranks["lexical"]
    ranks[added] = ranks.max(initial=0) + np.arange(1, len(added) + 1)
    at = np.array([*places.values()], np.int64)
    exact = index.happened(dated, dates.days)
    counts = np.array([1.0 if each in exact else REPORTED for each in places])
    pool.date_share[at] = counts * np.clip((1.0 - pool.coverage[at]) - (share - rest[at]), 0.0, 1.0 - share)


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
    if len(places) > MOST_SIMILAR:
        nearness[nearness < np.partition(nearness, -MOST_SIMILAR, axis=1)[:, -MOST_SIMILAR, None]] = 0.0
    # A candidate without similar ones keeps its own evidence.
    nearness[np.diag_indices(len(places))] = nearness.sum(axis=1) == 0
    return Alike(np.array(places, np.int64), nearness / nearness.sum(axis=1, keepdims=True))


def diversified(vectors: VectorIndex, pool: Pool, best: Sequence[int], scores: Scores) -> list[int]:
    """Order the first of `best` anew: what is in threads, by maximal marginal relevance; the others keep their rank."""
    first = [at for at, place in enumerate(best[:SIMILAR_AMONG]) if pool.ids[place] in pool.threaded]
    held = vectors.vectors_of(pool.ids[best[at]] for at in first)
    ranks = [at for at in first if pool.ids[best[at]] in held and not pool.is_named[best[at]]]
    order = list(best)
    if len(ranks) < 3:
        return order
    places = np.array([best[at] for at in ranks], np.int64)
    rows = np.stack([held[pool.ids[place]] for place in places])
    left, nearest = scores[places], np.zeros(len(places))
    for rank in ranks:
        chosen = int((left - scoring.REPEATED * nearest).argmax())
        order[rank], left[chosen] = int(places[chosen]), -np.inf
        nearest = np.maximum(nearest, rows @ rows[chosen])
    return order
