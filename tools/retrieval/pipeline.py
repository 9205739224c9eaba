"""Search pipeline: candidates, fusion, rescoring, graph expansion, checks, ranking. Blocks."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import structlog

from stores.embedding import EmbeddingFailed
from stores.event_times import recent_at
from stores.graph import GraphIndex, NeighbourQuery
from stores.indexer import OpenIndexes
from stores.language.moments import Span
from stores.language.wording import is_latin
from stores.lexical import LexicalHits, LexicalResult
from stores.records import RAW_MEMORY
from stores.vectors import DenseHits, Vector
from tools.app import App
from tools.frame.threads import in_thread, in_turn
from tools.retrieval import scoring
from tools.retrieval.checks import Checks, weights
from tools.retrieval.date_phrases import DatePhrases, date_phrases
from tools.retrieval.evidence import SIMILAR_AMONG, Evidence, diversified
from tools.retrieval.late_interaction import QueryTokens
from tools.retrieval.links import SeedLink, dated, reach
from tools.retrieval.past import Past, linked_then, meaning_then, read_past, words_then
from tools.retrieval.plan import LANE_DEPTH, NEIGHBOURS_EACH, POOL_LIMIT, SEEDS, Plan
from tools.retrieval.pool import LANES, Measure, Pool, Ranking
from tools.retrieval.scoring import Scores, Signals, lifted, ranked

T = TypeVar("T")

ENOUGH = 50
"""Least records after the checks; else lanes are read deeper."""
DEEPER, DEEPEST = 8, 30_000
"""The limit takes a second."""
SPANS_FOLLOWED = 3

log = structlog.get_logger("search")


class Times(NamedTuple):
    """Microseconds since 1970; ties are broken in this order."""

    recent_us: Scores
    created_us: Scores


async def answered(app: App, organization_id: str, answer: Callable[[], T]) -> T:
    """Run a search in a thread, in turn with others unless it may wait for an index or a remote model."""
    is_here = app.settings.embedding_provider in ("builtin", "none")
    if is_here and app.indexer.is_settled(organization_id):
        return await in_turn(app.retrieval_turns, answer)
    return await in_thread(answer)


def retrieve(app: App, plan: Plan) -> Ranking:
    """Rank the records that the caller may see.

    A failed lane is named in `degraded`; the others answer. If too few candidates pass the checks, the lanes are read
    deeper.
    """
    app.embedding_workers.make_way()
    ranking, depth = _retrieve(app, plan), plan.depth
    while ranking.is_starved and depth < DEEPEST:
        depth = min(DEEPER * depth, DEEPEST)
        ranking = _retrieve(app, replace(plan, depth=depth))
    return ranking


def _retrieve(app: App, plan: Plan) -> Ranking:
    ranking = Ranking()
    with ranking.timed("total"), app.indexer.indexes(plan.organization_id) as indexes:
        ranking.degraded |= {name: _index_fault(indexes, name) for name in indexes.degraded}
        with ranking.timed("history"):
            past = read_past(app, plan)
        if past is not None and not past.is_whole:
            ranking.degraded["history"] = "too_many_changes"
        question, checks = _embedding(app, indexes, plan), Checks(app, plan)
        tokens = _question_tokens(app, indexes, plan) if question is not None else None
        with ranking.timed("lexical"):
            words = _lexical_lane(indexes, plan, past)
        near = _dense_lane(indexes, plan, question, past, ranking, partial(checks.ask, words.hits.ids))
        with ranking.timed("fusion"):
            ranking.terms = words.terms
            pool = Pool(words, DenseHits.of(()) if near is None else near)
            measure = _measure(indexes, question if near is not None else None)
            if past is None and plan.depth < LANE_DEPTH:
                pool.measure(measure(pool.unmeasured))
            evidence = Evidence(indexes, plan, pool, words, checks, near is not None, _signals(app, plan, words))
            dates = date_phrases(plan.query, plan.now) if plan.rescores else DatePhrases(plan.query)
            evidence.add_dates(dates, measure)
        with ranking.timed("thread"):
            evidence.add_threads(measure)
        with ranking.timed("late"):
            evidence.add_tokens(tokens, ranking)
        with ranking.timed("alike"):
            evidence.add_similar()
            pool.fused = evidence.fused()
        with ranking.timed("graph"):
            if plan.expand and not plan.is_naive:
                _graph_lane(app, evidence, dates)
        with ranking.timed("hydration"):
            times = _keep_permitted(evidence, past, ranking)
            ranking.is_starved = max(len(words.hits), len(near or ())) >= plan.depth and _starves(plan, ranking)
        with ranking.timed("ranking"):
            _lift_cited(app, plan, pool)
            _note_dated(indexes, pool, dates.spans)
            _rank(evidence, times, 0.0 if past is not None else words.unknown, ranking)
    return ranking


def _index_fault(indexes: OpenIndexes, name: str) -> str:
    present = {"lexical": indexes.lexical, "graph": indexes.graph, "vectors": indexes.vectors}.get(name)
    return "index_unavailable" if present is None else "index_incomplete"


def _lexical_lane(indexes: OpenIndexes, plan: Plan, past: Past | None) -> LexicalResult:
    if indexes.lexical is None:
        return LexicalResult(LexicalHits.of(()), 0.0, {})
    if past is not None:
        return words_then(indexes.lexical, plan, past)
    return indexes.lexical.search(plan.query, filter=plan.prefilter, limit=plan.depth, heed_names=plan.uses_names)


def _embedding(app: App, indexes: OpenIndexes, plan: Plan) -> Future[Vector] | None:
    if indexes.vectors is None or app.embedder is None or not plan.query.strip():
        return None
    if plan.words_alone and indexes.lexical is not None:
        return None
    return app.beside.submit(app.embedder.embed_query, plan.query)


def _question_tokens(app: App, indexes: OpenIndexes, plan: Plan) -> Future[QueryTokens] | None:
    encoder = app.token_encoder
    has_tokens = indexes.vectors is not None and indexes.vectors.tokens is not None
    if encoder is None or not has_tokens or not plan.rescores:
        return None
    return app.beside.submit(encoder.encode_question, plan.query)


def _dense_lane(
    indexes: OpenIndexes,
    plan: Plan,
    question: Future[Vector] | None,
    past: Past | None,
    ranking: Ranking,
    meanwhile: Callable[[], None],
) -> DenseHits | None:
    if indexes.vectors is None or question is None:
        return None
    try:
        # The part that is left after the lexical lane.
        with ranking.timed("embedding"):
            meanwhile()
            vector = question.result()
    except EmbeddingFailed as error:
        ranking.degraded["vectors"] = error.code
        log.warning("question_not_embedded", organization_id=plan.organization_id, detail=error.message)
        return None
    with ranking.timed("vector"):
        if past is not None:
            return meaning_then(indexes.vectors, vector, plan, past)
        return indexes.vectors.search(vector, filter=plan.prefilter, limit=plan.depth)


def _measure(indexes: OpenIndexes, question: Future[Vector] | None) -> Measure:
    vectors = indexes.vectors
    if vectors is None or question is None:
        return lambda _: ()
    return lambda record_ids: vectors.measure(question.result(), record_ids)


def _signals(app: App, plan: Plan, words: LexicalResult) -> Signals:
    is_unread = not is_latin(plan.query)
    # Nothing is known of the scripts of other models.
    is_builtin = app.settings.embedding_provider == "builtin"
    unrelated = scoring.UNREAD if is_unread and is_builtin else scoring.BACKGROUND
    return Signals(unrelated=unrelated, is_unread=is_unread, asks=plan.asks, rarities=tuple(words.terms.values()))


def _graph_lane(app: App, evidence: Evidence, dates: DatePhrases) -> None:
    graph, plan, pool, checks = evidence.indexes.graph, evidence.plan, evidence.pool, evidence.checks
    if graph is None:
        return
    first = ranked(pool.ids, pool.fused, SEEDS)
    best = [pool.ids[place] for place in first]
    linked = app.ledger.relations.linked(plan.organization_id, best)
    seeds = [seed for seed in best if seed in linked]
    if not seeds:
        return
    strength = dict(zip(best, evidence.without_dates(dates)[first].tolist(), strict=True))
    links = _linked_now(graph, plan, seeds, dates.spans) if plan.as_of is None else linked_then(app, plan, seeds)
    reached = reach(strength, links, shown=checks.wanted(seeds), replaced=checks.replaced)
    if not reached:
        return
    ordered = sorted(reached, key=lambda each: (-each.lead, each.record_id))
    known = len(pool.ids)
    places = pool.add(each.record_id for each in ordered)
    leads, telling = np.array([each.lead for each in ordered]), np.array([each.telling for each in ordered])
    pool.fused[places] = scoring.neighbourly(pool.fused[places], leads, telling, places < known)
    pool.ranks["graph"][places] = np.arange(1, len(places) + 1)


def _linked_now(graph: GraphIndex, plan: Plan, seeds: Sequence[str], spans: Sequence[Span]) -> list[SeedLink]:
    now = NeighbourQuery(visibility=plan.filter.visibility, limit_per_id=NEIGHBOURS_EACH + 1)
    then = (replace(now, as_of=span.start, until=span.end) for span in spans[-SPANS_FOLLOWED:])
    return dated([link for query in then for link in _followed(graph, seeds, query)], _followed(graph, seeds, now))


def _followed(graph: GraphIndex, seeds: Sequence[str], query: NeighbourQuery) -> list[SeedLink]:
    return [SeedLink(origin, other, name) for origin, other, name, _ in graph.neighbours(seeds, query=query)]


def _keep_permitted(evidence: Evidence, past: Past | None, ranking: Ranking) -> Times:
    plan, pool, checks = evidence.plan, evidence.pool, evidence.checks
    visible, statuses = plan.filter.visibility, checks.statuses
    shown = checks.found(pool.ids) - checks.unwanted(pool.only_of("graph"))
    for status in (statuses.get(record_id) for record_id in pool.ids if record_id not in shown):
        if status is None or status.visibility not in visible:
            ranking.dropped["not_permitted"] += 1
        elif status.superseded:
            ranking.dropped["superseded"] += 1
        else:
            ranking.memories_left_out += status.entity_type == RAW_MEMORY
    kept = [place for place, record_id in enumerate(pool.ids) if record_id in shown]
    pool.keep(np.array(kept, np.int64))
    if len(kept) > POOL_LIMIT:
        pool.keep(np.array(ranked(pool.ids, pool.fused, POOL_LIMIT), np.int64))
    ranking.statuses = statuses
    _count(pool, ranking)
    found = [statuses[record_id] for record_id in pool.ids]
    then = past.entities if past is not None else {}
    recent = [recent_at(then[each.id]).timestamp() * 1_000_000 if each.id in then else each.recent_us for each in found]
    return Times(np.array(recent, np.float64), np.array([each.created_us for each in found], np.float64))


def _count(pool: Pool, ranking: Ranking) -> None:
    ranking.counts = Counter({lane: pool.found_by(lane) for lane in LANES})
    types = [ranking.statuses[record_id].entity_type for record_id in pool.ids]
    ranking.total, ranking.documents, ranking.memories = len(types), types.count("document"), types.count(RAW_MEMORY)


def _starves(plan: Plan, ranking: Ranking) -> bool:
    enough = min(ENOUGH, plan.depth // 2)
    left_out = ranking.memories_left_out if plan.imported.wants_nothing else enough
    return ranking.total < enough or ranking.memories < enough <= left_out


def _lift_cited(app: App, plan: Plan, pool: Pool) -> None:
    if not plan.boost_cited or plan.is_naive:
        return
    best = [pool.ids[place] for place in ranked(pool.ids, pool.fused, scoring.CITED_AMONG)]
    if found := weights(app.ledger, app.clock(), plan.organization_id, best, plan.filter.visibility):
        pool.usage = scoring.usage_share(np.array([found.get(each, 0.0) for each in pool.ids]))


def _note_dated(indexes: OpenIndexes, pool: Pool, spans: Sequence[Span]) -> None:
    if indexes.lexical is None or not spans:
        return
    best = ranked(pool.ids, pool.fused, scoring.DATED_AMONG)
    named = indexes.lexical.happened([pool.ids[place] for place in best], spans)
    pool.dated = np.array([scoring.DATED_BONUS if record_id in named else 0.0 for record_id in pool.ids], np.float64)


def _rank(evidence: Evidence, times: Times, unknown: float, ranking: Ranking) -> None:
    plan, pool, vectors = evidence.plan, evidence.pool, evidence.indexes.vectors
    scores = pool.fused
    if plan.boost_recent and not plan.is_naive:
        age_s = plan.now.timestamp() - times.recent_us / 1_000_000
        scores = lifted(scores, scoring.RECENCY_BONUS * scoring.recency(age_s, plan.decay_days))
    if pool.dated is not None:
        scores = lifted(scores, pool.dated)
    if pool.usage is not None:
        scores = lifted(scores, pool.usage)
    scores = np.round(scores if plan.is_naive else scoring.set_apart(scores, pool.is_named), 6)
    newest = times if plan.newest_first and not plan.is_naive else ()
    best = ranked(pool.ids, scores, max(plan.wanted, SIMILAR_AMONG), newest=newest)
    if plan.is_naive or not best:
        ranking.best = [pool.candidate(place, float(scores[place])) for place in best[: plan.wanted]]
        return
    if vectors is not None and plan.asks:
        order = diversified(vectors, pool, best, scores)
        scores[order] = scores[best]
        best = order
    # After ordering, since it may make two scores equal.
    first = best[0]
    weakest = None if pool.is_named[first] else evidence.weakest.get(pool.ids[first])
    shown = scoring.doubted(scores, float(scores[first]), unknown, weakest)
    ranking.best = [
        pool.candidate(place, float(shown[place])) for place in best[: plan.wanted] if shown[place] >= plan.min_score
    ]
    if plan.min_score > 0:
        pool.keep(np.flatnonzero(shown >= plan.min_score))
        _count(pool, ranking)
