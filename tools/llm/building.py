"""Choice of a language model by specification."""

from collections.abc import Mapping
from importlib.util import find_spec

from stores.errors import InvalidSetting
from tools.llm.model import LIBRARY, LanguageModel, ModelSpec, Naming, Provider

ADAPTERS: Mapping[Provider, str] = {
    "openai": "openai", "ollama": "openai", "anthropic": "anthropic", "google": "google.genai",
}  # fmt: skip


def build_language_model(spec: ModelSpec | None, naming: Naming | None = None) -> LanguageModel | None:
    """Return the configured model, not yet imported, or None.

    Raises:
        InvalidSetting: The library is not installed, or a hosted provider has no key.
    """
    if spec is None:
        return None
    naming = naming or Naming()
    if not all(map(_is_installed, (LIBRARY, ADAPTERS[spec.provider]))):
        raise InvalidSetting(
            f"{naming.provider} is set, and the library for language models is not installed.",
            remediation=f"Install engrain with its extra: pip install 'engrain[llm]'. Or unset {naming.provider}.",
        )
    if spec.provider != "ollama" and spec.base_url is None and spec.api_key is None:
        raise InvalidSetting(
            f"{naming.api_key} is needed with {naming.provider}={spec.provider}.",
            remediation=f"Set the key, or {naming.base_url} to a server that needs none.",
        )
    from tools.llm.provider import RemoteModel  # noqa: PLC0415 - an HTTP client that a start without a model saves

    return RemoteModel(spec)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
