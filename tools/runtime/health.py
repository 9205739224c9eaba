"""Health, readiness and statistics of the server."""

import time
from collections import defaultdict
from typing import Any

from stores.embedding import WatchedEmbedder
from stores.errors import EngrainError
from stores.indexer import IndexStatus
from tools.app import App
from tools.runtime.version import VERSION, commit

OPEN_MCP = "/mcp is served WITHOUT authentication (ENGRAIN_MCP_AUTH_MODE=off): whoever reaches it is the first admin."
_WORST = ("ready", "catching_up", "degraded", "rebuilding", "failed")


def health() -> dict[str, Any]:
    return {"status": "healthy", "version": VERSION, "runtime": {"name": "engrain", "commit": commit()}}


def readiness(app: App) -> dict[str, Any]:
    """Return the state of each store and index. Blocks.

    Indexes are summed over all organizations, so that nothing about single ones is public. Only the ledger makes the
    server unready: without the others, search waits or uses words alone.
    """
    ledger = _ledger(app)
    loaded = app.preload.done
    engines = {"name": "engines", "ready": loaded, "detail": "loaded" if loaded else "loading"}
    return {
        "status": "ready" if ledger["ready"] else "not_ready",
        "version": VERSION,
        "dependencies": [ledger, _embedder(app), engines],
        "indexes": _indexes(app.indexer.status(), "ready" if app.indexer.surveyed else "catching_up"),
        "warnings": [OPEN_MCP] if app.settings.mcp_auth_mode == "off" else [],
    }


def _ledger(app: App) -> dict[str, Any]:
    start = time.perf_counter()
    backend = "postgresql" if app.settings.database_url else "sqlite"
    try:
        app.ledger.ping()
    except EngrainError as error:
        return {"name": "ledger", "ready": False, "backend": backend, "detail": error.message}
    latency_ms = round((time.perf_counter() - start) * 1000, 3)
    return {"name": "ledger", "ready": True, "backend": backend, "latency_ms": latency_ms}


def _embedder(app: App) -> dict[str, Any]:
    if app.embedder is None:
        return {"name": "embedder", "ready": True, "detail": "off: search is lexical"}
    state = app.embedder.state if isinstance(app.embedder, WatchedEmbedder) else "ready"
    return {"name": "embedder", "ready": state == "ready", "detail": f"{app.settings.embedding_provider}: {state}"}


def _indexes(lines: list[IndexStatus], otherwise: str) -> list[dict[str, Any]]:
    by_name: dict[str, list[IndexStatus]] = defaultdict(list)
    for line in lines:
        by_name[line.index].append(line)
    return [
        {
            "name": name,
            "state": max((otherwise, *map(_state, by_name[name])), key=_WORST.index),
            "pending": sum(line.pending for line in by_name[name]),
            "watermark": sum(line.watermark for line in by_name[name]),
            "refused": sum(line.refused for line in by_name[name]),
        }
        for name in ("lexical", "graph", "vectors")
    ]


def _state(line: IndexStatus) -> str:
    return "degraded" if line.refused and line.state in ("ready", "catching_up") else line.state


def stats(app: App, organization_id: str, visible: frozenset[str]) -> dict[str, Any]:
    """Count readable records by type, and relations by name. Blocks."""
    counts = app.ledger.records.entity_counts(organization_id, visible)
    relations = app.ledger.relations.relation_counts(organization_id, visible)
    return {
        "entity_counts": counts,
        "total_entities": sum(counts.values()),
        "relationship_counts": relations,
        "total_relationships": sum(relations.values()),
    }
