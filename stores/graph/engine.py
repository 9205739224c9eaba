"""The embedded graph engine: its module and options, the file of a graph, and connections to it."""

import importlib
import importlib.util  # kuzu's COPY from Arrow fails if it is not imported
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import LifoQueue
from types import ModuleType
from typing import Any, Literal

from stores.errors import InvalidSetting
from stores.folder import claim, release
from stores.graph.schema import SCHEMA_VERSION, TABLES, Value

Engine = Literal["ladybug", "kuzu"]

MIB = 1 << 20
_RIVAL: Mapping[Engine, Engine] = {"ladybug": "kuzu", "kuzu": "ladybug"}
_OPTIONS: Mapping[Engine, Mapping[str, int | bool]] = {
    # Address space to reserve. Too little ends a graph's life: kuzu uses up 9 MiB of it at each checkpoint (K8).
    "ladybug": {"max_db_size": 1 << 38, "throw_on_wal_replay_failure": False},
    "kuzu": {"max_db_size": 1 << 40},
}
_FINDS_ROWS_BY_KEY: Mapping[Engine, bool] = {
    "ladybug": True,
    "kuzu": False,  # joins the rows with all entities instead: 25 ms for each edge
}
_HOP_HINTS: Mapping[Engine, str] = {
    "ladybug": "",  # its own plan is twice as fast as the hinted one
    "kuzu": "HINT (e0 JOIN r1) JOIN e1",  # its own plan reads every entity: 20 times slower
}
_LOADING = threading.Lock()
_READERS = 3
_POOL_PER_FILE = 4

_CHILD = """
import importlib, importlib.util, json, sys
engine, path, options = sys.argv[1:]
module = importlib.import_module(engine)
database = module.Database(path, **json.loads(options))
connection = module.Connection(database)
connection.execute("MATCH (p:Position) RETURN p.sequence").close()
connection.execute("MATCH (e:Entity) RETURN sum(e.revision)").close()
connection.execute("MATCH (:Entity)-[r:Relation]->(:Entity) RETURN count(r.id)").close()
connection.close()
database.close()
"""


def load_engine(name: Engine) -> ModuleType:
    """Import an engine on first use; InvalidSetting if the other one is loaded: the two crash in one process."""
    if _RIVAL[name] in sys.modules:
        raise InvalidSetting(
            f"The graph engine {_RIVAL[name]!r} is loaded already; {name!r} cannot share a process with it.",
            remediation="Choose one graph engine for the whole server and restart it.",
        )
    with _LOADING:
        module = importlib.import_module(name)
        if name == "ladybug":
            # Its own lazy import of the native module fails in a second thread that comes meanwhile.
            module.get_pybind_module()
        return module


def database_options(engine: Engine, pool_mb: int) -> dict[str, int | bool]:
    """Return the options of a graph file. Automatic checkpoints would fail writes while somebody reads (K2)."""
    limits: dict[str, int | bool] = {"buffer_pool_size": pool_mb * MIB, "max_num_threads": 1, "auto_checkpoint": False}
    return limits | dict(_OPTIONS[engine])


def database_path(folder: Path, engine: Engine) -> Path:
    """Names engine and schema: a change of either starts a fresh index."""
    return folder / f"{engine}-{SCHEMA_VERSION}.db"


