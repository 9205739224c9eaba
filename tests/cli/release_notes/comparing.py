"""What differs between two states of a repository, as the tests of the surface ask it."""

from pathlib import Path

from cli.release_notes.facts import SurfaceChange
from tests.cli.release_notes.repositories import Built, begun

Files = dict[str | bytes, str | bytes | None]
"""Contents by path; None deletes a file."""


def compared(folder: Path, before: Files, after: Files) -> tuple[Built, list[SurfaceChange]]:
    """Commit one state and the other; what the second changed of the surface."""
    built = begun(folder, before or {"README.md": "x"})
    built.commit("Change it", after)
    return built, list(built.facts().surface)


def told(found: list[SurfaceChange], kind: str = "api") -> list[tuple[str, str, str | None]]:
    """Changes of one kind: what happened, the name, and what it was before."""
    return [(one.change, one.name, one.before) for one in found if one.kind == kind]
