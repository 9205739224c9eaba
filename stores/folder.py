"""Data folder, owned by the process named in its lock."""

import fcntl
import json
import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stores.errors import EngrainError, InvalidSetting

_ANOTHER = "Name a folder that this user may write to, with --data-dir or ENGRAIN_DATA_DIR."
_EXISTING = "Name the folder that the server uses, with --data-dir or ENGRAIN_DATA_DIR."


class FolderInUse(EngrainError):
    """Another process serves this data folder."""

    code = "data_folder_in_use"


LOCAL_KEY = "local-key"
"""File in the data folder with an API key of its owner, for commands of this machine."""
STAY = "stay"
"""File in the data folder that switches the idle exit of a server off."""


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int
    address: str | None


class DataFolder:
    """Freed by `close`, or the end of the process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def claim(cls, path: Path) -> "DataFolder":
        """Claim a data folder, creating it where needed, or raise FolderInUse or InvalidSetting."""
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unusable(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FolderInUse(*_in_use(path)) from None
        folder = cls(path, descriptor)
        folder.announce(None)
        return folder

    def announce(self, address: str | None) -> None:
        text = json.dumps({"pid": os.getpid(), "address": address}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)

    def close(self) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def unusable(path: Path, error: OSError) -> InvalidSetting:
    reason = "it is no folder" if isinstance(error, FileExistsError) else error.strerror or str(error)
    return InvalidSetting(f"The data folder cannot be used: {path}: {reason}.", remediation=_ANOTHER)


def require_data_folder(path: Path) -> None:
    """Raise InvalidSetting for a folder without a ledger and without the name of a server."""
    if not any((path / name).exists() for name in ("ledger.sqlite", "instance")):
        raise InvalidSetting(f"{path} is not a data folder: it has no ledger.", remediation=_EXISTING)


def holder(path: Path) -> Holder | None:
    """Return the process that serves a data folder, by its lock, if any."""
    try:
        found = json.loads((path / "lock").read_text())
        return Holder(int(found["pid"]), found.get("address"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_claimed(path: Path) -> bool:
    """Return whether a living process holds a data folder, whatever its lock file says."""
    with suppress(OSError), (path / "lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def replace_file(path: Path, data: bytes, mode: int = 0o600, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file atomically after a last check, with its mode and owner; a new one gets the mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            with suppress(OSError):
                shutil.chown(fresh, path.stat().st_uid, path.stat().st_gid)
            shutil.copymode(path, fresh)
        check()
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _in_use(path: Path) -> tuple[str]:
    who = holder(path)
    named = f"process {who.pid}" + (f" at {who.address}" if who.address else "") if who else "another process"
    return (f"The data folder {path} is in use by {named}; stop it, or choose another folder with --data-dir.",)


_claimed: set[Path] = set()
_claimed_lock = threading.Lock()


def claim(folder: Path) -> None:
    """Reserve a folder of indexes in this process, or raise RuntimeError: a second opener would corrupt it."""
    with _claimed_lock:
        if folder.resolve() in _claimed:
            raise RuntimeError(f"{folder} is open in this process already.")
        _claimed.add(folder.resolve())


def release(folder: Path) -> None:
    with _claimed_lock:
        _claimed.discard(folder.resolve())


def sync_folder(folder: Path) -> None:
    """Write a folder's entries to the disk, so that a rename in it survives a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
