"""Parameters that public Python functions lost: only code tells them, so only the preset for developers does."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from griffe import BreakageKind, Module, find_breaking_changes, visit

from cli.release_notes.analysis.paths import role


def lost_parameters(
    paths: Mapping[str, str], old: Callable[[str], str], new: Callable[[str], str]
) -> Iterator[tuple[str, str, str]]:
    """Yield file, statement and parameter; `paths` are files by status, read at either end."""
    for path, status in sorted(paths.items()):
        if status != "M" or not path.endswith(".py") or role(path) != "source" or re.search(r"(?:^|/)_(?!_)", path):
            continue
        before, after = (_module(path, read(path)) for read in (old, new))
        for found in find_breaking_changes(before, after) if before and after else ():
            if found.kind is BreakageKind.PARAMETER_REMOVED:
                name = found.old_value.name
                yield path, f"`{found.obj.path}()` no longer takes `{name}`", name


def _module(path: str, text: str) -> Module | None:
    file = Path(path)
    try:
        return visit(file.parent.name if file.stem == "__init__" else file.stem, file, text)
    except (SyntaxError, ValueError, RecursionError):
        return None
