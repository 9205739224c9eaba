"""Choose the language model: flags, environment, repository file, personal file, in that order.

A model name, server or key applies only to the provider named in the same place, so that no key reaches another server.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cli.release_notes.configuration import Configuration
from cli.release_notes.failure import ReleaseNotesFailed
from tools.runtime.client_settings import KEY_NAMES, ModelSettings

OFFLINE = "offline"
ENVIRONMENT = "ENGRAIN_LLM_PROVIDER"
PROVIDERS: Mapping[str, str] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "claude": "anthropic",
    "google": "google",
    "ollama": "ollama",
    OFFLINE: OFFLINE,
    "none": OFFLINE,
}
CONTEXT_TOKENS: Mapping[str, int] = {"openai": 128_000, "anthropic": 200_000, "google": 1_000_000, "ollama": 4_096}
OTHER_SERVER_TOKENS = 16_000
TIMEOUT_S = 120.0
KEY_LENGTH = 20
_KEY_PREFIX: Mapping[str, str] = {"openai": "sk-", "anthropic": "sk-ant-", "google": ""}


@dataclass(frozen=True, slots=True)
class Chosen:
    provider: str
    model: str
    base_url: str | None
    api_key: str | None = field(repr=False)
    key_from: str | None
    provider_from: str
    timeout_s: float
    context_tokens: int


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    says: Configuration


def provider_named(name: str) -> str | None:
    return PROVIDERS.get(name.strip().lower())


def choose_model(
    flags: Configuration, environment: ModelSettings, project: Configuration, personal: Configuration
) -> Chosen | None:
    """Return the model to ask; None if no place names a provider or a model.

    Raises:
        ReleaseNotesFailed: A setting is invalid, or the key or the model's name is missing.
    """
    places = (
        _Place("--provider", flags),
        _Place(
            ENVIRONMENT,
            Configuration(provider=environment.provider, model=environment.model, base_url=environment.base_url),
        ),
        _Place("the repository's .engrain.toml", project),
        _Place("your config.toml", personal),
    )
    naming = next((place for place in places if place.says.provider is not None), None)
    if naming is None:
        if flags.model is None:
            return None
        naming = _Place("--model", Configuration(provider=next(iter(environment.keys), "openai")))
    provider = provider_named(naming.says.provider or "")
    if provider is None:
        raise ReleaseNotesFailed(
            f"{naming.name} names {naming.says.provider}, which is no provider. There are {', '.join(PROVIDERS)}."
        )
    if provider == OFFLINE:
        return None
    return _filled(provider, naming, [each for each in places if _is_about(each, provider)], environment)


def _filled(provider: str, naming: _Place, places: list[_Place], environment: ModelSettings) -> Chosen:
    model = next((each.says.model for each in places if each.says.model), None)
    if model is None:
        raise ReleaseNotesFailed(
            f"{naming.name} names {provider}, but nothing names a model. Add --model NAME, or set ENGRAIN_LLM_MODEL."
        )
    if any(each.name == ENVIRONMENT for each in places):
        places = [_Place("", Configuration(timeout_s=_seconds(environment.timeout_s))), *places]
    base_url = next((each.says.base_url for each in places if each.says.base_url), None)
    if base_url is not None:
        _check_address(base_url)
    key, key_from = _key(provider, environment, base_url)
    own_server = OTHER_SERVER_TOKENS if base_url and provider != "ollama" else CONTEXT_TOKENS[provider]
    return Chosen(
        provider,
        model,
        base_url,
        key,
        key_from,
        naming.name,
        next((each.says.timeout_s for each in places if each.says.timeout_s), TIMEOUT_S),
        next((each.says.context_tokens for each in places if each.says.context_tokens), own_server),
    )


def _key(provider: str, environment: ModelSettings, base_url: str | None) -> tuple[str | None, str | None]:
    own = environment.provider is None or provider_named(environment.provider) == provider
    if environment.api_key is not None and own:
        key, name = environment.api_key, "ENGRAIN_LLM_API_KEY"
    elif provider in environment.keys and base_url is None:  # a maker's key is for the maker's own server
        key, name = environment.keys[provider], KEY_NAMES[provider]
    elif provider == "ollama" or base_url is not None:
        return None, None
    else:
        raise ReleaseNotesFailed(f"A key is missing: set {KEY_NAMES[provider]} to write the notes with {provider}.")
    # The HTTP library would quote the whole key in its complaint.
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ReleaseNotesFailed(f"{name} holds a character that no key has: copy it again.")
    prefix = _KEY_PREFIX.get(provider, "")
    if base_url is None and provider in KEY_NAMES and (len(key) < KEY_LENGTH or not key.startswith(prefix)):
        starts = f" and begins with {prefix}" if prefix else ""
        raise ReleaseNotesFailed(
            f"{name} is no key of {provider}: one has at least {KEY_LENGTH} characters{starts}. Copy it again."
        )
    return key, name


def _is_about(place: _Place, provider: str) -> bool:
    return place.says.provider is None or provider_named(place.says.provider) == provider


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise ReleaseNotesFailed(f"ENGRAIN_LLM_TIMEOUT_S={text} is no number of seconds.")
    return seconds


def _check_address(address: str) -> None:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - only with a server of one's own

    from tools.runtime.settings_checks import ModelAddress  # noqa: PLC0415 - as above

    try:
        TypeAdapter(ModelAddress).validate_python(address)
    except ValidationError:
        raise ReleaseNotesFailed(
            "The address of the language model's server must be an http or https URL of scheme, host, port and path."
        ) from None
