"""Search results, and what agents see of them."""

from typing import Any

from stores.records import JsonObject
from tools.frame.json_values import StoredJson
from tools.frame.operation import Result
from tools.records.trust import TRUST
from tools.retrieval.plan import DOUBTFUL, NEAREST, UNRELATED
from tools.search.distinct import Origin


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


NOTHING = "Nothing here is about this."
WEAK_SHARE = 0.25
"""Share of the best score below which agents do not get a hit: `docs/experiments/other-kinds.md`."""


def doubt(best: float) -> str | None:
    """Say of a best score that it is hardly above those of unrelated records."""
    return f"{NOTHING} The nearest records score {best:.2f} at most." if best < DOUBTFUL else None


def for_agents(response: SearchResponse) -> dict[str, Any]:
    """Show who said what, and when, with the passage that matched."""
    faults = [f"{each['source']} ({each['error_type']})" for each in response.filters.get("search_source_failures", [])]
    best = response.results[0].score if response.results and not response.offset else 1.0
    strong = [hit for hit in response.results if response.offset or hit.score >= WEAK_SHARE * best]
    shown = strong[: NEAREST if best < UNRELATED else None]
    is_cut = len(shown) < len(response.results)
    note = None if response.results or response.offset else NOTHING
    return {
        "note": doubt(best) or note,
        "not_searched": faults or None,
        "pending_records": response.filters.get("pending_records"),
        "results": [_hit_for_agents(hit) for hit in shown],
        "total": len(shown) if is_cut else response.total,
        "has_more": response.has_more and not is_cut,
    }


def _hit_for_agents(hit: SearchResult) -> JsonObject:
    path, matched = hit.metadata.get("heading_path"), hit.metadata.get("passage")
    name = " > ".join(map(str, path)) if isinstance(path, list) and path else hit.name
    text = str(matched.get("text", "")) if isinstance(matched, dict) else ""
    return {
        "id": hit.id,
        "type": hit.type,
        "name": name,
        "score": round(hit.score, 2),
        "source": hit.source,
        "url": hit.url,
        "status": hit.metadata.get("status"),
        "trust": hit.metadata.get(TRUST),
        "by": hit.metadata.get("author"),
        "at": str(hit.metadata.get("captured_at") or hit.metadata["updated_at"])[:16],
        "also_stored_as": hit.metadata.get("also_stored_as"),
        "content": text.removeprefix(hit.name).strip() or hit.content,
    }
