"""The embedded graph engine: loading, safe options, prepared statements."""

import importlib
import importlib.util  # kuzu's COPY from Arrow looks it up and fails if nobody imported it
import sys
import threading
from collections.abc import Mapping
from datetime import datetime
from types import ModuleType
from typing import Any, Literal

from stores.errors import InvalidSetting

Engine = Literal["ladybug", "kuzu"]
Value = str | datetime | list[str] | list[list[str]]
"""No integers: a prepared statement keeps the width of the first one it saw."""

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
