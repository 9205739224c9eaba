"""The choice of an embedder by specification."""

from stores.embedding.embedder import Embedder, EmbeddingSpec


def build_embedder(spec: EmbeddingSpec) -> Embedder | None:
    """Return the embedder that is asked for, not yet loaded or connected; None for the provider `none`."""
    if spec.provider == "none":
        return None
    # Here, and not above: onnxruntime, tokenizers and the HTTP client cost time that a lexical-only start saves.
    from stores.embedding.builtin import BuiltinEmbedder  # noqa: PLC0415 - lazy on purpose

    return BuiltinEmbedder(threads=spec.threads)
