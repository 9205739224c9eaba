"""Connections to one graph file: one for writing, a few for reading."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import LifoQueue

from stores.graph.engine import Engine, Session, database_options, load_engine
from stores.graph.files import pool_for
from stores.graph.schema import TABLES

_READERS = 3


class Sessions:
    """Hold the graph's gate exclusively to replace the connections."""

    def __init__(self, path: Path, engine: Engine, floor_mb: int) -> None:
        self._path = path
        self._engine: Engine = engine
        self._module = load_engine(engine)
        self._floor_mb = floor_mb
        self._open()

    def _open(self, pool_mb: int = 0) -> None:
        self._pool_mb = max(pool_mb, pool_for(self._path, self._floor_mb))
        options = database_options(self._engine, self._pool_mb)
        self._database = self._module.Database(str(self._path), **options)
        try:
            self.writer = self._session()
            for statement in TABLES:
                self.writer.command(statement)
        except BaseException:
            self._database.close()
            raise
        self._readers: LifoQueue[Session | None] = LifoQueue()
        for _ in range(_READERS):
            self._readers.put(None)

    @contextmanager
    def reader(self) -> Iterator[Session]:
        """Borrow a reading connection; one that failed is closed."""
        session = self._readers.get()
        try:
            if session is None:
                session = self._session()
            yield session
        except BaseException:
            if session is not None:
                session.close()
            self._readers.put(None)
            raise
        self._readers.put(session)

    def renew_writer(self) -> None:
        self.writer.close()
        self.writer = self._session()

    def grow_pool(self) -> None:
        """Reopen with a larger buffer pool where the file has outgrown it."""
        if pool_for(self._path, self._floor_mb) > 2 * self._pool_mb:
            self.reopen()

    def reopen(self, replace: Callable[[], None] = lambda: None, pool_mb: int = 0) -> None:
        """Close everything, let the caller replace the file, and open it again, with a buffer pool of this size."""
        try:
            self.close()
            replace()
        finally:
            self._open(pool_mb)

    def close(self) -> None:
        while not self._readers.empty():
            reader = self._readers.get()
            if reader is not None:
                reader.close()
        self.writer.close()
        self._database.close()

    def _session(self) -> Session:
        return Session(self._module, self._database, self._engine)
