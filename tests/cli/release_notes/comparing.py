"""What differs between two states of a repository, as the tests of the surface ask it."""

from pathlib import Path

from cli.release_notes.facts import SurfaceChange
from tests.cli.release_notes.repositories import Built, begun

Files = dict[str | bytes, str | bytes | None]


def compared(folder: Path, before: Files, after: Files) -> tuple[Built, list[SurfaceChange]]:
    built = begun(folder, before or {"README.md": "x"})
    built.commit("Change it", after)
    return built, list(built.facts().surface)


def told(found: list[SurfaceChange], kind: str = "api") -> list[tuple[str, str, str | None]]:
    return [(one.change, one.name, one.before) for one in found if one.kind == kind]
