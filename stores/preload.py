"""Background loading of engines and models after the start."""

import importlib
import threading
from collections.abc import Callable, Sequence

import structlog

from stores.embedding import Embedder
from stores.embedding.builtin import LateEncoder

CLOSE_TIMEOUT_S = 10.0
"""A library whose import is cut short can crash."""

log = structlog.get_logger("preload")


class Preload:
    """Runs loaders in a thread. One that fails fails again in the request that needs it."""

    def __init__(self, loads: Sequence[Callable[[], object]]) -> None:
        self._loads = tuple(loads)
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="preload", daemon=True)

    @property
    def done(self) -> bool:
        return self._thread.ident is not None and not self._thread.is_alive()

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        """Skip the remaining loaders and wait for the running one."""
        self._closing = True
        if self._thread.ident is not None:
            self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        for load in self._loads:
            if not self._closing:
                load()


def load_model(model: Embedder | LateEncoder | None) -> None:
    if model is None:
        return
    try:
        (model.encode_question if isinstance(model, LateEncoder) else model.embed_query)("ready")
    except Exception:  # an endpoint that is down now may be up later, and searches go on without
        event = "token_encoder_not_ready" if isinstance(model, LateEncoder) else "embedder_not_ready"
        log.warning(event, model=model.model, exc_info=True)


def import_engines(graph_engine: str, embedder: Embedder | None) -> None:
    """That of vectors only where there is an embedder."""
    vectors = () if embedder is None else ("lancedb",)
    for engine in ("tantivy", *vectors, graph_engine):
        importlib.import_module(engine)
