"""Files of an import, from a folder, a single file or a zip archive."""

import codecs
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from stores.errors import InvalidRequest

LINE_BYTES = 16 * 2**20
_CHUNK = 2**20
_SHOWN = frozenset((".cursor", ".github", ".claude", ".codex"))
"""Hidden folders that tools keep their files in."""
_PASSED_OVER = frozenset(("node_modules", "__MACOSX"))
# Escapes and host names, which no text is written in; decoding some of them takes quadratic time.
_NO_CHARSETS = frozenset(("punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined"))


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of an archive, in expanded bytes. The ratio counts for members above 1 MiB."""

    member_bytes: int = 8 * 2**30
    total_bytes: int = 32 * 2**30
    ratio: int = 200
    members: int = 1_000_000


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file, or several that are read together."""

    name: str
    """Relative path with `/`; the file's own name if the source is one file."""
    size: int
    opened: Callable[[], BinaryIO] = field(default=BytesIO, repr=False, compare=False)
    path: Path | None = None
    """None inside an archive."""
    members: tuple["SourceFile", ...] = ()
    problem: str = ""
    """Reason for which it is not read."""

    @property
    def base(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    def open(self) -> BinaryIO:
        return self.opened()


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Files below one place, in the order of their names."""

    root: Path
    scan: Callable[[], Iterator[SourceFile]]
    left_out: tuple[SourceFile, ...] = ()
    """Members of an archive that are not read."""

    def __iter__(self) -> Iterator[SourceFile]:
        return self.scan()

    def first(self, most: int) -> "SourceFiles":
        return replace(self, scan=lambda: islice(self.scan(), most))


class Line(NamedTuple):
    number: int
    """From 1."""
    begin: int
    end: int
    """Bytes, half-open."""
    data: bytes | None
    """Without the line's end; None if it is too long."""


def open_source(path: Path, *, limits: Limits | None = None) -> SourceFiles:
    """Open a folder, a file or a `.zip`. Links out of the folder and most hidden folders are passed over.

    Raises:
        InvalidRequest: There is nothing at the path, or the archive is damaged.
    """
    if path.is_dir():
        return SourceFiles(path, lambda: _folder(path))
    if not path.is_file():
        raise InvalidRequest(f"There is no file or folder at {path}.", remediation="Name one that exists.")
    if path.suffix.lower() == ".zip":
        return _archive(path, limits or Limits())
    return SourceFiles(path, lambda: iter([_on_disk(path.name, path)]))


def lines(stream: BinaryIO, most: int = LINE_BYTES) -> Iterator[Line]:
    """Read lines in bounded memory: longer ones than `most` bytes come without their bytes."""
    begin = number = 0
    while data := stream.readline(most + 1):
        number += 1
        end = begin + len(data)
        is_long, last = len(data) > most, data
        while is_long and not last.endswith(b"\n") and (last := stream.readline(_CHUNK)):
            end += len(last)
        yield Line(number, begin, end, None if is_long else data.rstrip(b"\r\n"))
        begin = end


def decoded(data: bytes, charset: str | None = None) -> str:
    """Decode as declared, else by a byte order mark, else as UTF-8, else as Windows-1252; never fail."""
    marked = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    for name in (charset, marked):
        try:
            if name and codecs.lookup(name).name not in _NO_CHARSETS:
                return data.decode(name)
        except (LookupError, ValueError):
            continue
    return data.decode("utf-16" if marked == "utf-16" else "cp1252", "replace")


class Utf8:
    """Readable stream as valid UTF-8, from UTF-8 or UTF-16; wrong bytes are replaced."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder: codecs.IncrementalDecoder | None = None

    def read(self, size: int = _CHUNK) -> bytes:
        while size:
            data = self._stream.read(size)
            if self._decoder is None:
                is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
                self._decoder = codecs.getincrementaldecoder("utf-16" if is_wide else "utf-8-sig")("replace")
            text = self._decoder.decode(data, final=not data)
            if text or not data:
                return text.encode("utf-8", "replace")
        return b""


def is_binary(file: SourceFile) -> bool:
    with file.open() as stream:
        head = stream.read(8_000)
    return b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def _folder(root: Path) -> Iterator[SourceFile]:
    top = root.resolve()
    waiting = [("", root)]
    while waiting:
        name, path = waiting.pop()
        try:
            if path.is_dir() and (path == root or not path.is_symlink()):
                entries = sorted(os.scandir(path), key=lambda entry: entry.name, reverse=True)
                inside = [(f"{name}/{each.name}".lstrip("/"), Path(each.path)) for each in entries]
                waiting += [each for each in inside if not (each[1].is_dir() and _is_passed_over(each[1]))]
            elif stat.S_ISREG(path.stat().st_mode) and path.resolve().is_relative_to(top):
                yield _on_disk(name, path)
        except OSError:  # It cannot be listed, or went away.
            continue


def _is_passed_over(folder: Path) -> bool:
    # Folders of a Maildir begin with a dot.
    is_hidden = folder.name.startswith(".") and folder.name not in _SHOWN and not (folder / "cur").is_dir()
    return is_hidden or folder.name in _PASSED_OVER


def _on_disk(name: str, path: Path) -> SourceFile:
    def opened() -> BinaryIO:
        return path.open("rb")

    return SourceFile(os.fsencode(name).decode("utf-8", "replace"), path.stat().st_size, opened, path)


def _archive(path: Path, limits: Limits) -> SourceFiles:
    try:
        archive = zipfile.ZipFile(path)
        infos = sorted(archive.infolist(), key=lambda info: _member_name(info).split("/"))
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
        raise InvalidRequest(f"{path} is no readable zip archive: {error}.", remediation="Make it anew.") from None
    found: dict[str, SourceFile] = {}
    left_out: list[SourceFile] = []
    total = 0
    for info in infos:
        name = _member_name(info)
        if info.is_dir() or _is_hidden(name.split("/")[:-1]):
            continue
        problem = _problem(info, name, limits)
        if not problem and (
            name in found or len(found) >= limits.members or total + info.file_size > limits.total_bytes
        ):
            problem = "The archive holds two of this name, or expands beyond the limit of an import."
        if problem:
            left_out.append(SourceFile(name.encode(errors="replace").decode(), info.file_size, problem=problem))
            continue
        total += info.file_size
        found[name] = SourceFile(name, info.file_size, _opening(archive, info))
    return SourceFiles(path, lambda: iter(found.values()), tuple(left_out))


def _member_name(info: zipfile.ZipInfo) -> str:
    return info.filename.replace("\\", "/")


def _is_hidden(folders: list[str]) -> bool:
    is_mail = "cur" in folders or "new" in folders
    hidden = (each for each in folders if each.startswith(".") and each not in (*_SHOWN, "..", "."))
    return not _PASSED_OVER.isdisjoint(folders) or (not is_mail and any(hidden))


def _problem(info: zipfile.ZipInfo, name: str, limits: Limits) -> str:
    if name.startswith("/") or re.match("[A-Za-z]:", name) or ".." in name.split("/"):
        return "Its name leads out of the archive."
    if stat.S_ISLNK(info.external_attr >> 16):
        return "It is a link."
    if info.flag_bits & 1:
        return "It is encrypted."
    is_bomb = info.file_size > _CHUNK and info.file_size > limits.ratio * max(info.compress_size, 1)
    return "It expands beyond the limit of an import." if is_bomb or info.file_size > limits.member_bytes else ""


def _opening(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], BinaryIO]:
    # A member yields at most the size that it declares.
    return lambda: cast("BinaryIO", archive.open(info))
