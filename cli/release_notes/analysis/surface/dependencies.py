"""Dependencies stated in manifests."""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_REQUIREMENT = re.compile(r"^\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<spec>[^;#]*)")
_DEVELOPMENT = re.compile(r"dev|test|doc|lint|ci\b|typing|build|example|benchmark", re.I)
_GEM = re.compile(
    r"""^\s*(?:gem|\w+\.add_(?P<dev>development_)?(?:runtime_)?dependency)\s*\(?\s*["'](?P<name>[^"']+)["']\s*(?P<rest>[^\n]*)""",
    re.M,
)
_GO = re.compile(r"^\s*(?:require\s+)?(?P<name>[\w.-]+\.[a-z]+/\S+)\s+(?P<version>v\S+)(?P<rest>[^\n]*)$", re.M)


@dataclass(frozen=True, slots=True)
class Stated:
    """A dependency; `spec` is its version constraint or `any`."""

    name: str
    ecosystem: str
    spec: str
    development: bool


def is_manifest(path: str) -> bool:
    return _reader(path) is not None


def stated_in(path: str, text: str) -> dict[tuple[str, bool], Stated]:
    """Return the dependencies of a manifest by name and purpose; none if it cannot be read."""
    reader = _reader(path)
    if reader is None:
        return {}
    try:
        return {(stated.name, stated.development): stated for stated in reader(path, text)}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, SyntaxError, configparser.Error):
        return {}


def _python(requirement: object, *, development: bool) -> Iterator[Stated]:
    match = _REQUIREMENT.match(requirement) if isinstance(requirement, str) else None
    if match:
        name = re.sub(r"[-_.]+", "-", match["name"]).lower()
        spec = match["spec"].strip().rstrip(",").removeprefix("@").strip() or "any"
        yield Stated(name, "python", spec[:80], development)


def _all_python(requirements: Iterable[object], *, development: bool) -> Iterator[Stated]:
    for requirement in requirements:
        yield from _python(requirement, development=development)


def _runtime(name: str, spec: object) -> Iterator[Stated]:
    if isinstance(spec, str) and spec.strip():
        yield Stated(name, "runtime", spec.strip()[:80], development=False)


def _pyproject(_: str, text: str) -> Iterator[Stated]:
    parsed = tomllib.loads(text)
    project = parsed.get("project", {})
    yield from _runtime("python", project.get("requires-python"))
    yield from _all_python(project.get("dependencies", ()), development=False)
    for group, wanted in project.get("optional-dependencies", {}).items():
        yield from _all_python(wanted, development=bool(_DEVELOPMENT.search(group)))
    for wanted in parsed.get("dependency-groups", {}).values():
        yield from _all_python(wanted, development=True)
    poetry = parsed.get("tool", {}).get("poetry", {})
    tables = [(poetry.get("dependencies", {}), False), (poetry.get("dev-dependencies", {}), True)]
    tables += [(group.get("dependencies", {}), True) for group in poetry.get("group", {}).values()]
    for table, development in tables:
        for name, spec in table.items():
            yield from _table_entry(name, spec, "python", development=development)


def _table_entry(name: str, spec: object, ecosystem: str, *, development: bool) -> Iterator[Stated]:
    version = spec if isinstance(spec, str) else spec.get("version") if isinstance(spec, Mapping) else None
    if name == "python" and ecosystem == "python":
        yield from _runtime("python", version)
    elif isinstance(version, str) or isinstance(spec, Mapping):
        yield Stated(name, ecosystem, (version or "any")[:80], development)


def _requirements(path: str, text: str) -> Iterator[Stated]:
    development = bool(_DEVELOPMENT.search(PurePosixPath(path).stem)) or "constraints" in path.lower()
    lines = (line.strip() for line in text.splitlines())
    kept = [line.split(" #")[0] for line in lines if line and not line.startswith(("#", "-", "/", "git+", "http"))]
    yield from _all_python(kept, development=development)


def _setup_cfg(_: str, text: str) -> Iterator[Stated]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    options = parser["options"] if parser.has_section("options") else {}
    yield from _runtime("python", options.get("python_requires"))
    yield from _all_python(options.get("install_requires", "").splitlines(), development=False)
    extras = parser["options.extras_require"] if parser.has_section("options.extras_require") else {}
    for group, wanted in extras.items():
        yield from _all_python(wanted.splitlines(), development=bool(_DEVELOPMENT.search(group)))


def _setup_py(_: str, text: str) -> Iterator[Stated]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.keyword):
            continue
        if node.arg == "python_requires" and isinstance(node.value, ast.Constant):
            yield from _runtime("python", node.value.value)
        elif node.arg == "install_requires" and isinstance(node.value, ast.List | ast.Tuple):
            wanted = [item.value for item in node.value.elts if isinstance(item, ast.Constant)]
            yield from _all_python(wanted, development=False)


def _package_json(_: str, text: str) -> Iterator[Stated]:
    parsed = json.loads(text)
    for name, spec in parsed.get("engines", {}).items():
        yield from _runtime(name, spec)
    kinds = (
        ("dependencies", False),
        ("peerDependencies", False),
        ("optionalDependencies", False),
        ("devDependencies", True),
    )
    for key, development in kinds:
        for name, spec in parsed.get(key, {}).items():
            if isinstance(spec, str):
                yield Stated(name, "npm", spec[:80] or "any", development)


def _cargo(_: str, text: str) -> Iterator[Stated]:
    parsed = tomllib.loads(text)
    yield from _runtime("rust", parsed.get("package", {}).get("rust-version"))
    kinds = (("dependencies", False), ("dev-dependencies", True), ("build-dependencies", True))
    for owner in (parsed, parsed.get("workspace", {})):
        for key, development in kinds:
            for name, spec in owner.get(key, {}).items():
                yield from _table_entry(name, spec, "rust", development=development)


def _go_mod(_: str, text: str) -> Iterator[Stated]:
    if match := re.search(r"^go\s+(\S+)", text, re.M):
        yield from _runtime("go", match[1])
    for match in _GO.finditer(text):
        if "// indirect" not in match["rest"]:
            yield Stated(match["name"], "go", match["version"], development=False)


def _gemfile(_: str, text: str) -> Iterator[Stated]:
    for match in _GEM.finditer(text):
        versions = re.findall(r"""["']([~<>=!\d][^"']*)["']""", match["rest"])
        yield Stated(match["name"], "rubygems", ", ".join(versions) or "any", bool(match["dev"]))


def _composer(_: str, text: str) -> Iterator[Stated]:
    parsed = json.loads(text)
    for key, development in (("require", False), ("require-dev", True)):
        for name, spec in parsed.get(key, {}).items():
            yield from (
                _runtime(name, spec)
                if name == "php"
                else _table_entry(name, spec, "packagist", development=development)
            )


_READERS: dict[str, Callable[[str, str], Iterator[Stated]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
    "package.json": _package_json,
    "cargo.toml": _cargo,
    "go.mod": _go_mod,
    "gemfile": _gemfile,
    "composer.json": _composer,
}


def _reader(path: str) -> Callable[[str, str], Iterator[Stated]] | None:
    name = PurePosixPath(path).name.lower()
    if re.match(r"^(?:requirements|constraints)[\w.-]*\.(?:txt|in)$", name) or "/requirements/" in f"/{path.lower()}":
        return _requirements if name.endswith((".txt", ".in")) else None
    return _gemfile if name.endswith(".gemspec") else _READERS.get(name)
