"""Settings of client commands and of the language model."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

PREFIX = "ENGRAIN_"
_NEAR = 0.75
"""Ratcliff-Obershelp similarity above which a name is taken for a misspelling."""

DESCRIPTIONS: Mapping[str, str] = {
    "url": "URL of the server for client commands such as `engrain whoami`; that of the last `engrain login` if unset.",
    "token": "Access token or API key for client commands, instead of that of `engrain login`.",
}


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Settings of client commands; an empty value counts as unset."""

    url: str | None = None
    token: str | None = field(default=None, repr=False)


def read_client_settings(environ: Mapping[str, str]) -> tuple[ClientSettings, list[str]]:
    """Return the settings, and a warning for each misspelled `ENGRAIN_*` name.

    The server warns of other unknown names.
    """
    found = {name: environ.get(f"{PREFIX}{name.upper()}", "").strip() or None for name in DESCRIPTIONS}
    warnings = []
    for name in sorted(each for each in environ if each.startswith(PREFIX)):
        given = name.removeprefix(PREFIX).lower()
        near = difflib.get_close_matches(given, DESCRIPTIONS, n=1, cutoff=_NEAR)
        if given not in DESCRIPTIONS and near:
            warnings.append(f"{name} is not a setting of Engrain; did you mean {PREFIX}{near[0].upper()}?")
    return ClientSettings(**found), warnings


KEY_NAMES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
}


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Unchecked settings `ENGRAIN_LLM_*`, and `KEY_NAMES` by provider."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_s: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_model_settings(environ: Mapping[str, str]) -> ModelSettings:
    names = ("provider", "model", "base_url", "api_key", "timeout_s")
    found = {name: environ.get(f"{PREFIX}LLM_{name.upper()}", "").strip() or None for name in names}
    keys = {provider: key for provider, name in KEY_NAMES.items() if (key := environ.get(name, "").strip())}
    return ModelSettings(**found, keys=keys)
