"""Files that a user wants figures in: refused before anything is measured where they cannot be written."""

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from evals.options import Options
from stores.errors import EngrainError


def refuse_outputs(options: Options) -> None:
    """Refuse a report that could not be written in the end.

    Raises:
        EngrainError: A folder is missing, is no folder or is read-only, or two reports are to go into one file.
    """
    named = {"--json": options.json_file, "--markdown": options.markdown_file, "--html": options.html_file}
    wanted = {name: path for name, path in named.items() if path is not None}
    refuse_unwritable(list(wanted.values()))
    counted = Counter(path.resolve() for path in wanted.values())
    if twice := [name for name, path in wanted.items() if counted[path.resolve()] > 1]:
        raise EngrainError(f"{' and '.join(twice)} name one file, {wanted[twice[0]]}: give each its own.")


def refuse_unwritable(paths: Sequence[Path]) -> None:
    """Refuse files that cannot be written.

    Raises:
        EngrainError: One cannot; the message names it.
    """
    for path in paths:
        if reason := _why_not(path):
            raise EngrainError(f"{path} cannot be written: {reason}. Name another file.")


def write(path: Path, text: str) -> None:
    """Write a report.

    Raises:
        EngrainError: It cannot be written.
    """
    try:
        # What is no Unicode was on somebody's command line, and is shown as such.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise EngrainError(f"{path} cannot be written: {error.strerror or error}. Name another file.") from error


def _why_not(path: Path) -> str:
    try:
        if path.is_dir():
            return "it is a folder"
        if path.exists():
            return "" if os.access(path, os.W_OK) else "it is read-only"
        if not path.parent.is_dir():
            return f"there is no folder {path.parent}"
        # Permissions do not tell of every place where nothing can be made.
        with tempfile.TemporaryFile(dir=path.parent):
            return ""
    except (OSError, ValueError) as error:
        return str(getattr(error, "strerror", None) or error)
