"""Embedders, built in or remote. Loads no engine."""

from stores.embedding.embedder import Embedder, EmbeddingFailed, EmbeddingSpec, Passage
from stores.embedding.passages import split_passages
from stores.embedding.provider import build_embedder
from stores.embedding.watched import WatchedEmbedder

__all__ = [
    "Embedder",
    "EmbeddingFailed",
    "EmbeddingSpec",
    "Passage",
    "WatchedEmbedder",
    "build_embedder",
    "split_passages",
]
