"""Parameters that public Python functions lost: only code tells them, so only the preset for developers does."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from griffe import BreakageKind, find_breaking_changes, visit

from cli.release_notes.analysis.wording import role


def lost_parameters(paths: Mapping[str, str], *ends: Callable[[str], str]) -> Iterator[tuple[str, str, str]]:
    """Yield file, statement and parameter; `paths` are files by status, `ends` read a path before and after."""
    for path, status in sorted(paths.items()):
        if status != "M" or not path.endswith(".py") or role(path) != "source" or re.search(r"(?:^|/)_(?!_)", path):
            continue
        try:
            modules = [visit(Path(path.removesuffix("/__init__.py")).stem, Path(path), read(path)) for read in ends]
        except (SyntaxError, ValueError, RecursionError):
            continue
        for found in find_breaking_changes(*modules):
            if found.kind is BreakageKind.PARAMETER_REMOVED:
                name = found.old_value.name
                yield path, f"`{found.obj.path}()` no longer takes `{name}`", name
