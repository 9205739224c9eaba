"""Settings: flags, environment, the repository's `.engrain.toml`, the personal `config.toml`, in that order.

A repository's file is untrusted: it may not set a server or a key, or a file outside the repository. A model name,
server or key applies only to the provider named in the same place, so that no key reaches another server.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, PositiveFloat, PositiveInt, TypeAdapter, ValidationError

from cli.release_notes.facts import ReleaseNotesFailed
from tools.runtime.client_settings import KEY_NAMES, ModelSettings

if TYPE_CHECKING:
    from tools.llm.model import ModelSpec

DEFAULT_FILE, SIZE_LIMIT = "RELEASE_NOTES.md", 1_000_000
TIMEOUT_S, OTHER_SERVER_TOKENS, KEY_LENGTH = 120.0, 16_000, 20
CONTEXT_TOKENS = {"openai": 128_000, "anthropic": 200_000, "google": 1_000_000, "ollama": 4_096}
DEFAULT_MODELS = {"openai": "gpt-5-mini", "anthropic": "claude-sonnet-4-5", "google": "gemini-2.5-flash"}
"""Default models, by provider."""
_KEY_PREFIX = {"openai": "sk-", "anthropic": "sk-ant-"}
PROVIDERS: Mapping[str, str] = {
    "openai": "openai", "anthropic": "anthropic", "claude": "anthropic", "google": "google", "ollama": "ollama",
    "offline": "offline", "none": "offline",
}  # fmt: skip
PresetName = StrEnum("PresetName", ("DEFAULT", "CONCISE", "DETAILED", "TECHNICAL"))


@dataclass(frozen=True, slots=True)
class Preset:
    """Longest lists; `terse` drops scopes, second sentences and remarks, `details` shows whole message bodies."""

    highlights: int
    listed: int
    other: int
    cited: int
    people: int
    manner: str
    details: bool = False
    terse: bool = False


PRESETS: dict[PresetName, Preset] = {
    PresetName.DEFAULT: Preset(
        5, 2_000, 0, 3, 30, "Write for users of the project: what they can do now, and what they have to do. Plainly."
    ),
    PresetName.CONCISE: Preset(
        3, 5, 0, 1, 15, "Be brief: at most twelve words for each statement, two sentences for the overview.", terse=True
    ),
    PresetName.DETAILED: Preset(
        8, 2_000, 20, 10, 100, "Be thorough: say what each change is, why it was made and what it means.", details=True
    ),
    PresetName.TECHNICAL: Preset(
        5, 2_000, 2_000, 10, 100, "Write for developers: name the interfaces and settings that changed, precisely."
    ),
}


class Configuration(BaseModel):
    """Table `[release_notes]` of one file. `context_tokens` includes the model's answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    provider: Annotated[
        str | None, BeforeValidator(lambda name: PROVIDERS.get(str(name).strip().lower(), name) if name else None)
    ] = None
    model: str | None = None
    base_url: str | None = None
    timeout_s: PositiveFloat | None = None
    context_tokens: PositiveInt | None = None
    preset: Annotated[PresetName | None, BeforeValidator(lambda name: name and PresetName(str(name).lower()))] = None
    instructions: str | None = None
    critic: bool | None = None
    file: str | None = None


