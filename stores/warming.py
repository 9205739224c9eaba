"""Imports the engines and loads the model beside the first requests, so that neither the start nor they wait for it."""

import importlib
import threading
from collections.abc import Callable, Sequence

import structlog

from stores.embedding import Embedder
from stores.embedding.late import LateEncoder

CLOSE_TIMEOUT_S = 10.0
"""How long closing waits for imports that are under way: a library that is cut short can crash."""

log = structlog.get_logger("warming")


class Warming:
    """Runs what loads something, in order, in a thread of its own; what fails is told by the requests that need it."""

    def __init__(self, loads: Sequence[Callable[[], object]]) -> None:
        self._loads = tuple(loads)
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="warming", daemon=True)

    @property
    def done(self) -> bool:
        """Tell whether everything is loaded, or was tried."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def start(self) -> None:
        """Begin, unless it has begun."""
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        """Begin nothing more, and wait for what has begun."""
        self._closing = True
        if self._thread.ident is not None:
            self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        for load in self._loads:
            if not self._closing:
                load()


def load_model(embedder: Embedder | None) -> None:
    """Embed a word, so that the model is there for the first question."""
    if embedder is None:
        return
    try:
        embedder.embed_query("ready")
    except Exception:  # an endpoint that is down now may be up later
        log.warning("embedder_not_ready", model=embedder.model, exc_info=True)


def load_token_encoder(encoder: LateEncoder | None) -> None:
    """Encode a word, so that the model is loaded for the first search."""
    if encoder is None:
        return
    try:
        encoder.encode_question("ready")
    except Exception:  # searches go on without it
        log.warning("token_encoder_not_ready", model=encoder.model, exc_info=True)


def import_engines(graph_engine: str, embedder: Embedder | None) -> None:
    """Import the engines of the indexes that are kept: without an embedder there is none of vectors."""
    vectors = () if embedder is None else ("stores.vectors.engine",)
    for engine in ("tantivy", *vectors, graph_engine):
        importlib.import_module(engine)
