"""Request and response formats of embedding servers."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from stores.records import JsonObject


class OpenAiDialect:
    """`POST /v1/embeddings`, offered by most servers."""

    provider = "openai"
    default_base_url = "https://api.openai.com/v1"

    def path(self, base_path: str) -> str:
        """Return the path to post to, for a base path without a final slash."""
        return f"{base_path or '/v1'}/embeddings"

    def request(self, model: str, texts: Sequence[str], dimension: int | None) -> JsonObject:
        # Many servers refuse `dimensions`, so it is sent only if it was set.
        shortened: JsonObject = {} if dimension is None else {"dimensions": dimension}
        return {"model": model, "input": list(texts), **shortened}

    def vectors(self, answer: Mapping[str, JsonValue]) -> JsonValue:
        """Return the vectors in the order of the texts.

        Raises:
            KeyError, TypeError: The response has another shape.
        """
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
        return f"Set ENGRAIN_EMBEDDING_MODEL to a model that this server offers, instead of {model!r}."


class OllamaDialect:
    """`POST /api/embed`."""

    provider = "ollama"
    default_base_url = "http://127.0.0.1:11434"

    def path(self, base_path: str) -> str:
        return f"{base_path}/api/embed"

    def request(self, model: str, texts: Sequence[str], dimension: int | None) -> JsonObject:
        shortened: JsonObject = {} if dimension is None else {"dimensions": dimension}
        return {"model": model, "input": list(texts), "truncate": True, **shortened}

    def vectors(self, answer: Mapping[str, JsonValue]) -> JsonValue:
        return answer["embeddings"]

    def missing_model(self, model: str) -> str:
        return f"Run `ollama pull {model}` where Ollama runs, or set ENGRAIN_EMBEDDING_MODEL."


Dialect = OpenAiDialect | OllamaDialect
