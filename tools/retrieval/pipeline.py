"""One search over the indexes of an organization: candidates, fuse, expand, check, rank. Blocks."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from stores.embedding import EmbeddingFailed
from stores.graph import NeighbourQuery
from stores.indexer import OpenIndexes
from stores.ledger import Standing
from stores.records import matches
from tools.app import App
from tools.retrieval.plan import LANE_DEPTH, POOL_LIMIT, Plan
from tools.retrieval.scoring import (
    NEIGHBOUR_BONUS,
    NEIGHBOUR_SHARE,
    RECENCY_BONUS,
    Candidate,
    fuse,
    lifted,
    ranked,
    recency,
)

SEEDS = 6
"""Best candidates whose neighbours the graph is asked for."""
NEIGHBOURS_EACH = 8


@dataclass(slots=True)
class Ranking:
    """The permitted candidates, best first, and how they were found."""

    candidates: list[Candidate] = field(default_factory=list)
    standings: dict[str, Standing] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """How many of the candidates each lane found."""
    degraded: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=lambda: {"superseded": 0, "not_permitted": 0})
    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Record how long a stage took, in milliseconds."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[stage] = round((time.perf_counter() - start) * 1000, 3)


def retrieve(app: App, plan: Plan) -> Ranking:
    """Rank what the caller may see for a query. A lane that fails is named in `degraded`; the others answer."""
    ranking = Ranking()
    pool: dict[str, Candidate] = {}
    with ranking.timed("total"), app.indexer.indexes(plan.organization_id) as indexes:
        ranking.degraded |= indexes.degraded
        with ranking.timed("lexical"):
            ceiling = _lexical_lane(indexes, plan, pool, ranking)
        dense = _dense_lane(app, indexes, plan, pool, ranking)
        with ranking.timed("fusion"):
            fuse(pool, ceiling=ceiling, dense=dense)
        with ranking.timed("graph"):
            if plan.expand:
                _graph_lane(app, indexes, plan, pool)
        with ranking.timed("hydration"):
            _keep_permitted(app, plan, pool, ranking)
        with ranking.timed("ranking"):
            _rank(plan, pool, ranking)
    return ranking


def _lexical_lane(indexes: OpenIndexes, plan: Plan, pool: dict[str, Candidate], ranking: Ranking) -> float:
    if indexes.lexical is None:
        return 0.0
    found = indexes.lexical.search(plan.query, filter=plan.filter, limit=LANE_DEPTH)
    for rank, hit in enumerate(found.hits, start=1):
        candidate = pool.setdefault(hit.record_id, Candidate(hit.record_id))
        candidate.lexical, candidate.coverage, candidate.lexical_rank = hit.score, hit.coverage, rank
        candidate.sources.append("lexical")
    return found.ceiling


def _dense_lane(app: App, indexes: OpenIndexes, plan: Plan, pool: dict[str, Candidate], ranking: Ranking) -> bool:
    if indexes.vectors is None or app.embedder is None or not plan.query.strip():
        return False
    try:
        with ranking.timed("embedding"):
            vector = app.embedder.embed_query(plan.query)
    except EmbeddingFailed as error:
        ranking.degraded["vectors"] = error.message
        return False
    with ranking.timed("vector"):
        hits = indexes.vectors.search(vector, filter=plan.filter, limit=LANE_DEPTH)
    for rank, hit in enumerate(hits, start=1):
        candidate = pool.setdefault(hit.record_id, Candidate(hit.record_id))
        candidate.cosine, candidate.dense_rank = hit.score, rank
        candidate.passage = (hit.start, hit.end)
        candidate.sources.append("vector")
    return True


def _graph_lane(app: App, indexes: OpenIndexes, plan: Plan, pool: dict[str, Candidate]) -> None:
    """Let the best candidates bring in their neighbours, and lift those that are linked to better ones."""
    if indexes.graph is None:
        return
    seeds = sorted(pool.values(), key=lambda candidate: (-candidate.fused, candidate.id))[:SEEDS]
    query = NeighbourQuery(visibility=plan.filter.visibility, as_of=plan.as_of, limit_per_id=NEIGHBOURS_EACH)
    strength = {seed.id: seed.fused for seed in seeds}
    linked = app.ledger.linked(plan.organization_id, strength)
    reached: dict[str, float] = {}
    for neighbour in indexes.graph.neighbours([seed.id for seed in seeds if seed.id in linked], query=query):
        reached[neighbour.id] = max(reached.get(neighbour.id, 0.0), strength[neighbour.origin_id])
    for rank, (record_id, best) in enumerate(sorted(reached.items(), key=lambda item: (-item[1], item[0])), start=1):
        candidate = pool.setdefault(record_id, Candidate(record_id))
        candidate.graph_rank = rank
        candidate.sources.append("graph")
        if len(candidate.sources) == 1:
            candidate.fused = best * NEIGHBOUR_SHARE
        else:
            candidate.fused = lifted(candidate.fused, NEIGHBOUR_BONUS * best)


def _keep_permitted(app: App, plan: Plan, pool: dict[str, Candidate], ranking: Ranking) -> None:
    """Ask the ledger once who is really there, readable and in force: an index may be behind."""
    visible = plan.filter.visibility
    standings = app.ledger.standings(plan.organization_id, pool, visibility=visible, as_of=plan.as_of)
    for record_id in list(pool):
        standing = standings.get(record_id)
        if standing is None or standing.visibility not in visible:
            reason = "not_permitted"
        elif standing.superseded:
            reason = "superseded"
        else:
            continue
        ranking.dropped[reason] += 1
        del pool[record_id]
    ranking.standings = standings
    for record_id in _unwanted(app, plan, pool):
        del pool[record_id]
    ranking.counts = Counter(lane for candidate in pool.values() for lane in candidate.sources)


def _unwanted(app: App, plan: Plan, pool: dict[str, Candidate]) -> list[str]:
    """Neighbours that the graph brought in although the filter, which it does not know, leaves them out."""
    if not plan.filter.any_of and plan.filter.updated_since is None:
        return []
    brought = [candidate.id for candidate in pool.values() if candidate.sources == ["graph"]]
    entities = app.ledger.entities(plan.organization_id, brought)
    return [record_id for record_id, entity in entities.items() if not matches(entity, plan.filter)]


def _rank(plan: Plan, pool: dict[str, Candidate], ranking: Ranking) -> None:
    now_s = plan.now.timestamp()
    for candidate in pool.values():
        score = candidate.fused
        if plan.boost_recent:
            age_s = now_s - ranking.standings[candidate.id].updated_us / 1_000_000
            score = lifted(score, RECENCY_BONUS * recency(age_s, plan.decay_days))
        candidate.score = round(score, 6)
    ranking.candidates = ranked(pool)[:POOL_LIMIT]
