"""Wire shapes of search results."""

from typing import Any

from tools.frame.json_values import StoredJson
from tools.frame.operation import Result
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
