"""Connections: a writer and query-only readers on SQLite, two pools on PostgreSQL."""

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from sqlite3 import SQLITE_CORRUPT, SQLITE_FULL, SQLITE_NOTADB
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, Insert, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DataError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, Pool, QueuePool

from stores.errors import Conflict, InvalidSetting, Unavailable, ValidationFailed


class CommitVersion:
    """Number of a file's commits, in whatever process, read in microseconds. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._lock = Lock()
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


class ReaderPool(Pool):
    """Keeps some idle connections open; SQLAlchemy's own lock took half of a read's time with fifty clients."""

    def __init__(
        self, creator: Callable[..., Any], most: int, most_idle: int, timeout_s: float, **options: Any
    ) -> None:
        super().__init__(creator, **options)
        self._most, self._most_idle, self._timeout_s = most, most_idle, timeout_s
        self._idle: deque[ConnectionPoolEntry] = deque()
        self._permits: SimpleQueue[None] = SimpleQueue()
        for _ in range(most):
            self._permits.put(None)

    def dispose(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _do_get(self) -> ConnectionPoolEntry:
        try:
            self._permits.get(timeout=self._timeout_s)
        except Empty:
            raise PoolTimeout(f"All {self._most} connections are in use.") from None
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._create_connection()
        except BaseException:
            self._permits.put(None)
            raise

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        try:
            if len(self._idle) < self._most_idle:
                self._idle.append(record)
            else:
                record.close()
        finally:
            self._permits.put(None)


READERS = 4
WAIT_S = 20
"""Longest wait for the writer, a connection or a lock."""

_DAMAGED = frozenset({SQLITE_CORRUPT, SQLITE_NOTADB})
_BACKUP = "Stop the server, and restore a backup with `engrain restore`: see docs/guide/operations.md."
_RETRYABLE = frozenset({"40001", "40P01"})

_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA secure_delete=ON",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={WAIT_S * 1000}",
    "PRAGMA cache_size=-4000",
    # Checkpoint every 32 MB of log, not 4: hot pages such as index nodes are written less often.
    "PRAGMA wal_autocheckpoint=8000",
    "PRAGMA temp_store=MEMORY",
)


@dataclass(frozen=True, slots=True)
class Database:
    """Connections of one ledger. Readers commit each statement by itself."""

    writer: Engine
    reader: Engine
    watch: CommitVersion | None = None

    @property
    def is_sqlite(self) -> bool:
        return self.writer.dialect.name == "sqlite"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with _translated(), self.writer.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection whose reads each see the latest commit."""
        try:
            with _translated(), self.reader.connect() as connection:
                yield connection
        except (UnicodeEncodeError, OverflowError) as error:
            raise ValidationFailed("A value cannot be compared with anything stored.") from error

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        with _translated(), self.reader.connect() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN")
                try:
                    yield connection
                finally:
                    connection.exec_driver_sql("ROLLBACK")
            else:
                steady = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                with steady.begin():
                    yield steady

    def version(self) -> int | None:
        """Return a number that changes with each commit; None on PostgreSQL."""
        return None if self.watch is None else self.watch.current()

    def checkpoint(self) -> None:
        """Truncate SQLite's write-ahead log, so that deleted text leaves the disk."""
        if self.is_sqlite:
            with _translated(), self.reader.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        if self.watch is not None:
            self.watch.close()
        for engine in (self.reader, self.writer):
            engine.pool.dispose()


