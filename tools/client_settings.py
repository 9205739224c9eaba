"""Settings of commands beside the server's own: a few names, read without loading what the server's settings need."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

PREFIX = "ENGRAIN_"
_NEAR = 0.75
"""How alike two names are (Ratcliff and Obershelp) of which one is probably a slip of the other."""

DESCRIPTIONS: Mapping[str, str] = {
    "url": "Address of the server that commands such as `engrain whoami` talk to; the one of the last `engrain login` "
    "when unset.",
    "token": "Access token or API key that these commands send, instead of what `engrain login` keeps.",
}


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The field `url` is read from `ENGRAIN_URL`, and so on; an empty value counts as unset."""

    url: str | None = None
    token: str | None = field(default=None, repr=False)


def read_client_settings(environ: Mapping[str, str]) -> tuple[ClientSettings, list[str]]:
    """Read the settings from an environment.

    Returns the settings and one warning for each `ENGRAIN_*` name that is probably a slip of one of these. Other names
    belong to the server, which warns of those that it does not know.
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
"""Where the makers of language models say to keep their keys."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A language model as an environment states it, unchecked: `provider` is `ENGRAIN_LLM_PROVIDER`, and so on.

    Attributes:
        keys: The makers' own variables that are set, by provider.
    """

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_s: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_model_settings(environ: Mapping[str, str]) -> ModelSettings:
    """Read what an environment says of a language model; an empty value counts as unset."""
    names = ("provider", "model", "base_url", "api_key", "timeout_s")
    found = {name: environ.get(f"{PREFIX}LLM_{name.upper()}", "").strip() or None for name in names}
    keys = {provider: key for provider, name in KEY_NAMES.items() if (key := environ.get(name, "").strip())}
    return ModelSettings(**found, keys=keys)
