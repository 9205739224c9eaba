"""Files of an import, from a folder, a single file or a zip archive."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol


class SourceFile(Protocol):
    """One file."""

    name: str
    """Relative path with `/`; the file's own name if the source is one file."""
    size: int

    def open(self) -> BinaryIO: ...


class SourceFiles(Protocol):
    """Files below one place, in the order of their names."""

    root: Path

    def __iter__(self) -> Iterator[SourceFile]: ...
