"""Adapter of the language model library. Needs the extra `llm`; imported late."""

import importlib
import time
from collections.abc import Mapping
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
CLASSES: Mapping[Provider, tuple[str, str, str]] = {
    "openai": ("OpenAIChatModel", "OpenAIProvider", "NativeOutput"),
    "anthropic": ("AnthropicModel", "AnthropicProvider", "ToolOutput"),
    "google": ("GoogleModel", "GoogleProvider", "NativeOutput"),
    "ollama": ("OllamaModel", "OllamaProvider", "PromptedOutput"),
}
"""Names of the model, its provider and its output mode in the library."""
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
            model, output = _built(self._spec, http, answer)
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


def _built(spec: ModelSpec, http: httpx2.AsyncClient, answer: type[Any]) -> tuple["Model[Any]", Any]:
    model, provider, output = CLASSES[spec.provider]
    base = spec.base_url or SERVERS[spec.provider]
    if spec.provider == "ollama" and base is not None:
        base = f"{base.rstrip('/').removesuffix('/v1')}/v1"
    if spec.provider == "openai" and spec.base_url is not None:
        # Few servers of this protocol enforce a schema, and some refuse one.
        output = "PromptedOutput"
    library, models, providers = (
        importlib.import_module(name)
        for name in (LIBRARY, f"{LIBRARY}.models.{spec.provider}", f"{LIBRARY}.providers.{spec.provider}")
    )
    server = getattr(providers, provider)(base_url=base, api_key=spec.api_key or NO_KEY, http_client=http)
    return getattr(models, model)(spec.model, provider=server), getattr(library, output)(answer)
