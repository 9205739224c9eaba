"""Parse manifests: name, version, requirements. Runs nothing."""

import ast
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from pathlib import PurePosixPath

from cli.release_notes.facts import ProjectFile

_NAME = re.compile(r"@?[A-Za-z0-9][\w.-]*(?:[/:][\w.-]+)*")
_MAKERS = "dev develop development test tests testing docs doc lint typing types build ci all format benchmark bench"
_FOR_MAKERS = frozenset(_MAKERS.split())
_VERSION_FORM = re.compile(r"[\w.+!-]{1,80}")
_NEEDS = re.compile(r"[\w.<>=!~^*|, -]{1,80}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One way to install the project.

    Attributes:
        name: As in the package index; empty if it is only built in place.
        version: None if it comes from elsewhere, such as the tag.
        needs: Platform and version: `Python >=3.11`.
        is_published: False if the file excludes it from package indexes.
        is_program: Run rather than imported.
    """

    path: str
    tool: str
    name: str
    version: str | None = None
    needs: str | None = None
    extras: tuple[str, ...] = ()
    is_published: bool = True
    is_program: bool = False


def read_manifest(file: ProjectFile) -> Manifest | None:
    """Read one file; None if it is damaged, unknown or not installable."""
    reader = _reader(PurePosixPath(file.path).name)
    try:
        found = reader(file) if reader is not None else None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, SyntaxError, ConfigError):
        return None
    # What is only built where it lies needs no name.
    named = found is not None and (_NAME.fullmatch(found.name) or (not found.name and not found.is_published))
    return found if named else None


def _python(file: ProjectFile) -> Manifest | None:
    data = tomllib.loads(file.text)
    project = data.get("project") or data.get("tool", {}).get("poetry") or {}
    if "name" not in project:
        return None
    needs = project.get("requires-python") or project.get("dependencies", {}) or None
    if isinstance(needs, dict):
        needs = needs.get("python")
    extras = [*project.get("optional-dependencies", {}), *project.get("extras", {})]
    classifiers = project.get("classifiers") or []
    return Manifest(
        file.path, "pip", str(project["name"]), _version(project.get("version")),
        _need("Python", needs),
        tuple(each for each in extras if _NAME.fullmatch(each) and each.lower() not in _FOR_MAKERS),
        is_published=not any(str(each).startswith("Private ::") for each in classifiers),
        is_program=bool(project.get("scripts")),
    )  # fmt: skip


def _setup_cfg(file: ProjectFile) -> Manifest | None:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.read_string(file.text)
    name = parser.get("metadata", "name", fallback="")
    needs = parser.get("options", "python_requires", fallback=None)
    version = _version(parser.get("metadata", "version", fallback=None))
    return Manifest(file.path, "pip", name, version, _need("Python", needs)) if name else None


def _setup_py(file: ProjectFile) -> Manifest | None:
    for node in ast.walk(ast.parse(file.text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setup"):
            words = {each.arg: each.value.value for each in node.keywords if isinstance(each.value, ast.Constant)}
            if isinstance(words.get("name"), str):
                needs = _need("Python", words.get("python_requires"))
                return Manifest(file.path, "pip", str(words["name"]), _version(words.get("version")), needs)
    return None


def _elixir(file: ProjectFile) -> Manifest | None:
    name = re.search(r"\bapp:\s*:(\w+)", file.text)
    version = re.search(r"\bversion:\s*\"([^\"]+)\"", file.text)
    return Manifest(file.path, "mix", name[1], _version(version and version[1])) if name else None


def _node(file: ProjectFile) -> Manifest | None:
    data = json.loads(file.text)
    if "name" not in data:
        return None
    engines = data.get("engines")
    return Manifest(
        file.path, "npm", str(data["name"]), _version(data.get("version")),
        _need("Node.js", engines.get("node") if isinstance(engines, dict) else None),
        is_published=not data.get("private"), is_program=bool(data.get("bin")),
    )  # fmt: skip


def _rust(file: ProjectFile) -> Manifest | None:
    data = tomllib.loads(file.text)
    package = data.get("package")
    if not isinstance(package, Mapping):
        return None
    is_program = bool(data.get("bin")) or ("lib" not in data and "default-run" in package)
    return Manifest(
        file.path, "cargo", str(package["name"]), _version(package.get("version")),
        _need("Rust", package.get("rust-version")), is_published=package.get("publish") is not False,
        is_program=is_program,
    )  # fmt: skip


def _go(file: ProjectFile) -> Manifest | None:
    module = re.search(r"^module\s+\"?([^\s\"]+)", file.text, re.MULTILINE)
    needs = re.search(r"^go\s+([\d.]+)", file.text, re.MULTILINE)
    return Manifest(file.path, "go", module[1], needs=_need("Go", needs and needs[1])) if module else None


def _php(file: ProjectFile) -> Manifest | None:
    data = json.loads(file.text)
    needs = (data.get("require") or {}).get("php")
    is_library = data.get("type", "library") != "project"
    return Manifest(
        file.path,
        "composer",
        str(data["name"]),
        _version(data.get("version")),
        _need("PHP", needs),
        is_published=is_library,
    )


def _gem(file: ProjectFile) -> Manifest | None:
    name = re.search(r"\.name\s*=\s*['\"]([^'\"]+)['\"]", file.text)
    version = re.search(r"\.version\s*=\s*['\"]([^'\"]+)['\"]", file.text)
    return Manifest(file.path, "gem", name[1], _version(version and version[1])) if name else None


def _compose(file: ProjectFile) -> Manifest | None:
    return Manifest(file.path, "compose", "", is_published=False) if re.search(r"^services:", file.text, re.M) else None


def _docker(file: ProjectFile) -> Manifest | None:
    return (
        Manifest(file.path, "docker", "", is_published=False)
        if re.search(r"^\s*FROM\s", file.text, re.I | re.M)
        else None
    )


def _dart(file: ProjectFile) -> Manifest | None:
    stated = dict(re.findall(r"^(\w+):[ \t]*['\"]?([^'\"\s#]+)", file.text, re.M))
    sdk = re.search(r"^environment:\s*\n(?:[ \t]+.*\n)*?[ \t]+sdk:[ \t]*['\"]?([^'\"\n#]+)", file.text, re.M)
    return Manifest(
        file.path, "pub", stated["name"], _version(stated.get("version")), _need("Dart", sdk and sdk[1].strip()),
        is_published=stated.get("publish_to") != "none" and "version" in stated,
        is_program=re.search(r"^executables:", file.text, re.M) is not None,
    )  # fmt: skip


def _built(tool: str, sign: str) -> Callable[[ProjectFile], Manifest | None]:
    pattern = re.compile(sign, re.I | re.M)
    return lambda file: Manifest(file.path, tool, "", is_published=False) if pattern.search(file.text) else None


_READERS: Mapping[str, Callable[[ProjectFile], Manifest | None]] = {
    "pyproject.toml": _python,
    "package.json": _node,
    "Cargo.toml": _rust,
    "go.mod": _go,
    "composer.json": _php,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
    "mix.exs": _elixir,
    "pubspec.yaml": _dart,
    "CMakeLists.txt": _built("cmake", r"^\s*project\s*\("),
    "meson.build": _built("meson", r"^\s*project\s*\("),
    **dict.fromkeys(("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"), _compose),
}


def is_manifest(name: str) -> bool:
    return _reader(name) is not None


def _reader(name: str) -> Callable[[ProjectFile], Manifest | None] | None:
    if name.startswith(("Dockerfile", "Containerfile")):
        return _docker
    return _gem if name.endswith(".gemspec") else _READERS.get(name)


def _version(value: object) -> str | None:
    return value if isinstance(value, str) and _VERSION_FORM.fullmatch(value) else None


def _need(platform: str, value: object) -> str | None:
    return f"{platform} {value.strip()}" if isinstance(value, str) and _NEEDS.fullmatch(value) else None
