"""What agents read of a search."""

from typing import TYPE_CHECKING, Any

from stores.records import JsonObject

if TYPE_CHECKING:
    from tools.search.search import SearchResponse, SearchResult


def for_agents(response: "SearchResponse") -> dict[str, Any]:
    """Show who said what, and when, with the passage that matched."""
    faults = [f"{each['source']} ({each['error_type']})" for each in response.filters.get("search_source_failures", [])]
    return {
        "not_searched": faults or None,
        "results": [_hit_for_agents(hit) for hit in response.results],
        "total": response.total,
        "has_more": response.has_more,
    }


def _hit_for_agents(hit: "SearchResult") -> JsonObject:
    path, matched = hit.metadata.get("heading_path"), hit.metadata.get("passage")
    name = " > ".join(map(str, path)) if isinstance(path, list) and path else hit.name
    text = matched.get("text", "") if isinstance(matched, dict) else hit.content
    return {
        "id": hit.id,
        "type": hit.type,
        "name": name,
        "score": round(hit.score, 2),
        "source": hit.source,
        "url": hit.url,
        "status": hit.metadata.get("status"),
        "by": hit.metadata.get("author"),
        "at": str(hit.metadata.get("captured_at") or hit.metadata["updated_at"])[:16],
        "content": str(text).removeprefix(f"{hit.name}\n").strip(),
    }