class Chosen(NamedTuple):
    """A model to ask, with the place that names its provider."""

    spec: "ModelSpec"
    provider_from: str
    context_tokens: int


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of one run; `model` is None if no language model is asked."""

    preset: PresetName
    instructions: str
    critic: bool
    file: str
    model: Chosen | None


def personal_configuration() -> Configuration:
    import platformdirs  # noqa: PLC0415 - the help does not need it

    return read_configuration(Path(platformdirs.user_config_dir("engrain", appauthor=False)) / "config.toml")


def project_configuration(folder: Path) -> Configuration:
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if root is None:
        return Configuration()
    found = read_configuration(root / ".engrain.toml")
    if found.base_url is not None:
        raise ReleaseNotesFailed(
            f"{root}/.engrain.toml sets base_url, which a repository may not: your key would go there."
        )
    if found.file is not None and not _is_inside(folder, root, found.file):
        raise ReleaseNotesFailed(f"{root}/.engrain.toml names a file outside of the repository: {found.file}.")
    return found


def _is_inside(folder: Path, root: Path, file: str) -> bool:
    try:
        return (folder / file).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # links that lead in a circle, a NUL
        return False


def read_configuration(path: Path) -> Configuration:
    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise ReleaseNotesFailed(f"{path} is too long for a configuration.")
        return Configuration.model_validate(tomllib.loads(path.read_text(encoding="utf-8")).get("release_notes", {}))
    except (FileNotFoundError, NotADirectoryError):
        return Configuration()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        unknown = "not known here; keys are read from the environment alone"
        why = unknown if first["type"] == "extra_forbidden" else first["msg"]
        raise ReleaseNotesFailed(f"{path}: {'.'.join(map(str, first['loc']))}: {why}.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ReleaseNotesFailed(f"{path} cannot be read as TOML: {error}.") from None


def planned(
    flags: Configuration, environment: ModelSettings, project: Configuration, personal: Configuration
) -> RunSettings:
    places = (flags, project, personal)
    defaults = {"preset": PresetName.DEFAULT, "instructions": "", "critic": True, "file": DEFAULT_FILE}
    told = {name: _first(places, name, default) for name, default in defaults.items()}
    return RunSettings(**told, model=choose_model(flags, environment, project, personal))


def _first(places: Iterable[Configuration], name: str, default: Any = None) -> Any:
    return next((value for each in places if (value := getattr(each, name)) is not None), default)


def choose_model(
    flags: Configuration, environment: ModelSettings, project: Configuration, personal: Configuration
) -> Chosen | None:
    """Return the model to ask; None if no place names a provider or a model."""
    from tools.llm.model import ModelSpec  # noqa: PLC0415 - the help does not need it

    ours = Configuration(provider=environment.provider, model=environment.model, base_url=environment.base_url)
    places = {
        "--provider": flags, "ENGRAIN_LLM_PROVIDER": ours, "the repository's .engrain.toml": project,
        "your config.toml": personal,
    }  # fmt: skip
    with_key = _provider_with_key(environment)
    unnamed = "--model" if flags.model else KEY_NAMES.get(with_key or "", "")
    source = next((name for name, each in places.items() if each.provider), unnamed)
    provider = _first(places.values(), "provider", with_key or (flags.model and "openai"))
    if provider in (None, "offline"):
        return None
    if provider not in PROVIDERS.values():
        raise ReleaseNotesFailed(f"{source} names the unknown provider {provider}. Name one of {', '.join(PROVIDERS)}.")
    about = [each for each in places.values() if each.provider in (None, provider)]
    model, base_url, timeout_s = (_first(about, name) for name in ("model", "base_url", "timeout_s"))
    model = model or (DEFAULT_MODELS.get(provider) if base_url is None else None)
    if not model:
        raise ReleaseNotesFailed(
            f"{source} names {provider}, but nothing names a model: add --model NAME, or set ENGRAIN_LLM_MODEL."
        )
    if environment.timeout_s is not None and ours in about:
        complaint = f"ENGRAIN_LLM_TIMEOUT_S={environment.timeout_s} is not a positive number of seconds."
        timeout_s = _valid(PositiveFloat, environment.timeout_s, complaint)
    if base_url is not None:
        from tools.runtime.settings_checks import PublicAddress  # noqa: PLC0415 - only with a server of one's own

        complaint = "The language model's address must be an http or https URL of scheme, host, port and path."
        _valid(PublicAddress, base_url, complaint)
    key = _key(provider, environment, base_url, own=ours in about)
    tokens = OTHER_SERVER_TOKENS if base_url and provider != "ollama" else CONTEXT_TOKENS[provider]
    tokens = _first(about, "context_tokens", tokens)
    return Chosen(ModelSpec(provider, model, base_url, key, timeout_s or TIMEOUT_S), source, tokens)


def _provider_with_key(environment: ModelSettings) -> str | None:
    from tools.llm.model import LIBRARY  # noqa: PLC0415 - the help does not need it

    if find_spec(LIBRARY) is None:
        return None
    return next((name for name in DEFAULT_MODELS if len(environment.keys.get(name, "")) >= KEY_LENGTH), None)


def _valid(kind: Any, value: str, complaint: str) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        raise ReleaseNotesFailed(complaint) from None


def _key(provider: str, environment: ModelSettings, base_url: str | None, *, own: bool) -> str | None:
    # A maker's key is for the maker's own server.
    name, key = KEY_NAMES.get(provider, ""), environment.keys.get(provider) if base_url is None else None
    if environment.api_key is not None and own:
        name, key = "ENGRAIN_LLM_API_KEY", environment.api_key
    if key is None:
        if provider == "ollama" or base_url is not None:
            return None
        raise ReleaseNotesFailed(f"A key is missing: set {name} to write the notes with {provider}.")
    # The HTTP library would quote a key that it cannot send.
    prefix = _KEY_PREFIX.get(provider, "") if base_url is None else ""
    fits = base_url is not None or provider == "ollama" or len(key) >= KEY_LENGTH
    if not (fits and key.startswith(prefix) and key.isascii() and key.isprintable() and " " not in key):
        begins = f", starting with {prefix}," if prefix else ""
        raise ReleaseNotesFailed(
            f"{name} is not a key of {provider}: a key has at least {KEY_LENGTH} characters{begins} and no spaces."
            " Copy it again."
        )
    return key
