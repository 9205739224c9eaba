"""The two request and answer formats that embedding servers speak."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from stores.records import JsonObject


class Dialect(Protocol):
    """How to ask a server for vectors, and where they are in its answer."""

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        ...

    @property
    def default_base_url(self) -> str:
        """Where the server is when no setting says so."""
        ...

    def path(self, base_path: str) -> str:
        """Return the path to post to, given the path of the base URL without a final slash."""
        ...

    def request(self, model: str, texts: Sequence[str], dimension: int | None) -> JsonObject:
        """Return the body to send."""
        ...

    def vectors(self, answer: Mapping[str, JsonValue]) -> JsonValue:
        """Return the vectors in the order of the texts.

        Raises:
            KeyError, TypeError: The answer has another shape.
        """
        ...

    def missing_model(self, model: str) -> str:
        """Return what to do where the server does not know the model."""
        ...


@dataclass(frozen=True, slots=True)
class OpenAiDialect:
    """`POST /v1/embeddings`, which most servers offer."""

    provider: str = "openai"
    default_base_url: str = "https://api.openai.com/v1"

    def path(self, base_path: str) -> str:
        """Return the embeddings path; a base URL without a path gets `/v1`."""
        return f"{base_path or '/v1'}/embeddings"

    def request(self, model: str, texts: Sequence[str], dimension: int | None) -> JsonObject:
        """Return the body; `dimensions` is sent only where a dimension was set, as many servers refuse it."""
        shortened: JsonObject = {} if dimension is None else {"dimensions": dimension}
        return {"model": model, "input": list(texts), **shortened}

    def vectors(self, answer: Mapping[str, JsonValue]) -> JsonValue:
        """Return the vectors, put in order by their `index`."""
        rows = answer["data"]
        if not isinstance(rows, list):
            raise TypeError("data is not a list")
        found: dict[JsonValue, JsonValue] = {}
        for row in rows:
            if not isinstance(row, dict):
                raise TypeError("an entry of data is not an object")
            index = row.get("index", len(found))
            if not isinstance(index, int) or index in found:
                raise TypeError("an index is missing or given twice")
            found[index] = row["embedding"]
        return [found[index] for index in range(len(found))]

    def missing_model(self, model: str) -> str:
        """Point to the setting."""
        return f"Set ENGRAIN_EMBEDDING_MODEL to a model that this server offers, instead of {model!r}."


@dataclass(frozen=True, slots=True)
class OllamaDialect:
    """`POST /api/embed`."""

    provider: str = "ollama"
    default_base_url: str = "http://127.0.0.1:11434"

    def path(self, base_path: str) -> str:
        """Return the native path."""
        return f"{base_path}/api/embed"

    def request(self, model: str, texts: Sequence[str], dimension: int | None) -> JsonObject:
        """Return the body; a text that is too long for the model is cut off by the server."""
        shortened: JsonObject = {} if dimension is None else {"dimensions": dimension}
        return {"model": model, "input": list(texts), "truncate": True, **shortened}

    def vectors(self, answer: Mapping[str, JsonValue]) -> JsonValue:
        """Return the vectors, which are in order."""
        return answer["embeddings"]

    def missing_model(self, model: str) -> str:
        """Say how the model gets there."""
        return f"Run `ollama pull {model}` where Ollama runs, or set ENGRAIN_EMBEDDING_MODEL."
