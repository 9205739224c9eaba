"""The choice of an embedder by specification."""

from stores.embedding.embedder import Embedder, EmbeddingSpec
from stores.embedding.hands import Hands


def build_embedder(spec: EmbeddingSpec, hands: Hands | None = None) -> Embedder | None:
    """Return the embedder that is asked for, not yet loaded or connected; None for the provider `none`.

    The built-in one has `hands` help it to read texts.

    Raises:
        InvalidSetting: A remote provider without a model, or with an address or key that cannot be right.
    """
    if spec.provider == "none":
        return None
    # Imported here, and not above: onnxruntime and the HTTP client cost time that a start without them saves.
    if spec.provider == "builtin":
        from stores.embedding.builtin import BuiltinEmbedder  # noqa: PLC0415 - lazy on purpose

        return BuiltinEmbedder(hands)
    from stores.embedding.dialects import OllamaDialect, OpenAiDialect  # noqa: PLC0415 - lazy on purpose
    from stores.embedding.remote import RemoteEmbedder  # noqa: PLC0415 - lazy on purpose

    return RemoteEmbedder(spec, OllamaDialect() if spec.provider == "ollama" else OpenAiDialect())
