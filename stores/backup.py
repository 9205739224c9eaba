"""Backups of a data folder: one compressed tar with a manifest. Indexes are derived, and stay out."""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from stores.errors import EngrainError, InvalidSetting, Unavailable
from stores.folder import sync_folder

FORMAT = 1
LEDGER = "ledger.sqlite"
EXPOSURES = "analytics.duckdb"
MANIFEST = "manifest.json"
BACKUPS = "backups"
_MOST_MANIFEST = 64 * 2**20
_KEPT = re.compile(r"ledger\.sqlite|analytics\.duckdb|jwt_secret|local-key|instance|mail/[A-Za-z0-9][A-Za-z0-9._-]*")
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, EOFError, zlib.error, tarfile.TarError, gzip.BadGzipFile)
_COMPRESSION = 6
_WAIT_S = 20
_ELSEWHERE = "Make room, or name a file or folder elsewhere, and try again."
_NO_LEDGER = "Name the server's data folder with --data-dir. A ledger on PostgreSQL is backed up with pg_dump."
_ANOTHER = "Take a backup that `engrain backup` wrote and that was copied completely."


@dataclass(frozen=True, slots=True)
class Manifest:
    version: str
    schema: str
    """Revision of the ledger's tables."""
    created_at: str
    members: dict[str, dict[str, Any]]
    """`size` in bytes and `sha256`, by name."""


@dataclass(frozen=True, slots=True)
class Backup:
    path: Path
    manifest: Manifest


def write_backup(folder: Path, target: Path | None = None) -> Backup:
    """Back up a data folder while others write to it; everything acknowledged before the call is in it.

    `target` is a file that does not exist yet, or a folder; `backups` in the data folder if absent.
    """
    if not (folder / LEDGER).is_file():
        raise InvalidSetting(f"{folder} holds no {LEDGER}.", remediation=_NO_LEDGER)
    now = datetime.now(UTC)
    with _disk(target or folder):
        if target is None:
            target = folder / BACKUPS
            target.mkdir(mode=0o700, exist_ok=True)
        if target.is_dir():
            target /= f"engrain-{now:%Y%m%dT%H%M%S.%fZ}.tar.gz"
        if target.exists():
            raise InvalidSetting(f"{target} exists already.", remediation="Name another file, or a folder.")
        with TemporaryDirectory(dir=target.parent, prefix=".engrain-backup-") as place:
            staged, fresh = Path(place, "staged"), Path(place, "fresh")
            staged.mkdir()
            schema = _stage(folder, staged)
            members = {name: _measured(staged / name) for name in _names(staged)}
            manifest = Manifest(version("engrain"), schema, now.isoformat(timespec="seconds"), members)
            _pack(staged, manifest, fresh)
            fresh.replace(target)
        sync_folder(target.parent)
    return Backup(target, manifest)


def copy_ledger(source: Path, target: Path) -> str:
    """Copy a ledger in one read transaction, which blocks no writer; return its schema revision."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    address = f"{source.absolute().as_uri()}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(address, uri=True, timeout=_WAIT_S)) as reader,
            closing(sqlite3.connect(target)) as copy,
        ):
            copy.execute("PRAGMA synchronous=OFF")
            reader.backup(copy)
            (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
            (schema,) = copy.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        raise Unavailable(
            f"The ledger {source} cannot be backed up: {error}.",
            remediation="Make room on the disk, or see what `engrain check` says with the server stopped.",
        ) from error
    return str(schema)


def _stage(folder: Path, staged: Path) -> str:
    schema = copy_ledger(folder / LEDGER, staged / LEDGER)
    for path in (*folder.iterdir(), *(folder / "mail").glob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in (LEDGER, EXPOSURES) and _KEPT.fullmatch(name):
            (staged / name).parent.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # Mail that was read and removed meanwhile.
                shutil.copyfile(path, staged / name)
    _copy_exposures(folder / EXPOSURES, staged / EXPOSURES)
    return schema


def _copy_exposures(source: Path, target: Path) -> None:
    if not source.exists():
        return
    import duckdb  # noqa: PLC0415 - takes a quarter of a second

    quoted = str(source).replace("'", "''")
    try:
        with duckdb.connect(str(target)) as copy:
            copy.execute(f"ATTACH '{quoted}' AS source (READ_ONLY)")
            copy.execute(f'COPY FROM DATABASE source TO "{target.stem}"')
    except duckdb.Error:  # A server has it open, or it is damaged; ids and times of answers are not worth a failure.
        target.unlink(missing_ok=True)


def _names(staged: Path) -> list[str]:
    return sorted(path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file())


def _measured(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _pack(staged: Path, manifest: Manifest, target: Path) -> None:
    head = {"format": FORMAT, **{name: getattr(manifest, name) for name in Manifest.__slots__}}
    raw = json.dumps(head, indent=2).encode()
    with os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=_COMPRESSION) as tar:
            tar.addfile(_entry(MANIFEST, len(raw)), io.BytesIO(raw))
            for name, measured in manifest.members.items():
                with (staged / name).open("rb") as member:
                    tar.addfile(_entry(name, measured["size"]), member)
        file.flush()
        os.fsync(file.fileno())


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry


def unpack(file: Path, folder: Path) -> Manifest:
    """Unpack a backup into an empty folder, checking every name, size and hash, or raise InvalidSetting."""
    with (
        _disk(file), file.open("rb") as raw, _disk(folder), _readable(file),
        tarfile.open(fileobj=raw, mode="r:gz") as tar,
    ):  # fmt: skip
        members = iter(tar)
        manifest = _manifest(tar, next(members, None))
        left = dict(manifest.members)
        for member in members:
            expected = left.pop(member.name, None)
            # Names are ours alone, so no path leads out of the folder, and links and devices are refused.
            if expected is None or not member.isreg() or not _KEPT.fullmatch(member.name):
                raise ValueError(f"it holds {member.name!r}, which no backup does")
            if member.size != expected["size"]:
                raise ValueError(f"{member.name} has another size than its manifest says")
            path = folder / member.name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as target:
                shutil.copyfileobj(_content(tar, member), target)
                target.flush()
                os.fsync(target.fileno())
            if _measured(path)["sha256"] != expected["sha256"]:
                raise ValueError(f"{member.name} is not what was backed up")
        if left or LEDGER not in manifest.members:
            raise ValueError(f"{min(left, default=LEDGER)} is missing")
    return manifest


def _manifest(tar: tarfile.TarFile, member: tarfile.TarInfo | None) -> Manifest:
    if member is None or member.name != MANIFEST or not member.isreg() or member.size > _MOST_MANIFEST:
        raise ValueError("it does not begin with a manifest")
    told = json.loads(_content(tar, member).read())
    if told["format"] != FORMAT:
        raise ValueError(f"its format {told['format']} is that of another version of Engrain, {told['version']}")
    return Manifest(*(told[name] for name in Manifest.__slots__))


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    if content is None:
        raise ValueError(f"{member.name} is no file")
    return content


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise InvalidSetting(f"{file} cannot be restored: {error}.", remediation=_ANOTHER) from error


@contextmanager
def _disk(place: Path) -> Iterator[None]:
    try:
        yield
    except EngrainError:
        raise
    except OSError as error:
        raise InvalidSetting(f"{place}: {error.strerror or error}.", remediation=_ELSEWHERE) from error
