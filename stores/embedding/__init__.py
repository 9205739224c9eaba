"""Embedders: texts to vectors, built in or on a server. Importing this loads no engine."""

from stores.embedding.embedder import Embedder, EmbeddingFailed, EmbeddingSpec, Passage
from stores.embedding.passages import split_passages
from stores.embedding.provider import build_embedder

__all__ = ["Embedder", "EmbeddingFailed", "EmbeddingSpec", "Passage", "build_embedder", "split_passages"]
