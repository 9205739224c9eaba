"""Parse manifests: name, version, platform, members of a workspace. Runs nothing."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from cli.release_notes.facts import ProjectFile

_NAME = re.compile(r"@?[A-Za-z0-9][\w.-]*(?:[/:][\w.-]+)*")
_MAKERS = frozenset(
    ("dev", "develop", "development", "test", "tests", "docs", "doc", "lint", "typing", "types", "build", "ci", "all")
)
_VERSION_FORM = re.compile(r"[\w.+!-]{1,80}")
_NEEDS = re.compile(r"[\w.<>=!~^*|, -]{1,80}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One way to install the project.

    Attributes:
        name: As in the package index; empty if it is only built in place, or names a workspace alone.
        version: None if it comes from elsewhere, such as the tag.
        needs: Platform and version: `Python >=3.11`.
        is_published: False if the file excludes it from package indexes.
        is_program: Run rather than imported.
        members: Folders of a workspace, which may end with `*`.
        runner: What installs packages: `pnpm`, `yarn` or `npm`.
    """

    path: str
    tool: str
    name: str
    version: str | None = None
    needs: str | None = None
    extras: tuple[str, ...] = ()
    is_published: bool = True
    is_program: bool = False
    members: tuple[str, ...] = ()
    runner: str = ""


def read_manifest(file: ProjectFile) -> Manifest | None:
    """Read one file; None if it is damaged, unknown or not installable."""
    reader = _reader(PurePosixPath(file.path).name)
    try:
        found = reader(file) if reader is not None else None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, ConfigError):
        return None
    usable = found is not None and (
        _NAME.fullmatch(found.name) or (not found.name and (found.members or not found.is_published))
    )
    return found if usable else None


def is_manifest(name: str) -> bool:
    return _reader(name) is not None


def _python(file: ProjectFile) -> Manifest:
    data = tomllib.loads(file.text)
    project = data.get("project") or data.get("tool", {}).get("poetry") or {}
    needs = project.get("requires-python") or project.get("dependencies", {}) or None
    extras = [*project.get("optional-dependencies", {}), *project.get("extras", {})]
    return Manifest(
        file.path, "pip", str(project["name"]), _fitting(_VERSION_FORM, project.get("version")),
        _need("Python", needs.get("python") if isinstance(needs, dict) else needs),
        tuple(each for each in extras if _NAME.fullmatch(each) and each.lower() not in _MAKERS),
        is_published=not any(str(each).startswith("Private ::") for each in project.get("classifiers") or []),
    )  # fmt: skip


def _setup_cfg(file: ProjectFile) -> Manifest:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.read_string(file.text)
    version, needs = (
        parser.get("metadata", "version", fallback=None),
        parser.get("options", "python_requires", fallback=None),
    )
    return Manifest(
        file.path, "pip", parser["metadata"]["name"], _fitting(_VERSION_FORM, version), _need("Python", needs)
    )


def _node(file: ProjectFile) -> Manifest:
    data = json.loads(file.text)
    private, engines, workspaces = bool(data.get("private")), data.get("engines"), data.get("workspaces") or []
    members = workspaces.get("packages", []) if isinstance(workspaces, dict) else workspaces
    return Manifest(
        file.path, "npm", "" if private and members else str(data.get("name", "")),
        _fitting(_VERSION_FORM, data.get("version")),
        _need("Node.js", engines.get("node") if isinstance(engines, dict) else None),
        is_published=not private,
        is_program=bool(data.get("bin")), members=_texts(members),
        runner=str(data.get("packageManager", "")).partition("@")[0],
    )  # fmt: skip


def _pnpm(file: ProjectFile) -> Manifest:
    members = re.findall(r"^\s*-\s*['\"]?([^'\"#\s!]+)['\"]?\s*$", file.text, re.M)
    return Manifest(file.path, "npm", "", is_published=False, members=tuple(members), runner="pnpm")


def _rust(file: ProjectFile) -> Manifest:
    data = tomllib.loads(file.text)
    package, workspace = data.get("package") or {}, data.get("workspace") or {}
    needs = package.get("rust-version") or (workspace.get("package") or {}).get("rust-version")
    return Manifest(
        file.path, "cargo", str(package.get("name", "")), _fitting(_VERSION_FORM, package.get("version")),
        _need("Rust", needs), is_published=bool(package) and package.get("publish") is not False,
        members=_texts(workspace.get("members", [])),
    )  # fmt: skip


def _go(file: ProjectFile) -> Manifest | None:
    module = re.search(r"^module\s+\"?([^\s\"]+)", file.text, re.MULTILINE)
    needs = re.search(r"^go\s+([\d.]+)", file.text, re.MULTILINE)
    return Manifest(file.path, "go", module[1], needs=_need("Go", needs and needs[1])) if module else None


def _php(file: ProjectFile) -> Manifest:
    data = json.loads(file.text)
    needs, version = (data.get("require") or {}).get("php"), _fitting(_VERSION_FORM, data.get("version"))
    is_library = data.get("type", "library") != "project"
    return Manifest(file.path, "composer", str(data["name"]), version, _need("PHP", needs), is_published=is_library)


def _gem(file: ProjectFile) -> Manifest | None:
    name, version = (re.search(rf"\.{what}\s*=\s*['\"]([^'\"]+)['\"]", file.text) for what in ("name", "version"))
    return Manifest(file.path, "gem", name[1], _fitting(_VERSION_FORM, version and version[1])) if name else None


def _docker(file: ProjectFile) -> Manifest:
    return Manifest(file.path, "docker", "", is_published=False)


_READERS: Mapping[str, Callable[[ProjectFile], Manifest | None]] = {
    "pyproject.toml": _python, "setup.cfg": _setup_cfg, "package.json": _node, "pnpm-workspace.yaml": _pnpm,
    "Cargo.toml": _rust, "go.mod": _go, "composer.json": _php, "Dockerfile": _docker,
}  # fmt: skip


def _reader(name: str) -> Callable[[ProjectFile], Manifest | None] | None:
    return _gem if name.endswith(".gemspec") else _READERS.get(name)


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(each for each in values if isinstance(each, str) and not each.startswith("!"))


def _fitting(form: re.Pattern[str], value: object) -> str | None:
    return value.strip() if isinstance(value, str) and form.fullmatch(value.strip()) else None


def _need(platform: str, value: object) -> str | None:
    fitting = _fitting(_NEEDS, value)
    return f"{platform} {fitting}" if fitting else None
