"""Interface of a language model: instructions and text in, an object out."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from pydantic import BaseModel

Provider = Literal["openai", "anthropic", "google", "ollama"]
Why = Literal["timeout", "unreachable", "refused", "bad_answer"]
A = TypeVar("A", bound=BaseModel)
LIBRARY = "pydantic_ai"


class ModelFailed(Exception):
    """A model gave no usable answer; `why` is stable, `detail` is for the log, without the key."""

    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail


@dataclass(frozen=True, slots=True)
class ModelSpec:
    provider: Provider
    model: str
    base_url: str | None = None
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
    """Safe for concurrent tasks."""

    @property
    def name(self) -> str: ...

    def load(self) -> None:
        """Import the library, which takes seconds; else the first question does."""
        ...

    async def ask(self, instructions: str, text: str, answer: type[A]) -> A:
        """Return the answer, within the time limit, retries included.

        Raises:
            ModelFailed: No usable answer.
        """
        ...
