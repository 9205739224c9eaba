"""Embedders, built in or remote. Loads no engine."""

from stores.embedding.embedder import Embedder, EmbeddingFailed, EmbeddingSpec, Passage, WatchedEmbedder
from stores.embedding.shipped import split_passages
from stores.embedding.workers import Workers


def build_embedder(spec: EmbeddingSpec, workers: Workers | None = None) -> Embedder | None:
    """Return an embedder, not yet loaded; None for `none`. InvalidSetting for a missing model or bad address."""
    if spec.provider == "none":
        return None
    # Imported late: onnxruntime and the HTTP client slow the start.
    if spec.provider == "builtin":
        from stores.embedding.builtin import BuiltinEmbedder  # noqa: PLC0415 - lazy on purpose

        return BuiltinEmbedder(workers)
    from stores.embedding.remote import RemoteEmbedder  # noqa: PLC0415 - lazy on purpose

    return RemoteEmbedder(spec)
