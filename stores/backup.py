"""Backups of a data folder: one compressed tar with a manifest. Indexes are derived, and stay out."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from stores.errors import InvalidSetting
from stores.folder import sync_folder

FORMAT = 1
LEDGER = "ledger.sqlite"
EXPOSURES = "analytics.duckdb"
_MANIFEST = "manifest.json"
_MANIFEST_BYTES = 64 * 2**20
_KEPT = re.compile(r"ledger\.sqlite|analytics\.duckdb|jwt_secret|local-key|instance|mail/[A-Za-z0-9][A-Za-z0-9._-]*")
_NO_LEDGER = "Name the server's data folder with --data-dir. A ledger on PostgreSQL is backed up with pg_dump."
_ANOTHER = "Make room, or name another file, folder or backup."
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, EOFError, zlib.error, tarfile.TarError)

Manifest = dict[str, Any]
"""`format`, `version`, `schema` (revision of the tables), `created_at`, and `members`: `size` and `sha256` by name."""


def write_backup(folder: Path, target: Path | None = None) -> tuple[Path, Manifest]:
    """Back up a data folder while others write to it; everything acknowledged before the call is in it.

    `target` is a new file that ends in `.gz`, or a folder; `backups` in the data folder if absent.
    """
    if not (folder / LEDGER).is_file():
        raise InvalidSetting(f"{folder} holds no {LEDGER}.", remediation=_NO_LEDGER)
    now = datetime.now(UTC)
    with _refusing(f"{target or folder} cannot be written"):
        if target is None:
            target = folder / "backups"
            target.mkdir(mode=0o700, exist_ok=True)
        if not target.exists() and target.suffix != ".gz":
            target.mkdir(mode=0o700, parents=True)
        if target.is_dir():
            target /= f"engrain-{now:%Y%m%dT%H%M%S.%fZ}.tar.gz"
        if target.exists():
            raise InvalidSetting(f"{target} exists already.", remediation="Name another file, or a folder.")
        with TemporaryDirectory(dir=target.parent, prefix=".engrain-backup-") as place:
            staged, fresh = Path(place, "staged"), Path(place, "fresh")
            staged.mkdir()
            manifest = {"format": FORMAT, "version": version("engrain"), "schema": _stage(folder, staged)}
            manifest["created_at"] = now.isoformat(timespec="seconds")
            names = sorted(path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file())
            manifest["members"] = {name: _measured(staged / name) for name in names}
            _pack(staged, manifest, fresh)
            fresh.replace(target)
        sync_folder(target.parent)
    return target, manifest


def _stage(folder: Path, staged: Path) -> str:
    schema = _copy_ledger(folder / LEDGER, staged / LEDGER)
    for path in (*folder.iterdir(), *(folder / "mail").glob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in (LEDGER, EXPOSURES) and _KEPT.fullmatch(name):
            (staged / name).parent.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # Mail that was read and removed meanwhile.
                shutil.copyfile(path, staged / name)
    _copy_exposures(folder / EXPOSURES, staged / EXPOSURES)
    return schema


def _copy_ledger(source: Path, target: Path) -> str:
    with (
        _refusing(f"The ledger {source} cannot be backed up", sqlite3.Error),
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=20)) as reader,
        closing(sqlite3.connect(target)) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")
        # In one step, which is one read transaction: it blocks no writer, and no write makes it begin again.
        reader.backup(copy)
        if (verdict := copy.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(verdict)
        return str(copy.execute("SELECT version_num FROM alembic_version").fetchone()[0])


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


def _measured(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _pack(staged: Path, manifest: Manifest, target: Path) -> None:
    (staged / _MANIFEST).write_text(json.dumps(manifest, indent=2))
    with _private(target) as file, tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as tar:
        for name in (_MANIFEST, *manifest["members"]):
            entry = tar.gettarinfo(staged / name, name)
            entry.mode = 0o600
            with (staged / name).open("rb") as member:
                tar.addfile(entry, member)


def unpack(file: Path, folder: Path) -> Manifest:
    """Unpack a backup into an empty folder, checking every name, size and hash, or raise InvalidSetting."""
    with _refusing(f"{file} cannot be restored", *_DAMAGED), tarfile.open(file, "r:gz") as tar:
        entries = iter(tar)
        manifest: Manifest = json.load(_content(tar, next(entries, None), _MANIFEST, _MANIFEST_BYTES))
        if manifest["format"] != FORMAT:
            raise ValueError(f"its format {manifest['format']} is that of Engrain {manifest['version']}")
        left = dict(manifest["members"])
        for entry in entries:
            # Only names that backups have are taken, so that no path leads out of the folder.
            if not _KEPT.fullmatch(entry.name) or entry.name not in left:
                raise ValueError(f"it holds {entry.name!r}, which is not in its manifest, or in no backup")
            expected, path = left.pop(entry.name), folder / entry.name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with _private(path) as target:
                shutil.copyfileobj(_content(tar, entry, entry.name, expected["size"]), target)
            if _measured(path) != expected:
                raise ValueError(f"{entry.name} differs from the backed-up file")
        if left or LEDGER not in manifest["members"] or not manifest["created_at"]:
            raise ValueError(f"{min(left, default=LEDGER)} is missing")
    return manifest


def _content(tar: tarfile.TarFile, entry: tarfile.TarInfo | None, name: str, most: int) -> IO[bytes]:
    content = tar.extractfile(entry) if entry is not None and entry.isreg() else None
    if entry is None or content is None or entry.name != name or entry.size > most:
        raise ValueError(f"{name} is missing, or differs from the backed-up file")
    return content


@contextmanager
def _private(path: Path) -> Iterator[IO[bytes]]:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _refusing(sentence: str, *more: type[Exception]) -> Iterator[None]:
    caught: tuple[type[Exception], ...] = (OSError, *more)
    try:
        yield
    except caught as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidSetting(f"{sentence}: {reason}.", remediation=_ANOTHER) from error
