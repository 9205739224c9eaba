"""Imports the engines and loads the model beside the start, so that neither the start nor the first request waits."""

import importlib
import threading

import structlog

from stores.embedding import Embedder

ENGINES = ("tantivy", "lancedb")

log = structlog.get_logger("warming")


def warm(embedder: Embedder | None, graph_engine: str) -> threading.Thread:
    """Start warming up in a thread of its own; what fails is reported by the requests that need it."""

    def load() -> None:
        if embedder is not None:
            try:
                embedder.embed_query("ready")
            except Exception:  # an endpoint that is down now may be up later
                log.warning("embedder_not_ready", model=embedder.model, exc_info=True)
        for engine in (*ENGINES, graph_engine):
            importlib.import_module(engine)

    thread = threading.Thread(target=load, name="warming", daemon=True)
    thread.start()
    return thread
