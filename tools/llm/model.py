"""Interface of a language model: instructions and a text in, an object of a given shape out."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from pydantic import BaseModel

Provider = Literal["openai", "anthropic", "google", "ollama"]
Why = Literal["timeout", "unreachable", "refused", "bad_answer"]
A = TypeVar("A", bound=BaseModel)
LIBRARY = "pydantic_ai"


class ModelFailed(Exception):
    """A model gave no answer that can be used.

    Attributes:
        why: Stable.
        detail: What the library or the server said, without the key: for the log, and for whoever set up the model.
    """

    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail


@dataclass(frozen=True, slots=True)
class ModelSpec:
    provider: Provider
    model: str
    base_url: str | None = None
    """The maker's own server without one, and for Ollama the one of this machine."""
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0

    @property
    def name(self) -> str:
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class Naming:
    provider: str = "ENGRAIN_LLM_PROVIDER"
    api_key: str = "ENGRAIN_LLM_API_KEY"
    base_url: str = "ENGRAIN_LLM_BASE_URL"


class LanguageModel(Protocol):
    """A model that answers in a given shape; may be asked from several tasks at once."""

    @property
    def name(self) -> str:
        """Provider and model: `ollama:qwen3`."""
        ...

    def load(self) -> None:
        """Import what it needs, which takes seconds; the first question does it otherwise."""
        ...

    async def ask(self, instructions: str, text: str, answer: type[A]) -> A:
        """Return the answer, within the time limit, retries included.

        Raises:
            ModelFailed: There is none that can be used.
        """
        ...
