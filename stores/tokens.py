"""Token vectors of passages, in an SQLite file per organization."""

import math
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int8]
"""(tokens, width): a quantised vector per row, see `stores/embedding/builtin.py`."""

FILE = "tokens.sqlite"
READ_EACH = 4
"""Leading passages read per record, beside the requested one."""
_FORMAT = "4"
_BUSY_MS = 5_000
_SCHEMA = """
CREATE TABLE label (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (
    record_id TEXT PRIMARY KEY, revision INTEGER NOT NULL, digest BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, record_id TEXT NOT NULL, number INTEGER NOT NULL,
    start INTEGER NOT NULL, stop INTEGER NOT NULL, vectors BLOB NOT NULL
);
CREATE UNIQUE INDEX passages_of_records ON passages (record_id, number);
"""
_TABLES = {"label", "records", "passages"}
_INSERT = "INSERT INTO passages (record_id, number, start, stop, vectors) VALUES (?, ?, ?, ?, ?)"
_READ = """
SELECT vectors FROM passages WHERE record_id = ?1 AND (number < ?2 OR start <= ?3 AND ?3 < stop) ORDER BY number
"""
_MISSHAPEN = "SELECT vectors FROM passages WHERE typeof(vectors) <> 'blob' OR length(vectors) % ? <> 0 LIMIT 1"
# Primary result codes of a damaged file: missing table, corrupt page, violated constraint, no database.
_DAMAGE = frozenset(
    (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT,
     sqlite3.SQLITE_NOTADB)
)  # fmt: skip


class TokensUnusable(sqlite3.DatabaseError):
    """The file is damaged; opening the store again replaces it."""


@dataclass(frozen=True, slots=True, eq=False)
class PassageTokens:
    """Range of characters with its token vectors."""

    start: int
    stop: int
    vectors: Tokens


@dataclass(frozen=True, slots=True, eq=False)
class TokenRecord:
    """Record with all of its passages; none without text."""

    record_id: str
    revision: int
    digest: bytes
    passages: Sequence[PassageTokens]


