"""Whether a SQLite file has changed, in microseconds: what was read from it may be kept until it has."""

import sqlite3
import threading
from pathlib import Path


class FileVersion:
    """Watches one file over a connection of its own, which never writes. Safe to ask from any thread."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        # Never waits: who asks would rather read again than wait.
        self._connection = sqlite3.connect(path, timeout=0, check_same_thread=False, isolation_level=None)

    def current(self) -> int | None:
        """A number that is another one after each commit by any connection of any process; None if unknown."""
        try:
            with self._lock:
                (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return None
        return int(version)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()
