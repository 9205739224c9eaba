"""Adapter of the language model library. Needs the extra `llm`; imported late."""

import importlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import structlog
from pydantic import ValidationError

from tools.llm.model import LIBRARY, A, ModelFailed, ModelSpec, Provider, Why
from tools.runtime.threads import in_thread

if TYPE_CHECKING:
    from pydantic_ai.models import Model

QUIET_S = 30.0
ANSWER_TOKENS = 8_000
REQUESTS = 2
SERVERS: Mapping[Provider, str | None] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": None,
    "ollama": "http://127.0.0.1:11434/v1",
}
NO_KEY = "none"
"""Sent without a key: the library would send one from the environment to any server."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

log = structlog.get_logger("llm")


class RemoteModel:
    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._quiet_until = 0.0

    @property
    def name(self) -> str:
        return self._spec.name

    def load(self) -> None:
        importlib.import_module(f"{LIBRARY}.models.{self._spec.provider}")

    async def ask(self, instructions: str, text: str, answer: type[A]) -> A:
        if time.monotonic() < self._quiet_until:
            raise ModelFailed("unreachable")
        # Outside of the time limit: the first import takes seconds.
        await in_thread(self.load)
        try:
            with anyio.fail_after(self._spec.timeout_s):
                return await self._asked(instructions, text, answer)
        except TimeoutError:
            raise self._failed("timeout", f"no answer within {self._spec.timeout_s:.3g} s") from None
        except ModelFailed as failure:
            raise self._failed(failure.why, str(failure.__cause__)) from None

    def _failed(self, why: Why, detail: str) -> ModelFailed:
        if why in ("timeout", "unreachable"):
            self._quiet_until = time.monotonic() + QUIET_S
        key = self._spec.api_key
        # Remove the key before cutting, or its beginning could be left.
        detail = " ".join((detail.replace(key, "***") if key else detail).split())[:300]
        log.warning("language_model_failed", model=self.name, why=why, detail=detail)
        return ModelFailed(why, detail)

    async def _asked(self, instructions: str, text: str, answer: type[A]) -> A:
        from pydantic_ai import Agent, UsageLimits  # noqa: PLC0415 - an extra, and seconds to import
        from pydantic_ai.exceptions import (  # noqa: PLC0415 - as above
            AgentRunError,
            ModelConnectionError,
            ModelRequestRejectedError,
            ModelServerError,
            ModelTimeoutError,
            UserError,
        )

        async with self._http() as http:
            model, output = BUILDERS[self._spec.provider](self._spec, http, answer)
            agent: Agent[None, Any] = Agent(
                model,
                name="engrain",
                output_type=output,
                instructions=instructions,
                retries=REQUESTS - 1,
                model_settings={"temperature": 0.0, "max_tokens": ANSWER_TOKENS},
            )
            try:
                run = await agent.run(text, usage_limits=UsageLimits(request_limit=REQUESTS))
            except ModelTimeoutError as error:
                raise ModelFailed("timeout") from error
            except (ModelConnectionError, ModelServerError, httpx2.HTTPError) as error:
                raise ModelFailed("unreachable") from error
            except (ModelRequestRejectedError, UserError) as error:
                raise ModelFailed("refused") from error
            except (AgentRunError, ValidationError, ValueError) as error:
                raise ModelFailed("bad_answer") from error
        return answer.model_validate(run.output)

    def _http(self) -> httpx2.AsyncClient:
        base = self._spec.base_url or SERVERS[self._spec.provider] or ""
        return httpx2.AsyncClient(
            timeout=self._spec.timeout_s,
            # A proxy or redirect would carry notes and key elsewhere.
            trust_env=httpx2.URL(base).host not in _LOOPBACK,
            follow_redirects=False,
        )


Built = tuple["Model[Any]", Any]
Builder = Callable[[ModelSpec, httpx2.AsyncClient, type[Any]], Built]


def _openai(spec: ModelSpec, http: httpx2.AsyncClient, answer: type[Any]) -> Built:
    from pydantic_ai import NativeOutput, PromptedOutput  # noqa: PLC0415 - an extra
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - an extra
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - an extra

    provider = OpenAIProvider(base_url=spec.base_url or SERVERS["openai"], api_key=_key(spec), http_client=http)
    # Few servers of this protocol enforce a schema, and some refuse one.
    output = NativeOutput(answer) if spec.base_url is None else PromptedOutput(answer)
    return OpenAIChatModel(spec.model, provider=provider), output


def _ollama(spec: ModelSpec, http: httpx2.AsyncClient, answer: type[Any]) -> Built:
    from pydantic_ai import PromptedOutput  # noqa: PLC0415 - an extra
    from pydantic_ai.models.ollama import OllamaModel  # noqa: PLC0415 - an extra
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415 - an extra

    base = (spec.base_url or SERVERS["ollama"] or "").rstrip("/")
    address = base if base.endswith("/v1") else f"{base}/v1"
    provider = OllamaProvider(base_url=address, api_key=_key(spec), http_client=http)
    return OllamaModel(spec.model, provider=provider), PromptedOutput(answer)


def _anthropic(spec: ModelSpec, http: httpx2.AsyncClient, answer: type[Any]) -> Built:
    from pydantic_ai import ToolOutput  # noqa: PLC0415 - an extra
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - an extra
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - an extra

    provider = AnthropicProvider(base_url=spec.base_url or SERVERS["anthropic"], api_key=_key(spec), http_client=http)
    return AnthropicModel(spec.model, provider=provider), ToolOutput(answer)


def _google(spec: ModelSpec, http: httpx2.AsyncClient, answer: type[Any]) -> Built:
    from pydantic_ai import NativeOutput  # noqa: PLC0415 - an extra
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - an extra
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415 - an extra

    provider = GoogleProvider(base_url=spec.base_url, api_key=_key(spec), http_client=http)
    return GoogleModel(spec.model, provider=provider), NativeOutput(answer)


BUILDERS: Mapping[Provider, Builder] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "google": _google,
    "ollama": _ollama,
}


def _key(spec: ModelSpec) -> str:
    return spec.api_key or NO_KEY
