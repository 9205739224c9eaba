"""Number of a ledger's commits, in whatever process, for caches; read in microseconds."""

import sqlite3
import threading
from pathlib import Path


class CommitVersion:
    """Watches one file over a read-only connection of its own. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        # Never wait: reading anew is cheaper.
        self._connection = sqlite3.connect(path, timeout=0, check_same_thread=False, isolation_level=None)

    def current(self) -> int | None:
        """Return a number that changes with each commit; None if unknown."""
        try:
            with self._lock:
                (commits,) = self._connection.execute("PRAGMA data_version").fetchone()
                return int(commits)
        except sqlite3.Error:
            return None

    def close(self) -> None:
        with self._lock:
            self._connection.close()
