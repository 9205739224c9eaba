"""Read the configuration files; the repository's overrides the personal one.

A repository's file is untrusted: it may not set a server or a key, or a file outside the repository.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePath
from typing import Any

from cli.release_notes.document.presets import PresetName
from cli.release_notes.failure import ReleaseNotesFailed

PROJECT_FILE = ".engrain.toml"
PERSONAL_FILE = "config.toml"
TABLE = "release_notes"
SIZE_LIMIT = 1_000_000
_SECRETS = ("api_key", "key", "token", "secret", "password")


@dataclass(frozen=True, slots=True)
class Configuration:
    """Table `[release_notes]` of one file. `context_tokens` includes the model's answer."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    timeout_s: float | None = None
    context_tokens: int | None = None
    preset: PresetName | None = None
    instructions: str | None = None
    critic: bool | None = None
    file: str | None = None


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("provider", "model", "base_url", "preset", "instructions", "file"), str),
    "timeout_s": (int, float),
    "context_tokens": int,
    "critic": bool,
}
_WORDS: Mapping[object, str] = {str: "a text", (int, float): "a number", int: "a whole number", bool: "true or false"}


def personal_configuration() -> Configuration:
    """Read the user's `config.toml`.

    Raises:
        ReleaseNotesFailed: It cannot be read or is invalid.
    """
    import platformdirs  # noqa: PLC0415 - the help does not need it

    return read_configuration(Path(platformdirs.user_config_dir("engrain", appauthor=False)) / PERSONAL_FILE)


def project_configuration(folder: Path) -> Configuration:
    """Read the repository's `.engrain.toml`.

    Raises:
        ReleaseNotesFailed: It cannot be read, is invalid or sets what it may not.
    """
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if root is None:
        return Configuration()
    path = root / PROJECT_FILE
    found = read_configuration(path)
    if found.base_url is not None:
        raise ReleaseNotesFailed(
            f"{path} sets base_url, which a repository may not: your key would go there. "
            "Set it in your own configuration, or as ENGRAIN_LLM_BASE_URL."
        )
    if found.file is not None and not _is_inside(folder, root, found.file):
        raise ReleaseNotesFailed(f"{path} names a file outside of the repository: {found.file}.")
    return found


def _is_inside(folder: Path, root: Path, file: str) -> bool:
    if PurePath(file).is_absolute() or ".." in PurePath(file).parts or "\0" in file:
        return False
    try:
        return (folder / file).resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # links that lead in a circle
        return False


def read_configuration(path: Path) -> Configuration:
    """Read one file; an absent one is empty.

    Raises:
        ReleaseNotesFailed: It cannot be read or is invalid.
    """
    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise ReleaseNotesFailed(f"{path} is too long for a configuration.")
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return Configuration()
    except OSError as error:
        raise ReleaseNotesFailed(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ReleaseNotesFailed(f"{path} is not UTF-8.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ReleaseNotesFailed(f"{path} is not TOML: {error}.") from None
    table = data.get(TABLE, {})
    if not isinstance(table, dict):
        raise ReleaseNotesFailed(f"{path}: {TABLE} has to be a table, [{TABLE}].")
    return Configuration(**_checked(path, table))


def _checked(path: Path, table: dict[str, object]) -> dict[str, Any]:
    known = [field.name for field in fields(Configuration)]
    for name, value in table.items():
        if name in _SECRETS:
            raise ReleaseNotesFailed(f"{path} holds {name}: keys are read from the environment alone. Remove it there.")
        if name not in known:
            raise ReleaseNotesFailed(f"{path}: {name} is not known here. Known are {', '.join(known)}.")
        wanted = _TYPES[name]
        # A boolean is a whole number to Python.
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise ReleaseNotesFailed(f"{path}: {name} has to be {_WORDS[wanted]}.")
        if name in ("timeout_s", "context_tokens") and isinstance(value, int | float) and not value > 0:
            raise ReleaseNotesFailed(f"{path}: {name} has to be above zero.")
    checked = dict(table)
    if isinstance(preset := checked.get("preset"), str):
        if preset.lower() not in set(PresetName):
            raise ReleaseNotesFailed(f"{path}: there is no preset {preset}. There are {', '.join(PresetName)}.")
        checked["preset"] = PresetName(preset.lower())
    return checked
