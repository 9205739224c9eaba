"""Rescoring by dates, threads, tokens and similarity, step by step."""

import sqlite3
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np
import structlog
from numpy.typing import NDArray

from stores.embedding import EmbeddingFailed
from stores.indexer import OpenIndexes
from stores.lexical import LexicalIndex, LexicalResult
from tools.retrieval import late_interaction
from tools.retrieval.alike import alike
from tools.retrieval.checks import Checks
from tools.retrieval.date_phrases import DatePhrases
from tools.retrieval.late_interaction import QueryTokens
from tools.retrieval.neighbours import Measure, thread_context
from tools.retrieval.plan import LEAST_ASKED, SEEDS, Plan
from tools.retrieval.pool import NAIVE_LANES, Pool
from tools.retrieval.ranking import HELD_WHOLLY, Ranking
from tools.retrieval.scoring import DATED_AMONG, HELD_ONCE, Scores, Signals, by_words, fuse, fused_by_rank, ranked

BROUGHT = 50
REPORTED = 0.5
"""Weight of records from the week after, in which events are reported."""

log = structlog.get_logger("search")


@dataclass(slots=True, eq=False)
class Rescorer:
    indexes: OpenIndexes
    plan: Plan
    pool: Pool
    words: LexicalResult
    checks: Checks
    has_vector: bool
    signals: Signals
    _is_code: NDArray[np.bool_] | None = field(default=None, init=False)
    _counts: NDArray[np.int64] | None = field(default=None, init=False)
    _has_dates: bool = field(default=False, init=False)
    _has_phrase: dict[str, bool] = field(default_factory=dict, init=False)
    """Code that has the query as a phrase or identifier."""

    def fuse(self) -> None:
        pool = self.pool
        if self.plan.is_naive:
            pool.fused = fused_by_rank(pool.ranks[lane] for lane in NAIVE_LANES)
        else:
            date_share = pool.date_share if pool.date_share.any() else None
            pool.fused = self._evidence(pool.lexical, pool.coverage, date_share, has_vector=self.has_vector)

    def by_dates(self, dates: DatePhrases, measure: Measure) -> None:
        index = self.indexes.lexical
        if index is not None and dates.days:
            self._has_dates = True
            _match_dates(index, self.plan, self.pool, self.words, dates, measure)
            self.fuse()

    def by_threads(self, measure: Measure) -> None:
        index = self.indexes.lexical
        if index is None or not self.plan.uses_threads:
            return
        self.checks.expect(self.pool.ids)
        found = thread_context(index, self.plan, self.pool, self.checks, self.words, measure)
        if found is not None:
            self._learn(replace(self.signals, context=found))

    def by_tokens(self, query: Future[QueryTokens] | None, ranking: Ranking) -> None:
        if query is None or not self.has_vector:
            return
        pool, signals = self.pool, replace(self.signals, date_share=self.pool.date_share)
        words = by_words(pool.lexical, pool.coverage, self.words.ceiling, signals)
        try:
            found = late_interaction.compare(self.indexes, self.plan, pool, self.checks, query, words)
        except (EmbeddingFailed, sqlite3.Error) as error:
            ranking.degraded["tokens"] = "index_unavailable"
            log.warning("tokens_not_compared", organization_id=self.plan.organization_id, detail=str(error))
            return
        if found is not None:
            self._learn(replace(self.signals, token_match=found))

    def by_similarity(self) -> None:
        vectors = self.indexes.vectors
        if vectors is None or not self.has_vector or not self.plan.rescores:
            return
        found = alike(vectors, self.pool, self.checks, self.signals.context)
        if found is not None:
            self._learn(replace(self.signals, alike=found))

    def without_dates(self, dates: DatePhrases) -> Scores:
        """Score without date phrases: the time of a relation is in the relation."""
        index, pool, words = self.indexes.lexical, self.pool, self.words
        if index is None or not dates.days:
            return pool.fused
        best = {pool.ids[place]: place for place in ranked(pool.ids, pool.fused, SEEDS)}
        among = replace(self.plan.prefilter, ids=frozenset(best))
        alone = index.search(dates.rest, filter=among, limit=len(best), heed_names=self.plan.uses_names)
        if len(alone.terms) < LEAST_ASKED and not alone.named:
            return pool.fused
        lexical, coverage = pool.lexical.copy(), pool.coverage.copy()
        # A name may consist of stop words, whose ceiling is 0.
        scale = words.ceiling / alone.ceiling if alone.ceiling > 0 else 0.0
        for hit in alone.hits:
            place = best[hit.record_id]
            lexical[place], coverage[place] = scale * hit.score, hit.coverage
        undated = self._evidence(lexical, coverage, None, has_vector=not np.isnan(pool.cosine).all())
        certain: Scores = np.maximum(pool.fused, undated)
        return certain

    def _learn(self, signals: Signals) -> None:
        self.signals = signals
        self.fuse()

    def _evidence(self, lexical: Scores, coverage: Scores, date_share: Scores | None, *, has_vector: bool) -> Scores:
        is_code = self._code()
        signals = replace(self.signals, is_code=is_code, is_scattered=self._scattered(is_code))
        signals = replace(signals, date_share=date_share, passages=self._passages(), asks=self.plan.asks)
        return fuse(lexical, coverage, self.pool.cosine, ceiling=self.words.ceiling, dense=has_vector, signals=signals)

    def _passages(self) -> NDArray[np.int64] | None:
        vectors, ids = self.indexes.vectors, self.pool.ids
        if vectors is not None and (self._counts is None or len(self._counts) != len(ids)):
            self._counts = np.array(vectors.passage_counts(ids), np.int64)
        return self._counts

    def _code(self) -> NDArray[np.bool_] | None:
        index, ids = self.indexes.lexical, self.pool.ids
        if index is not None and (self._is_code is None or len(self._is_code) != len(ids)):
            self._is_code = np.array(index.code_among(ids), np.bool_)
        return self._is_code

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


def _match_dates(
    index: LexicalIndex, plan: Plan, pool: Pool, words: LexicalResult, dates: DatePhrases, measure: Measure
) -> None:
    """Note the share of the query matched by time alone; add records of the named days."""
    if words.ceiling <= 0:
        return
    uses_names = plan.uses_names
    found = index.happened_in(dates.days, dates.rest, filter=plan.prefilter, limit=BROUGHT, heed_names=uses_names)
    known = set(pool.ids)
    new = [each for each in found if each not in known]
    added = pool.add(new)
    pool.measure(measure(new))
    best = [pool.ids[place] for place in ranked(pool.ids, pool.fused, DATED_AMONG)]
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