def discard(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def pool_for(path: Path, floor_mb: int) -> int:
    """Return the buffer pool, in MiB, that a checkpoint of this file needs.

    200,000 edges (55 MiB) failed with 64 MiB on both engines and with 128 MiB on kuzu.
    """
    size_mb = path.stat().st_size // MIB if path.exists() else 0
    return floor_mb + _POOL_PER_FILE * size_mb


def remove_strangers(folder: Path, keep: Path) -> None:
    """Delete files of other engines and older schemas."""
    for path in folder.iterdir():
        if path.is_file() and not path.name.startswith(keep.name):
            path.unlink()


class Session:
    """Connection with its prepared statements. Not for two threads at once."""

    def __init__(self, module: ModuleType, database: Any, engine: Engine) -> None:
        self.hop_hint = _HOP_HINTS[engine]
        """For the edges `r1` between `e0` and `e1`, where the planner needs one."""
        self.finds_rows_by_key = _FINDS_ROWS_BY_KEY[engine]
        """UNWIND followed by MATCH looks rows up by key."""
        self._connection = module.Connection(database, num_threads=1)
        self._prepare = importlib.import_module(f"{module.__name__}.prepared_statement").PreparedStatement
        self._prepared: dict[str, Any] = {}

    def rows(self, cypher: str, **values: Value) -> list[list[Any]]:
        statement = self._prepared.get(cypher)
        if statement is None:
            statement = self._prepared[cypher] = self._prepare(self._connection, cypher)
        with self._connection.execute(statement, values) as result:
            found: list[list[Any]] = result.get_all()
        return found

    def command(self, cypher: str) -> None:
        self._connection.execute(cypher).close()

    def table(self, cypher: str) -> Any:
        with self._connection.execute(cypher) as result:
            return result.get_as_arrow()

    def copy(self, target: str, table: Any) -> None:
        """Append Arrow rows to a graph table, in a transaction of their own."""
        self._connection.execute(f"COPY {target} FROM $rows", {"rows": table}).close()

    def close(self) -> None:
        self._prepared.clear()
        self._connection.close()


class Sessions:
    """Connection pool with one writer; `alone` waits for all readers, for example to replace the connections."""

    def __init__(self, path: Path, engine: Engine, floor_mb: int) -> None:
        self._path = path
        self._engine: Engine = engine
        self._module = load_engine(engine)
        self._floor_mb = floor_mb
        self._entrance = threading.Lock()
        self._readers: LifoQueue[Session | None] = LifoQueue()
        for _ in range(_READERS):
            self._readers.put(None)
        self._open()

    def _open(self, pool_mb: int = 0) -> None:
        self._pool_mb = max(pool_mb, pool_for(self._path, self._floor_mb))
        options = database_options(self._engine, self._pool_mb)
        self._database = self._module.Database(str(self._path), **options)
        self.is_closed = False
        try:
            self.writer = self._session()
            for statement in TABLES:
                self.writer.command(statement)
        except BaseException:
            self._database.close()
            raise

    @contextmanager
    def reader(self) -> Iterator[Session]:
        """Borrow a reading connection; one that failed is closed."""
        with self._entrance:
            session = self._readers.get()
        try:
            if session is None:
                session = self._session()
            yield session
        except BaseException:
            if session is not None:
                session.close()
            session = None
            raise
        finally:
            self._readers.put(session)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait for running readers, and block new ones until this ends."""
        with self._entrance:
            readers = [self._readers.get() for _ in range(_READERS)]
            try:
                for reader in filter(None, readers):
                    reader.close()
                yield
            finally:
                for _ in range(_READERS):
                    self._readers.put(None)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Lend the writing connection; one whose transaction failed is replaced."""
        try:
            self.writer.command("BEGIN TRANSACTION")
            yield self.writer
            self.writer.command("COMMIT")
        except BaseException:
            with suppress(RuntimeError):
                self.writer.command("ROLLBACK")
            self.writer.close()
            self.writer = self._session()
            raise

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
        """Close the connections and the file after the last reader."""
        self.is_closed = True
        self.writer.close()
        self._database.close()

    def _session(self) -> Session:
        if self.is_closed:
            raise RuntimeError(f"The graph in {self._path.parent} is closed.")
        return Session(self._module, self._database, self._engine)


def probe(folder: Path, engine: Engine, *, timeout_s: float = 60) -> bool:
    """Return whether a child process can read the graph, if any: a damaged log may abort it."""
    path = database_path(folder, engine)
    if not path.exists():
        return True
    claim(folder)
    try:
        options = json.dumps(database_options(engine, pool_for(path, 64)))
        command = [sys.executable, "-P", "-c", _CHILD, engine, str(path), options]
        # The interpreter is our own and the arguments are a path and numbers.
        child = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    finally:
        release(folder)
    return child.returncode == 0
