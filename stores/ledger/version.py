"""Version number of all rights, for caches; read in microseconds.

SQLite reports commits (`data_version`), but most change no rights: triggers count changes of every table
except content.
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
        "payload_texts",
        "raw_memories",
        "documents",
        "chunks",
        "citations",
        "changes",
        "idempotency_keys",
        "idempotency_records",
        "leases",
        "jobs",
        "rejections",
        "audit_entries",
        "audit_subjects",
        "audit_heads",
    }
)
"""Tables that do not affect rights; any other is counted."""

HEAD_OF_FEED = frozenset({"seq", "batch"})
"""Columns of an organization that change with its content."""

_COUNT = "SELECT value FROM meta WHERE name = 'rights'"
_ADD = "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'rights'"


def count_rights(connection: Connection) -> None:
    """Create the triggers on SQLite; do nothing elsewhere."""
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
    """Watches one file over a read-only connection of its own. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        # Never wait: reading the rights again is cheaper.
        self._connection = sqlite3.connect(path, timeout=0, check_same_thread=False, isolation_level=None)
        self._commits = -1
        self._count = 0

    def current(self) -> int | None:
        """Return a number that grows when a commit may have changed rights; None if unknown."""
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
        """Return a number that changes with each commit; None if unknown. Takes microseconds."""
        try:
            with self._lock:
                (commits,) = self._connection.execute("PRAGMA data_version").fetchone()
                return int(commits)
        except (sqlite3.Error, ValueError):
            return None

    def close(self) -> None:
        with self._lock:
            self._connection.close()
