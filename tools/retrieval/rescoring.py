"""The candidates of one search, looked at more closely: beside their threads, token by token, beside each other.

Each step looks at the best of the step before, notes what it finds, and scores all of them anew.
"""

import sqlite3
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np
import structlog
from numpy.typing import NDArray

from stores.embedding import EmbeddingFailed
from stores.indexer import OpenIndexes
from stores.lexical import LexicalResult
from tools.retrieval import late
from tools.retrieval.alike import alike
from tools.retrieval.checks import Checks
from tools.retrieval.date_match import match_dates
from tools.retrieval.date_phrases import DatePhrases
from tools.retrieval.late import Questions
from tools.retrieval.neighbours import Measure, beside
from tools.retrieval.plan import LEAST_ASKED, SEEDS, Plan
from tools.retrieval.pool import NAIVE_LANES, Pool
from tools.retrieval.ranking import HELD_WHOLLY, Ranking
from tools.retrieval.scoring import Lent, Scores, fuse, fused_by_rank, ranked

log = structlog.get_logger("search")


@dataclass(slots=True, eq=False)
class Closer:
    """What is known so far."""

    indexes: OpenIndexes
    plan: Plan
    pool: Pool
    words: LexicalResult
    checks: Checks
    has_vector: bool
    """Whether the question has a vector."""
    lent: Lent
    _is_code: NDArray[np.bool_] | None = field(default=None, init=False)
    _names_days: bool = field(default=False, init=False)
    _says: dict[str, bool] = field(default_factory=dict, init=False)
    """Of code that holds every word of the question, whether it says it as it is asked."""

    def fuse(self) -> None:
        """Score every candidate by what is known."""
        pool = self.pool
        if self.plan.is_naive:
            pool.fused = fused_by_rank(pool.ranks[lane] for lane in NAIVE_LANES)
        else:
            told = pool.told if pool.told.any() else None
            pool.fused = self._evidence(pool.lexical, pool.coverage, told, has_vector=self.has_vector)

    def in_days(self, dates: DatePhrases, measure: Measure) -> None:
        """Let candidates of the days that the question names count as if they said so, and bring such in."""
        index = self.indexes.lexical
        if index is not None and dates.spans:
            self._names_days = True
            match_dates(index, self.plan, self.pool, self.words, dates, measure)
            self.fuse()

    def in_threads(self, measure: Measure) -> None:
        """Let candidates that stand in threads count with what was captured next to them, and bring that in."""
        index = self.indexes.lexical
        if index is None or not self.plan.heeds_threads:
            return
        self.checks.expect(self.pool.ids)
        found = beside(index, self.plan, self.pool, self.checks, self.words, measure)
        if found is not None:
            self._learn(replace(self.lent, beside=found))

    def by_tokens(self, question: Future[Questions] | None, ranking: Ranking) -> None:
        """Compare the best candidates with the question token by token; note in the ranking where that fails."""
        if question is None or not self.has_vector:
            return
        try:
            found = late.compare(self.indexes, self.plan, self.pool, self.checks, question)
        except (EmbeddingFailed, sqlite3.Error) as error:
            ranking.degraded["tokens"] = "index_unavailable"
            log.warning("tokens_not_compared", organization_id=self.plan.organization_id, detail=str(error))
            return
        if found is not None:
            self._learn(replace(self.lent, late=found[0], back=found[1]))

    def beside_each_other(self) -> None:
        """Let the best candidates count with those that they are like."""
        vectors = self.indexes.vectors
        if vectors is None or not self.has_vector or not self.plan.compares:
            return
        found = alike(vectors, self.pool, self.checks, self.lent.beside)
        if found is not None:
            self._learn(replace(self.lent, alike=found))

    def without_days(self, dates: DatePhrases) -> Scores:
        """Score the best candidates by what the question says beside days.

        When a relation was true stands in the relation, so that what it belongs to need not hold the words for it.
        """
        index, pool, words = self.indexes.lexical, self.pool, self.words
        if index is None or not dates.spans:
            return pool.fused
        best = {pool.ids[place]: place for place in ranked(pool.ids, pool.fused, SEEDS)}
        among = replace(self.plan.prefilter, ids=frozenset(best))
        alone = index.search(dates.rest, filter=among, limit=len(best), heed_names=self.plan.heeds_names)
        if len(alone.terms) < LEAST_ASKED and not alone.named:
            return pool.fused
        lexical, coverage = pool.lexical.copy(), pool.coverage.copy()
        # What words weigh is a share of what they can; a name may be made of stop words, which weigh nothing.
        scale = words.ceiling / alone.ceiling if alone.ceiling > 0 else 0.0
        for hit in alone.hits:
            place = best[hit.record_id]
            lexical[place], coverage[place] = scale * hit.score, hit.coverage
        alone_so = self._evidence(lexical, coverage, None, has_vector=not np.isnan(pool.cosine).all())
        certain: Scores = np.maximum(pool.fused, alone_so)
        return certain

    def _learn(self, lent: Lent) -> None:
        self.lent = lent
        self.fuse()

    def _evidence(self, lexical: Scores, coverage: Scores, told: Scores | None, *, has_vector: bool) -> Scores:
        is_code = self._code()
        lent = replace(self.lent, is_code=is_code, is_loose=self._loose(is_code), told=told)
        return fuse(lexical, coverage, self.pool.cosine, ceiling=self.words.ceiling, dense=has_vector, lent=lent)

    def _code(self) -> NDArray[np.bool_] | None:
        """Which candidates are code; looked up again where there are more of them by now."""
        index, ids = self.indexes.lexical, self.pool.ids
        if index is not None and (self._is_code is None or len(self._is_code) != len(ids)):
            self._is_code = np.array(index.code_among(ids), np.bool_)
        return self._is_code

    def _loose(self, is_code: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
        """Which candidates are code that does not say a question of prose as it is asked.

        None are where days are said by when something happened, nor of a time of which the index has no words.
        """
        index, question, pool = self.indexes.lexical, self.words.question, self.pool
        if index is None or question is None or self._names_days or self.plan.as_of is not None:
            return None
        if is_code is None or not is_code.any() or not question.is_prose or not question.words:
            return None
        whole = {pool.ids[place] for place in np.flatnonzero(is_code & (pool.coverage >= HELD_WHOLLY))}
        if unknown := whole - self._says.keys():
            self._says |= dict.fromkeys(unknown, False)
            self._says |= dict.fromkeys(index.saying(self.words, unknown), True)
        says = np.array([self._says.get(each, False) for each in pool.ids], np.bool_)
        return is_code & ~says
