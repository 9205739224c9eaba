"""The data folder: one process owns it, and says in its lock who that is."""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from stores.errors import EngrainError


class FolderInUse(EngrainError):
    """Another process serves this data folder."""

    code = "data_folder_in_use"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who serves a data folder."""

    pid: int
    address: str | None


class DataFolder:
    """An owned data folder. Closing it, or the end of the process, frees it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def claim(cls, path: Path) -> "DataFolder":
        """Become the owner of a data folder, which is created when missing.

        Raises:
            FolderInUse: Another process owns it; the message names that process.
        """
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FolderInUse(*_in_use(path)) from None
        folder = cls(path, descriptor)
        folder.announce(None)
        return folder

    def announce(self, address: str | None) -> None:
        """Write into the lock who serves the folder and where."""
        text = json.dumps({"pid": os.getpid(), "address": address}).encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)

    def close(self) -> None:
        """Free the folder."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def holder(path: Path) -> Holder | None:
    """Who serves a data folder now, as its lock says; None when nobody wrote it."""
    try:
        found = json.loads((path / "lock").read_text())
        return Holder(int(found["pid"]), found.get("address"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _in_use(path: Path) -> tuple[str]:
    who = holder(path)
    named = f"process {who.pid}" + (f" at {who.address}" if who.address else "") if who else "another process"
    return (f"The data folder {path} is in use by {named}; stop it, or choose another folder with --data-dir.",)
