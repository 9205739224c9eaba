"""Exports of TypeScript packages, followed from their entry points."""

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cli.release_notes.analysis.surface.names import Found
from cli.release_notes.analysis.surface.typescript_api import SUFFIXES, Exports, read_exports

MOST_MODULES = 400
"""Modules that are followed from the entry points of one package."""
_ENTRIES = tuple(
    f"{folder}{name}{suffix}"
    for folder in ("src/", "", "lib/", "source/")
    for name in ("index", "mod", "main")
    for suffix in (".ts", ".tsx", ".mts")
)
_BUILT = re.compile(r"^(?:\./)?(?:dist|build|lib|out|esm|cjs|types)(?:/(?:esm|cjs|types|src))?/")
_SUFFIX = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")


@dataclass(slots=True)
class Packages:
    """Reads modules of one end, each once."""

    read: Callable[[str], str | None]
    _modules: dict[str, Exports | None] = field(default_factory=dict)

    def surface(self, paths: Iterable[str]) -> dict[str, Found]:
        """Return what the packages of these files export, by name; packages below the root with theirs in front."""
        found: dict[str, Found] = {}
        for folder, manifest in self._packages(paths).items():
            named = manifest.get("name")
            prefix = f"{named if isinstance(named, str) and named.isprintable() else folder}: " if folder else ""
            for entry in self._entries(folder, manifest):
                budget = [MOST_MODULES]
                for name, (path, shape) in self._exported(entry, set(), budget).items():
                    found.setdefault(f"{prefix}{name}", Found(path, shape))
        return found

    def _packages(self, paths: Iterable[str]) -> dict[str, dict[str, object]]:
        folders = {
            str(parent) if str(parent) != "." else "" for path in paths for parent in PurePosixPath(path).parents
        }
        found: dict[str, dict[str, object]] = {}
        for folder in sorted(folders):
            text = self.read(posixpath.join(folder, "package.json"))
            try:
                parsed = json.loads(text) if text is not None else None
            except (ValueError, RecursionError):
                parsed = {}
            if isinstance(parsed, dict):
                found[folder] = parsed
        return found

    def _entries(self, folder: str, manifest: dict[str, object]) -> list[str]:
        named = [
            _SUFFIX.sub("", name)
            for name in _strings([manifest.get(key) for key in ("exports", "types", "module", "main")])
        ]
        guesses = [candidate for name in named if "*" not in name for candidate in _sources(name)]
        found = []
        for candidate in dict.fromkeys([*guesses, *_ENTRIES]):
            path = posixpath.normpath(posixpath.join(folder, candidate))
            if self._module(path) is not None and path not in found:
                found.append(path)
                if candidate in _ENTRIES:
                    break
        return found[:20]

    def _module(self, path: str) -> Exports | None:
        if path not in self._modules:
            text = self.read(path)
            self._modules[path] = None if text is None else read_exports(path, text)
        return self._modules[path]

    def _exported(self, path: str, above: set[str], budget: list[int]) -> dict[str, tuple[str, str | None]]:
        module = self._module(path)
        if module is None or path in above or budget[0] <= 0:
            return {}
        budget[0] -= 1
        above = above | {path}
        found: dict[str, tuple[str, str | None]] = {}
        for star in module.stars:
            inner = self._at(path, star)
            if inner:
                exported = self._exported(inner, above, budget)
                found.update({name: value for name, value in exported.items() if name.partition(".")[0] != "default"})
        found.update({name: (path, shape) for name, shape in module.symbols.items()})
        for source in dict.fromkeys(source for source, _ in module.handed_on.values()):
            inner = self._at(path, source)
            exported = self._exported(inner, above, budget) if inner else {}
            for name, (wanted_from, original) in module.handed_on.items():
                if wanted_from == source:
                    found.update(_renamed(exported, original, name) or {name: (path, None)})
        return found

    def _at(self, path: str, source: str) -> str | None:
        if not source.startswith("."):
            return None
        base = posixpath.normpath(posixpath.join(posixpath.dirname(path), source))
        bare = _SUFFIX.sub("", base)
        candidates = [f"{stem}{suffix}" for stem in (bare, f"{base}/index") for suffix in SUFFIXES]
        return next((name for name in candidates if self._module(name) is not None), None)


def _renamed(
    exported: dict[str, tuple[str, str | None]], original: str, name: str
) -> dict[str, tuple[str, str | None]]:
    inside = f"{original}."
    found = {f"{name}.{key[len(inside) :]}": value for key, value in exported.items() if key.startswith(inside)}
    return {name: exported[original], **found} if original in exported else {}


def _sources(built: str) -> Iterator[str]:
    bare = built.removeprefix("./")
    inner = _BUILT.sub("", built)
    for stem in dict.fromkeys((f"src/{inner}", bare if not _BUILT.match(built) else inner)):
        for suffix in (".ts", ".tsx", ".mts"):
            yield f"{stem}{suffix}"


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
