"""The token vectors of one organization's records: one SQLite file, never held in memory."""

import math
import sqlite3
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int8]
"""(tokens, width): each line is a vector, in the form that its model keeps them in."""

FILE = "tokens.sqlite"
READ_EACH = 4
"""Passages that are read of each record, from its beginning; the one that was asked for comes on top."""
_FORMAT = "1"
_BUSY_MS = 5_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS label (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    record_id TEXT PRIMARY KEY, revision INTEGER NOT NULL, digest BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY, record_id TEXT NOT NULL, number INTEGER NOT NULL,
    start INTEGER NOT NULL, stop INTEGER NOT NULL, vectors BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS passages_of_records ON passages (record_id, number);
"""
_READ = """
SELECT vectors FROM passages
WHERE record_id = ? AND (number < ? OR start <= ? AND ? < stop)
ORDER BY number
"""


@dataclass(frozen=True, slots=True, eq=False)
class PassageTokens:
    """A stretch of a record's text, in characters, and the vectors of its tokens."""

    start: int
    stop: int
    vectors: Tokens


@dataclass(frozen=True, slots=True, eq=False)
class TokenRecord:
    """A record with all of its passages; one without text has none and is held all the same."""

    record_id: str
    revision: int
    digest: bytes
    """Of the text that the vectors were made of."""
    passages: Sequence[PassageTokens]


class TokenStore:
    """Derived data: what is damaged, or was made by another model, is thrown away and made anew.

    Safe to use from any thread; reads never wait for writes.
    """

    def __init__(self, path: Path, *, model: str, width: int) -> None:
        self._width = width
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._writer = _connected(path)
        self._reader: sqlite3.Connection | None = None
        try:
            self._prepare(model)
            self._reader = _connected(path)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, folder: Path, *, model: str, width: int) -> Self:
        """Open the vectors in a folder, creating the file where needed; what cannot be read is replaced."""
        path = folder / FILE
        try:
            return cls(path, model=model, width=width)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and not path.exists():
                raise
        for damaged in (path, *folder.glob(f"{FILE}-*")):
            damaged.unlink(missing_ok=True)
        return cls(path, model=model, width=width)

    def contents(self) -> dict[str, int]:
        """Every record's id and the revision that its vectors are known to fit."""
        with self._writing:
            return dict(self._writer.execute("SELECT record_id, revision FROM records"))

    def digests(self, record_ids: Iterable[str]) -> dict[str, bytes]:
        """Of which text the vectors of some records were made."""
        with self._writing:
            found = (
                self._writer.execute("SELECT record_id, digest FROM records WHERE record_id = ?", (each,)).fetchone()
                for each in record_ids
            )
            return dict(row for row in found if row is not None)

    def put(self, records: Iterable[TokenRecord]) -> None:
        """Make these the only vectors of those records: all of them or, if something fails, none."""
        with self._writing, self._writer:
            for record in records:
                self._forget(record.record_id)
                self._writer.execute(
                    "INSERT INTO records VALUES (?, ?, ?)", (record.record_id, record.revision, record.digest)
                )
                self._writer.executemany(
                    "INSERT INTO passages (record_id, number, start, stop, vectors) VALUES (?, ?, ?, ?, ?)",
                    (
                        (record.record_id, number, each.start, each.stop, self._plain(each.vectors))
                        for number, each in enumerate(record.passages)
                    ),
                )

    def confirm(self, revisions: Mapping[str, int]) -> None:
        """Note that the vectors of records fit later revisions, too: their texts are the same."""
        with self._writing, self._writer:
            self._writer.executemany(
                "UPDATE records SET revision = ? WHERE record_id = ?",
                [(revision, record_id) for record_id, revision in revisions.items()],
            )

    def drop(self, record_ids: Collection[str]) -> None:
        """Remove records; nothing of them stays in the file."""
        if not record_ids:
            return
        with self._writing, self._writer:
            for record_id in record_ids:
                self._forget(record_id)

    def read(self, wanted: Mapping[str, int], *, most: float = math.inf) -> dict[str, list[Tokens]]:
        """The vectors of some records, a table for each passage.

        Of each record the first `READ_EACH` passages are read, and the one in which a character stands that is given
        with it. Records without vectors are left out, and those that come after so many tokens.
        """
        found: dict[str, list[Tokens]] = {}
        left = most
        with self._reading:
            if self._reader is None:
                return {}
            execute = self._reader.execute
            for record_id, at in wanted.items():
                rows = execute(_READ, (record_id, READ_EACH, at, at)).fetchall()
                if rows:
                    found[record_id] = [np.frombuffer(row[0], np.int8).reshape(-1, self._width) for row in rows]
                    left -= sum(map(len, found[record_id]))
                if left <= 0:
                    break
        return found

    def compact(self) -> None:
        """Write what was changed lately into the file itself: what is gone is then nowhere on disk."""
        with self._writing:
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of the file."""
        with self._reading:
            if self._reader is not None:
                self._reader.close()
            self._reader = None
        with self._writing, suppress(sqlite3.Error):
            self._writer.close()

    def _prepare(self, model: str) -> None:
        self._writer.executescript(_SCHEMA)
        label = {"format": _FORMAT, "model": model, "width": str(self._width)}
        with self._writer:
            found = dict(self._writer.execute("SELECT name, value FROM label"))
            if found == label:
                return
            for table in ("passages", "records", "label"):
                self._writer.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
            self._writer.executemany("INSERT INTO label VALUES (?, ?)", label.items())

    def _forget(self, record_id: str) -> None:
        self._writer.execute("DELETE FROM passages WHERE record_id = ?", (record_id,))
        self._writer.execute("DELETE FROM records WHERE record_id = ?", (record_id,))

    def _plain(self, vectors: Tokens) -> bytes:
        if vectors.dtype != np.int8 or vectors.ndim != 2 or vectors.shape[1] != self._width:
            raise ValueError(f"Token vectors are a table of int8, {self._width} wide.")
        return vectors.tobytes()


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, timeout=_BUSY_MS / 1000)
    # Little memory, as each organization has two; what is deleted is overwritten; a commit that is lost is made anew.
    with closing(connection.cursor()) as cursor:
        for pragma in ("cache_size = -256", "journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
            cursor.execute(f"PRAGMA {pragma}")
    return connection
