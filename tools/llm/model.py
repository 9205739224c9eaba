"""Language models: how one is chosen, and how it is asked."""

import importlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import anyio
import structlog
from pydantic import BaseModel, ValidationError

from stores.errors import InvalidSetting
from tools.frame.threads import in_thread

if TYPE_CHECKING:
    from pydantic_ai.models import Model

Provider = Literal["openai", "anthropic", "google", "ollama"]
Why = Literal["timeout", "unreachable", "refused", "bad_answer"]
A = TypeVar("A", bound=BaseModel)
LIBRARY = "pydantic_ai"
"""Needs the extra `llm`; imported late."""


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


QUIET_S = 30.0
ANSWER_TOKENS = 8_000
REQUESTS = 2


class Adapter(NamedTuple):
    """Package that it needs, its server, and names of its model, provider and output mode in the library."""

    package: str
    server: str
    model: str
    provider: str
    output: str


ADAPTERS: Mapping[Provider, Adapter] = {
    "openai": Adapter("openai", "https://api.openai.com/v1", "OpenAIChatModel", "OpenAIProvider", "NativeOutput"),
    "anthropic": Adapter("anthropic", "https://api.anthropic.com", "AnthropicModel", "AnthropicProvider", "ToolOutput"),
    "google": Adapter("google.genai", "", "GoogleModel", "GoogleProvider", "NativeOutput"),
    "ollama": Adapter("openai", "http://127.0.0.1:11434/v1", "OllamaModel", "OllamaProvider", "PromptedOutput"),
}
NO_KEY = "none"
"""Sent without a key: the library would send one from the environment to any server."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

log = structlog.get_logger("llm")


class LanguageModel:
    """A model: instructions and text in, an object out. Safe for concurrent tasks."""

    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.name
        self._spec = spec
        self._quiet_until = 0.0

    def load(self) -> None:
        """Import the library, which takes seconds; else the first question does."""
        importlib.import_module("httpx2")
        importlib.import_module(f"{LIBRARY}.models.{self._spec.provider}")

    async def ask(self, instructions: str, text: str, answer: type[A]) -> A:
        """Return the answer, within the time limit, retries included.

        Raises:
            ModelFailed: No usable answer.
        """
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
        import httpx2  # noqa: PLC0415 - a start without a model saves it
        from pydantic_ai import Agent, UsageLimits, exceptions  # noqa: PLC0415 - an extra, and seconds to import

        base = self._spec.base_url or ADAPTERS[self._spec.provider].server
        # A proxy or redirect would carry notes and key elsewhere.
        is_remote = httpx2.URL(base).host not in _LOOPBACK
        timeout_s = self._spec.timeout_s
        async with httpx2.AsyncClient(timeout=timeout_s, trust_env=is_remote, follow_redirects=False) as http:
            model, output = _built(self._spec, base, http, answer)
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
            except exceptions.ModelTimeoutError as error:
                raise ModelFailed("timeout") from error
            except (exceptions.ModelConnectionError, exceptions.ModelServerError, httpx2.HTTPError) as error:
                raise ModelFailed("unreachable") from error
            except (exceptions.ModelRequestRejectedError, exceptions.UserError) as error:
                raise ModelFailed("refused") from error
            except (exceptions.AgentRunError, ValidationError, ValueError) as error:
                raise ModelFailed("bad_answer") from error
        return answer.model_validate(run.output)


def _built(spec: ModelSpec, base: str, http: object, answer: type[Any]) -> tuple["Model[Any]", Any]:
    _, _, model, provider, output = ADAPTERS[spec.provider]
    if spec.provider == "ollama":
        base = f"{base.rstrip('/').removesuffix('/v1')}/v1"
    if spec.provider == "openai" and spec.base_url is not None:
        # Few servers of this protocol enforce a schema, and some refuse one.
        output = "PromptedOutput"
    library, models, providers = (
        importlib.import_module(name)
        for name in (LIBRARY, f"{LIBRARY}.models.{spec.provider}", f"{LIBRARY}.providers.{spec.provider}")
    )
    server = getattr(providers, provider)(base_url=base or None, api_key=spec.api_key or NO_KEY, http_client=http)
    return getattr(models, model)(spec.model, provider=server), getattr(library, output)(answer)


def build_language_model(
    spec: ModelSpec | None, *, provider: str = "ENGRAIN_LLM_PROVIDER", api_key: str = "ENGRAIN_LLM_API_KEY"
) -> LanguageModel | None:
    """Return the configured model, not yet imported, or None. Errors name the settings of provider and key.

    Raises:
        InvalidSetting: The library is not installed, or a hosted provider has no key.
    """
    if spec is None:
        return None
    if not all(map(_is_installed, (LIBRARY, ADAPTERS[spec.provider].package))):
        raise InvalidSetting(
            f"{provider} is set, and the library for language models is not installed.",
            remediation=f"Install engrain with its extra: pip install 'engrain[llm]'. Or unset {provider}.",
        )
    if spec.provider != "ollama" and spec.base_url is None and spec.api_key is None:
        raise InvalidSetting(
            f"{api_key} is needed with {provider}={spec.provider}.",
            remediation="Set the key, or ENGRAIN_LLM_BASE_URL to a server that needs none.",
        )
    return LanguageModel(spec)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
