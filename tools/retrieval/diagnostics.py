"""How a ranking came about, under the names that clients of the interface know."""

from typing import Any

from tools.retrieval.ranking import Candidate, Ranking


def graph_retrieval(ranking: Ranking, *, detailed_from: int | None) -> dict[str, Any]:
    """Describe the lanes and the candidates from a place of the ranking on, none with None.

    Only rows that the caller may read are in it.
    """
    counts = ranking.counts
    shown: dict[str, Any] = {
        "sources": [name for name in ("lexical", "vector", "graph") if counts[name]],
        "lexical_count": counts["lexical"],
        "vector_count": counts["vector"],
        "graph_count": counts["graph"],
        "merged_count": ranking.total,
        "lifecycle_gate": {"superseded_dropped": ranking.dropped["superseded"]},
        "stage_timings_ms": ranking.timings_ms,
    }
    if detailed_from is not None:
        best = ranking.best[detailed_from : detailed_from + DETAILED]
        shown["source_details"] = {candidate.id: _details(candidate) for candidate in best}
        shown["ranking_trace"] = [
            {"entity_id": c.id, "rank": rank, "score": c.score, "sources": c.sources, "metadata": {}}
            for rank, c in enumerate(best, start=detailed_from + 1)
        ]
    return shown


DETAILED = 50
"""Candidates that detailed diagnostics describe: no page shows more."""


def _details(candidate: Candidate) -> dict[str, Any]:
    ranks = {"lexical": candidate.lexical_rank, "vector": candidate.dense_rank, "graph": candidate.graph_rank}
    scores = {"lexical": candidate.lexical, "vector": candidate.cosine, "coverage": candidate.coverage}
    return {
        "sources": candidate.sources,
        "ranks": {name: rank for name, rank in ranks.items() if rank is not None},
        "original_scores": {name: round(score, 6) for name, score in scores.items() if score is not None},
        "graph_expansion_only": candidate.sources == ["graph"],
        "fused_score": round(candidate.fused, 6),
    }
