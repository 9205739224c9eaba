"""Search results: copies of a record shown once, the view of agents, and diagnostics of the retrieval."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from pydantic import PrivateAttr

from stores.records import RAW_MEMORY, Entity, JsonObject
from tools.app import App
from tools.frame.json_values import StoredJson
from tools.frame.operation import Result
from tools.records.derivation import EXCERPT, LINK, REMEMBERED
from tools.records.trust import TRUST
from tools.retrieval.passages import with_passages
from tools.retrieval.pipeline import retrieve
from tools.retrieval.plan import DETAILED, DOUBTFUL, NEAREST, POOL_LIMIT, UNRELATED, Mode, Plan
from tools.retrieval.pool import LANES, NAIVE_LANES, Candidate, Ranking
from tools.retrieval.scoring import RRF_K

Origin = Literal["graph", "document", "raw_memory"]
ORIGINS: Mapping[str, Origin] = {"document": "document", RAW_MEMORY: "raw_memory"}

WORK = ("task", "epic", "project")
"""Types with a state of their own have no copies."""
SPARE, COPIES_NAMED = 4, 3
"""Candidates looked at beyond the page, and beyond one copy of each: `remember` stores everything twice."""
_TIMES = ("captured_at", "occurred_at")
Read = Callable[[Sequence[str]], Mapping[str, Entity]]
Hit = tuple[Candidate, Entity]


@dataclass(slots=True)
class Distinct:
    hits: list[Hit] = field(default_factory=list)
    others: dict[str, list[Entity]] = field(default_factory=dict)
    """Further copies, by the id of the shown one."""
    collapsed: Counter[Origin] = field(default_factory=Counter)
    is_whole: bool = True
    """False if the candidates ended before the page was full."""

    def counted(self, ranking: Ranking) -> Counter[Origin]:
        """Count the ranked records by origin, without the copies that were met."""
        found = Counter[Origin]({"document": ranking.documents, "raw_memory": ranking.memories})
        found["graph"] = ranking.total - found.total()
        found.subtract(self.collapsed)
        return found


def ranked(app: App, plan: Plan, read: Read, offset: int, limit: int) -> tuple[Ranking, Distinct]:
    """Retrieve, and return a page of the hits that `read` finds, with their passages."""
    ranking = retrieve(app, plan)
    page = distinct(ranking.best, read, offset, limit)
    if not page.is_whole and len(ranking.best) == plan.wanted < POOL_LIMIT:
        ranking = retrieve(app, replace(plan, wanted=POOL_LIMIT))
        page = distinct(ranking.best, read, offset, limit)
    page.hits = with_passages(page.hits, ranking.terms)
    return ranking, page


def distinct(best: Sequence[Candidate], read: Read, offset: int, limit: int) -> Distinct:
    """Return the page of the candidates without copies of earlier ones.

    Copies have the same name and words, or are a raw memory and the entity that `remember` made of it, which is the
    one to show; of others, the newest. The same words of another time or in a thread are another statement.
    """
    shown, known, start = list[list[Hit]](), dict[Hashable, list[Hit]](), 0
    while len(shown) < offset + limit and start < len(best):
        # A few more, since copies stand next to each other.
        batch = best[start : start + offset + limit - len(shown) + SPARE]
        start += len(batch)
        entities = read([each.id for each in batch])
        for hit in batch:
            if (entity := entities.get(hit.id)) is None:
                continue
            identities = identities_of(entity)
            copies = next((known[each] for each in identities if each in known), None)
            if copies is None:
                shown.append(copies := [])
            copies.append((hit, entity))
            known |= dict.fromkeys(identities, copies)
    page = Distinct(is_whole=len(shown) >= offset + limit)
    for copies in shown[offset : offset + limit]:
        hit, entity = max(copies, key=lambda copy: (copy[1].entity_type != RAW_MEMORY, copy[1].created_at))
        page.hits.append((replace(hit, score=copies[0][0].score), entity))
        page.others[entity.id] = [other for _, other in copies if other.id != entity.id]
    page.collapsed = Counter(ORIGINS.get(entity.entity_type, "graph") for copies in shown for _, entity in copies[1:])
    return page


def identities_of(entity: Entity) -> list[Hashable]:
    """Return what copies of a record have in common, at least one each: their words, or the raw memory."""
    agent = entity.category if entity.entity_type == RAW_MEMORY else None
    times = (str(entity.metadata.get(when)) for when in _TIMES)
    said = (entity.name, entity.content or entity.description, agent, *times)
    is_its_own = entity.entity_type in WORK or "thread_id" in entity.metadata or not said[1]
    metadata, memory = entity.metadata, entity.id if entity.entity_type == RAW_MEMORY else None
    if metadata.get("capture_mode") == REMEMBERED and not metadata.get(EXCERPT):
        memory = memory or str(metadata.get(LINK))
    return [each for each in (entity.id if is_its_own else said, memory) if each]


class SearchResult(Result):
    """One hit."""

    id: str
    type: str
    name: str
    content: str
    score: float
    source: str | None
    url: str | None
    result_origin: Origin
    metadata: StoredJson


class SearchResponse(Result):
    """One page of hits, best first."""

    results: list[SearchResult]
    total: int
    query: str
    filters: dict[str, Any]
    graph_count: int
    document_count: int
    raw_memory_count: int
    limit: int
    offset: int
    has_more: bool
    _best_score: float = PrivateAttr(1.0)

    def with_best(self, candidates: Sequence[Candidate]) -> Self:
        """Note the score of the best of all hits, by which agents are spared the weakest."""
        self._best_score = max((each.score for each in candidates), default=1.0)
        return self


NOTHING = "Nothing here is about this."
WEAK_SHARE = 0.25
"""Share of the best score below which agents do not get a hit: `docs/experiments/other-kinds.md`."""


def for_agents(response: SearchResponse) -> dict[str, Any]:
    """Show who said what, and when, with the passage that matched."""
    faults = [f"{each['source']} ({each['error_type']})" for each in response.filters.get("search_source_failures", [])]
    best = response._best_score
    strong = [hit for hit in response.results if hit.score >= WEAK_SHARE * best]
    shown = strong[: max(0, NEAREST - response.offset) if best < UNRELATED else None]
    note = None if response.results or response.offset else NOTHING
    # A best score that is hardly above those of unrelated records.
    note = f"{NOTHING} The nearest records score {best:.2f} at most." if best < DOUBTFUL else note
    found_by: JsonObject = response.filters.get("graph_retrieval") or response.filters.get("retrieval") or {}
    return {
        "note": note,
        "not_searched": faults or None,
        "pending_records": response.filters.get("pending_records"),
        "results": [_hit_for_agents(hit) for hit in shown],
        "has_more": response.has_more and len(shown) == len(response.results),
        "diagnostics": found_by if "source_details" in found_by else None,
    }


def _hit_for_agents(hit: SearchResult) -> JsonObject:
    path, matched, others = (hit.metadata.get(name) for name in ("heading_path", "passage", "also_stored_as"))
    name = " > ".join(map(str, path)) if isinstance(path, list) and path else hit.name
    text = str(matched.get("text", "")) if isinstance(matched, dict) else ""
    return {
        "id": hit.id,
        "type": hit.type,
        "name": name,
        "score": round(hit.score, 2),
        "source": None if hit.url else hit.source,
        "url": hit.url,
        "status": hit.metadata.get("status"),
        "trust": hit.metadata.get(TRUST),
        "by": hit.metadata.get("author"),
        "at": str(hit.metadata.get("captured_at") or hit.metadata["updated_at"])[:16],
        "also_stored_as": others[:COPIES_NAMED] if isinstance(others, list) else None,
        # The name ends with the heading of a chunk.
        "content": (re.sub(r"\A\s*#+ .*\n+", "", text.removeprefix(name)) if path else text).strip() or hit.content,
    }


_SHOWN_AS = {"vectors": "vector"}


def traced(ranking: Ranking, mode: Mode, *, expands: bool, detailed_from: int | None) -> dict[str, Any]:
    """Say how a page was found, with details of the candidates from a place on."""
    failed = [
        {"source": _SHOWN_AS.get(name, name), "error_type": reason} for name, reason in sorted(ranking.degraded.items())
    ]
    shown: dict[str, Any] = {
        "stage_timings_ms": ranking.timings_ms,
        "pool_limit": POOL_LIMIT,
        "search_source_degraded": bool(failed),
        **({"search_source_failure_count": len(failed), "search_source_failures": failed} if failed else {}),
    }
    if expands and mode != "naive":
        shown["graph_retrieval"] = _retrieval(ranking, detailed_from)
    elif detailed_from is not None:
        shown["retrieval"] = _retrieval(ranking, detailed_from)
    if mode == "naive":
        counts = {lane: ranking.counts[lane] for lane in NAIVE_LANES}
        shown |= {
            "retrieval_mode": "naive",
            "retrieval_arm": "naive",
            "fusion_backend": "reciprocal_rank_fusion",
            "naive_rrf_k": RRF_K,
            "naive_lanes": [lane for lane, count in counts.items() if count],
            "naive_lane_counts": counts,
            "supersession_gate": {"superseded_dropped": ranking.dropped["superseded"]},
        }
    return shown


def _retrieval(ranking: Ranking, detailed_from: int | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "sources": [name for name in LANES if ranking.counts[name]],
        **{f"{name}_count": ranking.counts[name] for name in LANES},
        "merged_count": ranking.total,
        "lifecycle_gate": {"superseded_dropped": ranking.dropped["superseded"]},
        "stage_timings_ms": ranking.timings_ms,
    }
    if detailed_from is not None:
        best = ranking.best[detailed_from : detailed_from + DETAILED]
        strongest = max((each.lexical for each in ranking.best if each.lexical is not None), default=0.0)
        shown["source_details"] = {candidate.id: details(candidate, strongest) for candidate in best}
        shown["ranking_trace"] = [
            {"entity_id": c.id, "rank": rank, "score": c.score, "sources": c.sources, "metadata": {}}
            for rank, c in enumerate(best, start=detailed_from + 1)
        ]
    return shown


def details(candidate: Candidate, strongest: float) -> dict[str, Any]:
    """Describe a candidate, its BM25 as a share of the strongest.

    The plain BM25 would leak document frequencies of unreadable records.
    """
    lexical = None if candidate.lexical is None or strongest <= 0 else candidate.lexical / strongest
    scores = {"lexical": lexical, "vector": candidate.cosine, "coverage": candidate.coverage}
    return {
        "sources": candidate.sources,
        "ranks": dict(candidate.ranks),
        "original_scores": {name: round(score, 2) for name, score in scores.items() if score is not None},
        "graph_expansion_only": candidate.sources == ["graph"],
        "fused_score": round(candidate.fused, 3),
        "usage_share": round(candidate.usage, 4),
    }
