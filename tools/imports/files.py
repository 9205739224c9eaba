"""Files of an import, from a folder, a single file or a zip archive."""

import codecs
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from stores.errors import InvalidRequest

LINE_BYTES = 16 * 2**20
_CHUNK = 2**20
EXPANSION = 200
"""Expanded bytes for each byte of an archive."""
_SHOWN = frozenset((".cursor", ".github", ".claude", ".codex"))
"""Hidden folders that tools keep their files in."""
_PASSED_OVER = frozenset(("node_modules", "__MACOSX"))
# Escapes and host names, which no text is written in; decoding some of them takes quadratic time.
_NO_CHARSETS = frozenset(("punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined"))


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file, or several that are read together."""

    name: str
    """Relative path with `/`; the file's own name if the source is one file."""
    size: int
    open: Callable[[], Any] = field(default=BytesIO, repr=False, compare=False)
    path: Path | None = None
    """None inside an archive."""
    members: tuple["SourceFile", ...] = ()
    problem: str = ""

    @property
    def base(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def stem(self) -> str:
        return self.base.rpartition(".")[0]

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Files below one place, in a fixed order."""

    root: Path
    scan: Callable[[], Iterator[SourceFile]]
    left_out: tuple[SourceFile, ...] = ()

    def __iter__(self) -> Iterator[SourceFile]:
        return self.scan()


def open_source(path: Path) -> SourceFiles:
    """Open a folder, a file or a `.zip`. Links out of the folder and most hidden folders are passed over.

    Raises:
        InvalidRequest: There is nothing at the path, or the archive is damaged.
    """
    if path.is_dir():
        return SourceFiles(path, partial(_folder, path))
    if not path.is_file():
        raise InvalidRequest(f"There is no file or folder at {path}.", remediation="Name one that exists.")
    if path.suffix.lower() == ".zip":
        return _archive(path)
    return SourceFiles(path, lambda: iter([_on_disk(path.name, path)]))


def lines(stream: BinaryIO, most: int = LINE_BYTES) -> Iterator[tuple[int, int, int, bytes | None]]:
    """Read lines as number, first byte, byte after it, and content without the line's end; None above `most` bytes."""
    begin = number = 0
    while data := stream.readline(most + 1):
        number += 1
        end = begin + len(data)
        is_long, last = len(data) > most, data
        while is_long and not last.endswith(b"\n") and (last := stream.readline(_CHUNK)):
            end += len(last)
        yield number, begin, end, None if is_long else data.rstrip(b"\r\n")
        begin = end


def decoded(data: bytes, *charsets: str | None) -> str:
    """Decode as declared, else by a byte order mark, else as UTF-8, else as Windows-1252; never fail."""
    marked = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    for name in (*charsets, marked):
        try:
            if name and codecs.lookup(name).name not in _NO_CHARSETS:
                return data.decode(name)
        except (LookupError, ValueError):
            continue
    return data.decode("utf-16" if marked == "utf-16" else "cp1252", "replace")


def _folder(root: Path) -> Iterator[SourceFile]:
    top = root.resolve()
    for place, folders, names in os.walk(root):
        # Folders of a Maildir begin with a dot.
        folders[:] = sorted(
            name for name in folders if not _is_passed_over(name) or os.path.isdir(os.path.join(place, name, "cur"))
        )
        for path in (Path(place, name) for name in sorted(names)):
            try:
                if path.is_file() and path.resolve().is_relative_to(top):
                    yield _on_disk(path.relative_to(root).as_posix(), path)
            except OSError:  # It went away.
                continue


def _is_passed_over(folder: str) -> bool:
    return folder in _PASSED_OVER or (folder.startswith(".") and folder not in (*_SHOWN, ".", ".."))


def _on_disk(name: str, path: Path) -> SourceFile:
    name = os.fsencode(name).decode("utf-8", "replace")
    return SourceFile(name, path.stat().st_size, lambda: path.open("rb"), path)


def _archive(path: Path) -> SourceFiles:
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
        raise InvalidRequest(f"{path} is not a readable zip archive: {error}.", remediation="Make it anew.") from None
    found: dict[str, SourceFile] = {}
    left_out: list[SourceFile] = []
    room = EXPANSION * path.stat().st_size
    for info in archive.infolist():
        name = info.filename.replace("\\", "/").encode(errors="replace").decode()
        folders = name.split("/")[:-1]
        if info.is_dir() or (any(map(_is_passed_over, folders)) and folders[-1] not in ("cur", "new")):
            continue
        problem = _problem(info, name, room) or ("The archive holds two of this name." if name in found else "")
        if problem:
            left_out.append(SourceFile(name, info.file_size, problem=problem))
        else:
            room -= info.file_size
            found[name] = SourceFile(name, info.file_size, partial(archive.open, info))
    ordered = [found[name] for name in sorted(found)]
    return SourceFiles(path, lambda: iter(ordered), tuple(left_out))


def _problem(info: zipfile.ZipInfo, name: str, room: int) -> str:
    if re.match("/|[A-Za-z]:", name) or ".." in name.split("/"):
        return "Its name leads out of the archive."
    if stat.S_ISLNK(info.external_attr >> 16):
        return "It is a link."
    if info.flag_bits & 1:
        return "It is encrypted."
    # A member yields at most the size that it declares.
    return "It expands beyond the limit of an import." if info.file_size > room else ""
