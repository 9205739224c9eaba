"""Retrieval diagnostics, under the field names of the interface."""

from typing import Any

from tools.retrieval.pool import LANES, Candidate, Ranking
from tools.retrieval.scoring import RRF_K


def graph_retrieval(ranking: Ranking, *, detailed_from: int | None) -> dict[str, Any]:
    counts = ranking.counts
    shown: dict[str, Any] = {
        "sources": [name for name in LANES if counts[name]],
        "lexical_count": counts["lexical"],
        "vector_count": counts["vector"],
        "graph_count": counts["graph"],
        "thread_count": counts["thread"],
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


def faults(ranking: Ranking) -> dict[str, Any]:
    shown: dict[str, Any] = {"search_source_degraded": bool(ranking.degraded)}
    if ranking.degraded:
        shown["search_source_failure_count"] = len(ranking.degraded)
        shown["search_source_failures"] = [
            {"source": CALLED.get(name, name), "error_type": reason}
            for name, reason in sorted(ranking.degraded.items())
        ]
    return shown


CALLED = {"vectors": "vector"}


def naive_arm(ranking: Ranking) -> dict[str, Any]:
    counts = {lane: ranking.counts[lane] for lane in ("lexical", "vector")}
    return {
        "retrieval_mode": "naive",
        "retrieval_arm": "naive",
        "fusion_backend": "reciprocal_rank_fusion",
        "naive_rrf_k": RRF_K,
        "naive_lanes": [lane for lane, count in counts.items() if count],
        "naive_lane_counts": counts,
        "supersession_gate": {"superseded_dropped": ranking.dropped["superseded"]},
    }


DETAILED = 50


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
