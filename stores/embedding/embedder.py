"""What an embedder is: the contract, how one is specified and how it fails."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from stores.errors import Unavailable

if TYPE_CHECKING:  # numpy is loaded with the first vector, not with the first import
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Provider = Literal["builtin", "openai", "ollama", "none"]


class EmbeddingFailed(Unavailable):
    """503: the embedding model cannot be loaded, or the server that runs it did not answer as it should."""

    code = "embedding_failed"
    default_remediation = "Check the embedding settings; search by words goes on meanwhile."


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """Which embedder, and how to reach it. `base_url`, `api_key` and what follows them concern remote providers."""

    provider: Provider = "builtin"
    model: str | None = None
    """The remote model's name; the built-in provider has one model."""
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimension: int | None = None
    """Asked of a server that can shorten its vectors; without it the first answer tells."""
    timeout_s: float = 30.0
    question_timeout_s: float = 3.0
    """What a question may take, retries included: a search waits for it."""
    max_retries: int = 3


@dataclass(frozen=True, slots=True)
class Passage:
    """A range of characters of a text."""

    start: int
    end: int


class Embedder(Protocol):
    """Texts in, vectors of unit length out. Every method may be called from any thread at any time."""

    @property
    def model(self) -> str:
        """What the vectors are recorded with: vectors of different names are never compared."""
        ...

    @property
    def dimension(self) -> int:
        """The length of every vector. A remote embedder may have to ask its server once.

        Raises:
            EmbeddingFailed: The server did not tell.
        """
        ...

    def embed_documents(self, texts: Sequence[str]) -> "Vectors":
        """Return one row per text; what is over one passage is cut off.

        Raises:
            EmbeddingFailed: No vectors; nothing was half done.
        """
        ...

    def embed_query(self, text: str) -> "Vectors":
        """Return the vector of a question; what is over one passage is cut off.

        Raises:
            EmbeddingFailed: No vector.
        """
        ...

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages that fit the model."""
        ...

    def close(self) -> None:
        """Release threads, connections and memory."""
        ...
