"""Public API of changed Python files, by importable name, re-exports followed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cli.release_notes.analysis.surface.names import Found
from cli.release_notes.analysis.surface.python_api import Module, read_module

Reading = Callable[[str], str | None]
"""Path to text at this end; None if there is no file."""
_HIDDEN = frozenset({"setup", "conftest", "noxfile", "manage", "tasks", "fabfile", "__main__"})
_NO_PACKAGES = ("migrations", "versions", "alembic")
_ROOTS = frozenset({"src", "lib", "python", "."})


@dataclass(slots=True)
class Packages:
    read: Reading
    unreadable: set[str] = field(default_factory=set)
    _modules: dict[str, Module | None] = field(default_factory=dict)

    def surface(self, paths: Iterable[str]) -> dict[str, Found]:
        """Return the names that these files offer; the shortest of several names is used."""
        found: dict[str, Found] = {}
        for path in paths:
            dotted = self._dotted(path)
            module = self._module(path) if dotted else None
            if dotted is None or module is None:
                continue
            exported = self._exported(path, dotted)
            hidden = _is_private(dotted)
            for name, signature in module.symbols.items():
                top, _, rest = name.partition(".")
                public = exported.get(top) or (None if hidden else f"{dotted}.{top}")
                if public:
                    full = f"{public}.{rest}" if rest else public
                    found[full] = Found(path, signature)
            if _is_package(path) and not hidden:
                for name in module.exports:
                    found.setdefault(f"{dotted}.{name}", Found(path))
        return found

    def _module(self, path: str) -> Module | None:
        if path not in self._modules:
            text = self.read(path)
            module = None if text is None else read_module(text, is_package=_is_package(path))
            if text is not None and module is None:
                self.unreadable.add(path)
            self._modules[path] = module
        return self._modules[path]

    def _dotted(self, path: str) -> str | None:
        parts = path.removesuffix(".py").split("/")
        if parts[-1] in _HIDDEN or any(part in _NO_PACKAGES for part in parts):
            return None
        top = len(parts) - 1
        while top > 0 and self._module("/".join([*parts[:top], "__init__.py"])) is not None:
            top -= 1
        kept = parts[top:]
        if top and parts[top - 1] not in _ROOTS and len(kept) == 1:
            # A lone file in a folder that is no package: an application's, or a namespace package's.
            kept = [part for part in parts if part not in _ROOTS]
        kept = kept[:-1] if kept[-1] == "__init__" else kept
        return ".".join(kept) if kept and all(part.isidentifier() for part in kept) else None

    def _exported(self, path: str, dotted: str) -> dict[str, str]:
        parts = path.removesuffix(".py").split("/")
        found: dict[str, str] = {}
        components = dotted.split(".")
        for up in range(1, min(len(parts), len(components)) + (_is_package(path))):
            folder, package = (parts[: len(parts) - up], components[: len(components) - up + _is_package(path)])
            if not package or _is_private(".".join(package)):
                continue
            above = self._module("/".join([*folder, "__init__.py"]))
            if above is None or "/".join([*folder, "__init__.py"]) == path:
                continue
            for name, (source, original) in above.exports.items():
                if _absolute(source, package) == dotted:
                    found[original] = f"{'.'.join(package)}.{name}"
            if any(_absolute(star, package) == dotted for star in above.stars):
                module = self._module(path)
                found.update(
                    {top: f"{'.'.join(package)}.{top}" for top in (module.symbols if module else ()) if "." not in top}
                )
        return found


def _absolute(source: str, package: list[str]) -> str:
    level = len(source) - len(source.lstrip("."))
    if not level:
        return source
    base = package[: len(package) - level + 1]
    return ".".join([*base, *([source.lstrip(".")] if source.lstrip(".") else [])])


def _is_private(dotted: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in dotted.split("."))


def _is_package(path: str) -> bool:
    return path == "__init__.py" or path.endswith("/__init__.py")
