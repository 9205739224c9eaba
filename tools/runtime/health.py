"""Health, readiness and statistics of the server."""

import time
from collections import defaultdict
from typing import Any, ClassVar, Literal

from pydantic import Field

from stores.embedding import WatchedEmbedder
from stores.errors import EngrainError
from stores.indexer import IndexStatus
from tools.app import App
from tools.frame.operation import Call, Operation, Request, Result, Route
from tools.runtime.version import VERSION, commit

OPEN_MCP = "/mcp is served WITHOUT authentication (ENGRAIN_MCP_AUTH_MODE=off): every caller is the first admin."
_WORST = ("ready", "catching_up", "degraded", "rebuilding", "failed")


class AboutView(Result):
    """Addresses on this server."""

    name: Literal["Engrain"] = "Engrain"
    version: str = VERSION
    docs: str = "/api/docs"
    openapi: str = "/api/openapi.json"
    websocket: str = "/api/ws"
    mcp: str = "/mcp"


class HealthView(Result):
    """The server is alive."""

    status: Literal["healthy"] = "healthy"
    version: str = VERSION
    runtime: dict[str, str | None] = Field(
        default_factory=lambda: {"name": "engrain", "commit": commit()},
        description="`commit` is the one that the code is of, as it was at the start, with `+` and a hash where files "
        "differ from it; null for an installed package.",
    )


def _is_none(value: object) -> bool:
    return value is None


class DependencyView(Result):
    """A part that requests need."""

    name: str
    ready: bool
    backend: str | None = Field(None, exclude_if=_is_none)
    detail: str | None = Field(None, exclude_if=_is_none)
    latency_ms: float | None = Field(None, exclude_if=_is_none)


class IndexView(Result):
    """An index, summed over all organizations."""

    name: str
    state: str
    pending: int = Field(ge=0, description="Changes not applied yet.")
    watermark: int = Field(description="The last change applied.")
    refused: int = Field(ge=0, description="Records that cannot be indexed.")


class ReadinessView(Result):
    """State of each store and index."""

    status: Literal["ready", "not_ready"] = "ready"
    version: str = VERSION
    dependencies: list[DependencyView]
    indexes: list[IndexView]
    warnings: list[str] = Field(description="Warnings about the settings.")


class NotReadyView(ReadinessView):
    """State of each store and index, where the ledger does not work."""

    http_status: ClassVar[int | None] = 503
    status: Literal["ready", "not_ready"] = "not_ready"


async def about(_app: App, _call: Call, _request: Request) -> AboutView:
    """Return the version and addresses of this server."""
    return AboutView()


async def health(_app: App, _call: Call, _request: Request) -> HealthView:
    """Say that the server is alive, without any store, so that a slow disk does not kill it."""
    return HealthView()


def ready(app: App, _call: Call, _request: Request) -> ReadinessView:
    """Say whether everything that a request may need is there."""
    return readiness(app)


def readiness(app: App) -> ReadinessView:
    """Return the state of each store and index. Blocks.

    Indexes are summed over all organizations, so that nothing about single ones is public. Only the ledger makes the
    server unready: without the others, search waits or uses words alone.
    """
    ledger = _ledger(app)
    loaded = app.preload.done
    engines = DependencyView(name="engines", ready=loaded, detail="loaded" if loaded else "loading")
    return (ReadinessView if ledger.ready else NotReadyView)(
        dependencies=[ledger, _embedder(app), engines],
        indexes=_indexes(app.indexer.status(), "ready" if app.indexer.surveyed else "catching_up"),
        warnings=[OPEN_MCP] if app.settings.mcp_auth_mode == "off" else [],
    )


def _ledger(app: App) -> DependencyView:
    start = time.perf_counter()
    backend = "postgresql" if app.settings.database_url else "sqlite"
    try:
        app.ledger.ping()
    except EngrainError as error:
        return DependencyView(name="ledger", ready=False, backend=backend, detail=error.message)
    latency_ms = round((time.perf_counter() - start) * 1000, 3)
    return DependencyView(name="ledger", ready=True, backend=backend, latency_ms=latency_ms)


def _embedder(app: App) -> DependencyView:
    if app.embedder is None:
        return DependencyView(name="embedder", ready=True, detail="off: search is lexical")
    state = app.embedder.state if isinstance(app.embedder, WatchedEmbedder) else "ready"
    detail = f"{app.settings.embedding_provider}: {state}"
    return DependencyView(name="embedder", ready=state == "ready", detail=detail)


def _indexes(lines: list[IndexStatus], otherwise: str) -> list[IndexView]:
    by_name: dict[str, list[IndexStatus]] = defaultdict(list)
    for line in lines:
        by_name[line.index].append(line)
    return [
        IndexView(
            name=name,
            state=max((otherwise, *map(_state, by_name[name])), key=_WORST.index),
            pending=sum(line.pending for line in by_name[name]),
            watermark=sum(line.watermark for line in by_name[name]),
            refused=sum(line.refused for line in by_name[name]),
        )
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


OPERATIONS = tuple(
    Operation(run, roles=None, route=Route("GET", path, tag="health", also=also))
    for run, path, also in ((about, "/api/", ()), (health, "/api/health", ()), (ready, "/api/health/ready", (503,)))
)
"""Served beside the catalogue."""