class TokenStore:
    """Derived data: a damaged file, or another model's, is replaced when it is opened. Thread-safe.

    Reads never wait for writes. Damage raises `TokensUnusable`, from then on.
    """

    def __init__(self, path: Path, *, model: str, width: int) -> None:
        self._path = path
        self._width = width
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._is_closed = False
        self.fault = ""
        """Empty while the file can be used."""
        self.on_fault: Callable[[], None] = lambda: None
        self._writer = _connected(path)
        try:
            _prepare(self._writer, {"format": _FORMAT, "model": model, "width": str(width)})
            self._reader = _connected(path)
        except BaseException:
            self._writer.close()
            raise

    @classmethod
    def open(cls, folder: Path, *, model: str, width: int) -> Self:
        """Open, create or replace the file, or raise sqlite3.Error or OSError."""
        try:
            return cls(folder / FILE, model=model, width=width)
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise
        cls.remove(folder)
        return cls(folder / FILE, model=model, width=width)

    @staticmethod
    def remove(folder: Path) -> None:
        for file in folder.glob(f"{FILE}*"):
            file.unlink(missing_ok=True)

    def check(self) -> str:
        """Read the whole file and return its damage; empty without any."""
        try:
            with self._writes() as writer:
                ((found,),) = writer.execute("PRAGMA quick_check(1)").fetchall()
                if found != "ok":
                    raise sqlite3.DatabaseError(str(found).strip().splitlines()[-1])
                for (vectors,) in writer.execute(_MISSHAPEN, (self._width,)):
                    self._table(vectors)
        except TokensUnusable as error:
            return str(error)
        return ""

    def contents(self) -> dict[str, int]:
        with self._writes() as writer:
            return dict(writer.execute("SELECT record_id, revision FROM records"))

    def digests(self, record_ids: Iterable[str]) -> dict[str, bytes]:
        query = "SELECT record_id, digest FROM records WHERE record_id = ?"
        with self._writes() as writer:
            found = (writer.execute(query, (each,)).fetchone() for each in record_ids)
            return dict(row for row in found if row is not None)

    def put(self, records: Iterable[TokenRecord]) -> None:
        """Replace the vectors of these records, in one transaction."""
        with self._writes() as writer:
            for record in records:
                _forget(writer, record.record_id)
                row = (record.record_id, record.revision, record.digest)
                writer.execute("INSERT INTO records VALUES (?, ?, ?)", row)
                writer.executemany(
                    _INSERT,
                    (
                        (record.record_id, number, each.start, each.stop, self._plain(each.vectors))
                        for number, each in enumerate(record.passages)
                    ),
                )

    def confirm(self, revisions: Mapping[str, int]) -> None:
        """Set the revisions of records whose text did not change."""
        with self._writes() as writer:
            writer.executemany(
                "UPDATE records SET revision = ? WHERE record_id = ?",
                [(revision, record_id) for record_id, revision in revisions.items()],
            )

    def drop(self, record_ids: Collection[str]) -> None:
        """Delete records and overwrite their pages."""
        if not record_ids:
            return
        with self._writes() as writer:
            for record_id in record_ids:
                _forget(writer, record_id)

    def clear(self) -> None:
        with self._writes() as writer:
            for table in ("passages", "records"):
                writer.execute(f"DELETE FROM {table}")  # noqa: S608 - of ours

    def read(self, wanted: Mapping[str, int], *, most: float = math.inf) -> dict[str, list[Tokens]]:
        """Return the vectors of records, one table per passage, in the order of `wanted`.

        Reads the first `READ_EACH` passages, and the one at the given character offset. Stops after the record with
        which `most` tokens are reached; leaves out records without vectors.
        """
        with self._reading, self._guarded():
            return self._read(wanted, most) if not self._is_closed else {}

    def compact(self) -> None:
        """Checkpoint the write-ahead log: deleted vectors are nowhere on disk."""
        with suppress(TokensUnusable), self._writing, self._guarded():
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._writing, self._reading:
            self._is_closed = True
            for connection in (self._reader, self._writer):
                with suppress(sqlite3.Error):
                    connection.close()
            if self.fault:
                self.remove(self._path.parent)

    def _read(self, wanted: Mapping[str, int], most: float) -> dict[str, list[Tokens]]:
        found: dict[str, list[Tokens]] = {}
        for record_id, place in wanted.items():
            rows = self._reader.execute(_READ, (record_id, READ_EACH, place))
            if tables := [self._table(vectors) for (vectors,) in rows]:
                found[record_id] = tables
                most -= sum(map(len, tables))
            if most <= 0:
                break
        return found

    @contextmanager
    def _writes(self) -> Iterator[sqlite3.Connection]:
        with self._writing, self._guarded(), self._writer as writer:
            yield writer

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        if self.fault and not self._is_closed:
            raise TokensUnusable(self.fault)
        try:
            yield
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise
            self.fault = str(error)
            self.on_fault()
            raise TokensUnusable(self.fault) from error

    def _table(self, vectors: object) -> Tokens:
        if not isinstance(vectors, bytes) or len(vectors) % self._width:
            raise sqlite3.DatabaseError("A passage has vectors of an impossible size.")
        return np.frombuffer(vectors, np.int8).reshape(-1, self._width)

    def _plain(self, vectors: Tokens) -> bytes:
        if vectors.dtype != np.int8 or vectors.ndim != 2 or vectors.shape[1] != self._width:
            raise ValueError(f"Token vectors must be int8 of shape (tokens, {self._width}), not {vectors.shape}.")
        return vectors.tobytes()


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _DAMAGE
    # Raised in this module, or undecodable text.
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)


def _prepare(writer: sqlite3.Connection, label: Mapping[str, str]) -> None:
    tables = {name for (name,) in writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        writer.executescript(_SCHEMA)
        with writer:
            writer.executemany("INSERT INTO label VALUES (?, ?)", label.items())
    elif tables != _TABLES or dict(writer.execute("SELECT name, value FROM label")) != label:
        raise sqlite3.DatabaseError("The vectors are by another model, or incomplete.")
    writer.execute("SELECT count(revision) FROM records").fetchall()  # raises where pages are damaged


def _forget(writer: sqlite3.Connection, record_id: str) -> None:
    writer.execute("DELETE FROM passages WHERE record_id = ?", (record_id,))
    writer.execute("DELETE FROM records WHERE record_id = ?", (record_id,))


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, timeout=_BUSY_MS / 1000)
    # A small cache, since each organization has two connections. Lost commits are encoded again.
    with closing(connection.cursor()) as cursor:
        for pragma in ("cache_size = -256", "journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
            cursor.execute(f"PRAGMA {pragma}")
    return connection