def connect(url: str) -> Database:
    """Open `sqlite:////absolute/path` or `postgresql+psycopg://…`, or raise InvalidSetting or Unavailable."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidSetting("The database URL cannot be read.", remediation=_URL_HELP) from error
    if parsed.get_backend_name() == "sqlite":
        return _open_sqlite(parsed)
    if parsed.get_backend_name() == "postgresql":
        return _open_postgresql(parsed.set(drivername="postgresql+psycopg"))
    raise InvalidSetting(f"The ledger does not support {parsed.get_backend_name()}.", remediation=_URL_HELP)


@cache
def insert_or_skip(dialect: str, table: Table) -> Insert:
    """Return an INSERT that skips existing rows, with `rowcount` 0."""
    insertion = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    return insertion.on_conflict_do_nothing().execution_options(preserve_rowcount=True)


_ROOM = "Make room on the disk of the data folder; reading goes on meanwhile."
_URL_HELP = "Use sqlite:////absolute/path/ledger.sqlite or postgresql+psycopg://user@host/database."


def _open_sqlite(url: URL) -> Database:
    if not url.database or url.database == ":memory:":
        raise InvalidSetting(
            "The ledger cannot be an in-memory database: acknowledged writes would be lost.", remediation=_URL_HELP
        )
    _create_private(Path(url.database))
    shared = {"connect_args": {"check_same_thread": False}}
    writer = create_engine(url, poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=WAIT_S, **shared)
    reader = create_engine(
        url,
        poolclass=ReaderPool,
        most=READERS * 5,
        most_idle=READERS,
        timeout_s=WAIT_S,
        isolation_level="AUTOCOMMIT",
        **shared,
    )
    event.listen(writer, "connect", _prepare_writer)
    event.listen(writer, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    event.listen(reader, "connect", _prepare_reader)
    return Database(writer, reader, CommitVersion(Path(url.database)))


def _create_private(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InvalidSetting(f"The ledger {path} cannot be opened: {error.strerror}.") from error


def _prepare_writer(connection: Any, _record: object) -> None:
    # The driver would begin a transaction at the first write: too late for the reads before it.
    connection.isolation_level = None
    # One damaged byte must not fail the reading of a whole page.
    connection.text_factory = lambda text: text.decode(errors="replace")
    for pragma in _SQLITE_PRAGMAS:
        connection.execute(pragma)


def _prepare_reader(connection: Any, record: object) -> None:
    _prepare_writer(connection, record)
    connection.execute("PRAGMA query_only=ON")


def _open_postgresql(url: URL) -> Database:
    options: dict[str, Any] = {
        "pool_size": READERS,
        "max_overflow": READERS * 4,
        "pool_timeout": WAIT_S,
        "pool_pre_ping": True,
        "connect_args": {"client_encoding": "utf8"},
    }
    writer = create_engine(url, isolation_level="READ COMMITTED", **options)
    reader = create_engine(url, isolation_level="AUTOCOMMIT", **options)
    event.listen(writer, "connect", _limit_waiting)
    database = Database(writer, reader)
    with database.read() as connection:
        encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        database.close()
        raise InvalidSetting(
            f"The PostgreSQL database has the encoding {encoding}.",
            remediation="Create it with ENCODING 'UTF8' and TEMPLATE template0.",
        )
    return database


def _limit_waiting(connection: Any, _record: object) -> None:
    connection.execute(f"SET lock_timeout = '{WAIT_S}s'")
    connection.commit()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise ValidationFailed("A value is outside of the range that the ledger can store.") from error
    except (OperationalError, InterfaceError) as error:
        if getattr(error.orig, "sqlstate", None) in _RETRYABLE:
            raise Conflict("Another write got in between; nothing was changed.") from error
        if getattr(error.orig, "sqlite_errorcode", None) == SQLITE_FULL:
            raise Unavailable("The disk is full; nothing was changed.", remediation=_ROOM) from error
        raise Unavailable("The ledger cannot be used at this moment.") from error
    except (DatabaseError, sqlite3.DatabaseError) as error:
        # SQLAlchemy's error, or the driver's when a connection is opened.
        cause = error.orig if isinstance(error, DatabaseError) else error
        if getattr(cause, "sqlite_errorcode", None) in _DAMAGED:
            raise Unavailable(f"The ledger is damaged: {cause}.", remediation=_BACKUP) from error
        if isinstance(error, sqlite3.DatabaseError):
            raise Unavailable(f"The ledger cannot be opened: {cause}.") from error
        raise
    except PoolTimeout as error:
        raise Unavailable(f"The ledger was busy for {WAIT_S} seconds.") from error
