"""Version number of everybody's rights, for caches of them; read in microseconds.

SQLite tells that somebody committed (`data_version`), but most commits change no rights. So triggers count the changes
of every table that is not content, whoever makes them, and the count is read after a commit.
"""

import sqlite3
import threading
from pathlib import Path

from sqlalchemy import Connection, Table

from stores.ledger import schema
from stores.ledger.columns import metadata

CONTENT = frozenset(
    {
        "meta",
        "entities",
        "entity_revisions",
        "entity_labels",
        "relations",
        "relation_ends",
        "raw_memories",
        "documents",
        "chunks",
        "citations",
        "changes",
        "idempotency_keys",
        "idempotency_records",
        "leases",
        "audit_entries",
    }
)
"""Tables that decide nothing about rights. A table that is not named here is counted."""

HEAD_OF_FEED = frozenset({"seq", "batch"})
"""Columns of an organization that move with every change of its content."""

_COUNT = "SELECT value FROM meta WHERE name = 'rights'"
_ADD = "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'rights'"


def count_rights(connection: Connection) -> None:
    """Make SQLite count, from now on, what may change somebody's rights; elsewhere there is nothing to do."""
    if connection.dialect.name != "sqlite":
        return
    connection.exec_driver_sql("INSERT OR IGNORE INTO meta (name, value) VALUES ('rights', '0')")
    rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    present = {row.name: row.sql for row in rows}
    wanted = dict(pair for table in metadata.sorted_tables for pair in _triggers(table).items())
    for name, statement in wanted.items():
        if present.get(name) != statement:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
            connection.exec_driver_sql(statement)


def _triggers(table: Table) -> dict[str, str]:
    if table.name in CONTENT:
        return {}
    ignored = HEAD_OF_FEED if table is schema.organizations else frozenset()
    columns = ", ".join(column.name for column in table.columns if column.name not in ignored)
    moments = {"insert": "INSERT", "update": f"UPDATE OF {columns}", "delete": "DELETE"}
    return {
        f"rights_{table.name}_{moment}": (
            f"CREATE TRIGGER rights_{table.name}_{moment} AFTER {event} ON {table.name} BEGIN {_ADD}; END"
        )
        for moment, event in moments.items()
    }


class RightsVersion:
    """Watches one file over a connection of its own, which never writes. Safe to ask from any thread."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        # Never waits: who asks would rather read again than wait.
        self._connection = sqlite3.connect(path, timeout=0, check_same_thread=False, isolation_level=None)
        self._commits = -1
        self._count = 0

    def current(self) -> int | None:
        """A number that grows with each commit, of any process, that may change rights; None if unknown."""
        try:
            with self._lock:
                (commits,) = self._connection.execute("PRAGMA data_version").fetchone()
                if commits != self._commits:
                    ((count,),) = self._connection.execute(_COUNT).fetchall()
                    self._commits, self._count = commits, int(count)
                return self._count
        except (sqlite3.Error, ValueError):
            return None

    def commits(self) -> int | None:
        """A number that changes with each commit, of any process; None if unknown. Takes microseconds."""
        try:
            with self._lock:
                (commits,) = self._connection.execute("PRAGMA data_version").fetchone()
                return int(commits)
        except (sqlite3.Error, ValueError):
            return None

    def close(self) -> None:
        with self._lock:
            self._connection.close()
