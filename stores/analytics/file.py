"""Analytics file: DuckDB tables of all organizations, without text.

Times are UTC without a zone. No keys or indexes: DuckDB scans columns.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from stores.analytics.query import Activity, ActivityQuery, Uses
from stores.ledger.task_counts import Move, TaskHistory
from stores.records import Position

SCHEMA = "1"
"""A file with another version is derived from the ledger again."""
_OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "256MB",
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_TABLES = """
CREATE TABLE IF NOT EXISTS about (schema TEXT);
CREATE TABLE IF NOT EXISTS watermarks (organization_id TEXT, epoch TEXT, sequence BIGINT, batch TEXT);
CREATE TABLE IF NOT EXISTS tasks (
    organization_id TEXT, id TEXT, project_id TEXT, visibility TEXT, created_at TIMESTAMP
);
CREATE TABLE IF NOT EXISTS task_moves (
    organization_id TEXT, id TEXT, revision INTEGER, status TEXT, moved_at TIMESTAMP
);
CREATE TABLE IF NOT EXISTS exposures (
    organization_id TEXT, record_id TEXT, visibility TEXT, signal TEXT, surface TEXT, user_id TEXT, session_key TEXT,
    message_key TEXT, rank INTEGER, score DOUBLE, shown_at TIMESTAMP
);
"""
_RECORDS = ("tasks", "task_moves")
_TASK_SCHEMA = pa.schema([
    ("organization_id", pa.string()), ("id", pa.string()), ("project_id", pa.string()), ("visibility", pa.string()),
    ("created_at", pa.timestamp("us")),
])  # fmt: skip
_MOVE_SCHEMA = pa.schema([
    ("organization_id", pa.string()), ("id", pa.string()), ("revision", pa.int32()), ("status", pa.string()),
    ("moved_at", pa.timestamp("us")),
])  # fmt: skip

_EXPOSURE_SCHEMA = pa.schema([
    *((name, pa.string()) for name in (
        "organization_id", "record_id", "visibility", "signal", "surface", "user_id", "session_key", "message_key",
    )),
    ("rank", pa.int32()), ("score", pa.float64()), ("shown_at", pa.timestamp("us")),
])  # fmt: skip

_SEEN = """
WITH seen AS (
    SELECT id, created_at FROM tasks
    WHERE organization_id = $organization AND project_id = $project AND list_contains($visibility, visibility)
), completed AS (
    -- The last move counts, except into the archive: an archived task stays as complete as it was.
    SELECT id, arg_max(moved_at, revision) AS completed_at FROM task_moves SEMI JOIN seen USING (id)
    WHERE organization_id = $organization AND status <> 'archived'
    GROUP BY id HAVING arg_max(status, revision) = 'done'
)
"""
_TOTALS = f"""{_SEEN}
SELECT (SELECT count(*) FROM seen WHERE created_at > $since),
       (SELECT count(*) FROM completed WHERE completed_at > $since)
"""  # noqa: S608 - both parts are ours
_PER_DAY = f"""{_SEEN}, days AS (SELECT unnest(range($first, $end, INTERVAL 1 DAY))::DATE AS day)
SELECT day, count(completed.id) FROM days LEFT JOIN completed ON completed_at::DATE = day GROUP BY day ORDER BY day
"""  # noqa: S608 - both parts are ours
_TASKS = "SELECT id, project_id, visibility, created_at FROM tasks WHERE organization_id = $organization"
_MOVES = """
SELECT id, revision, status, moved_at FROM task_moves WHERE organization_id = $organization ORDER BY id, revision
"""
_USES = """
WITH cited AS (
    SELECT user_id, record_id, max(shown_at) AS last FROM exposures
    WHERE organization_id = $organization AND signal = 'citation' GROUP BY ALL
)
SELECT surface, count(*), count(last) FROM exposures
LEFT JOIN cited ON cited.user_id = exposures.user_id AND cited.record_id = exposures.record_id AND last >= shown_at
WHERE organization_id = $organization AND signal = 'exposure' AND list_contains($visibility, visibility)
GROUP BY surface ORDER BY surface
"""
_EXPOSED = "SELECT DISTINCT record_id FROM exposures WHERE organization_id = $organization"
ExposureRow = tuple[str, str, str, str, str, str, str, str, int | None, float | None, datetime]
"""Columns in table order; the time is aware."""


class AnalyticsFile:
    """Thread-safe; writes are serialized."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        """A DuckDB connection serves one thread at a time."""

    @classmethod
    def open(cls, path: Path) -> "AnalyticsFile":
        """Open the file; derive it anew for another schema.

        Raises:
            duckdb.Error: It cannot be opened.
        """
        connection = duckdb.connect(str(path), config=_OPTIONS)
        try:
            connection.execute(_TABLES)
            if connection.execute("SELECT schema FROM about").fetchall() != [(SCHEMA,)]:
                # Exposures stay: nothing else has them.
                for table in ("about", "watermarks", *_RECORDS):
                    connection.execute(f"DROP TABLE {table}")
                connection.execute(_TABLES)
                connection.execute("INSERT INTO about VALUES (?)", [SCHEMA])
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    def close(self, positions: Mapping[str, Position] | None = None) -> None:
        with suppress(duckdb.Error):
            self.mark(positions or {})
        with self._lock, suppress(duckdb.Error):
            self._connection.close()

    def watermarks(self) -> dict[str, Position]:
        """An interrupted rebuild has none."""
        rows = self._read("SELECT organization_id, epoch, sequence, batch FROM watermarks", {})
        return {row[0]: Position(row[1], row[2], row[3]) for row in rows}

    def organizations(self) -> set[str]:
        parts = (f"SELECT organization_id FROM {table}" for table in ("watermarks", *_RECORDS, "exposures"))  # noqa: S608
        return {row[0] for row in self._read(" UNION ".join(parts), {})}

    def mark(self, positions: Mapping[str, Position]) -> None:
        with self._writing() as cursor:
            for organization_id, position in positions.items():
                _mark(cursor, organization_id, position)

    def replace(
        self, organization_id: str, task_ids: Iterable[str], histories: Sequence[TaskHistory], position: Position | None
    ) -> None:
        """Replace these tasks' histories, and set the watermark, in one transaction.

        Tasks without a history are removed.
        """
        ids = list(task_ids)
        tasks, moves = _tables(organization_id, histories)
        with self._writing() as cursor:
            for table, rows in zip(_RECORDS, (tasks, moves), strict=True):
                if ids:
                    statement = f"DELETE FROM {table} WHERE organization_id = ? AND id IN (SELECT unnest(?))"  # noqa: S608
                    cursor.execute(statement, [organization_id, ids])
                if rows.num_rows:
                    cursor.register("arriving", rows)
                    cursor.execute(f"INSERT INTO {table} SELECT * FROM arriving")  # noqa: S608 - a name of ours
                    cursor.unregister("arriving")
            if position is not None:
                _mark(cursor, organization_id, position)

    def clear(self, organization_id: str) -> None:
        self._clear(organization_id, ("watermarks", *_RECORDS))

    def forget(self, organization_id: str) -> None:
        self._clear(organization_id, ("watermarks", *_RECORDS, "exposures"))

    def _clear(self, organization_id: str, tables: Iterable[str]) -> None:
        with self._writing() as cursor:
            for table in tables:
                cursor.execute(f"DELETE FROM {table} WHERE organization_id = ?", [organization_id])  # noqa: S608

    def append_exposures(self, rows: Sequence[ExposureRow]) -> None:
        if not rows:
            return
        arriving = _table([(*row[:-1], _naive(row[-1])) for row in rows], _EXPOSURE_SCHEMA)
        with self._writing() as cursor:
            cursor.register("arriving", arriving)
            cursor.execute("INSERT INTO exposures SELECT * FROM arriving")
            cursor.unregister("arriving")

    def erase_exposures(self, organization_id: str, record_ids: Iterable[str]) -> None:
        statement = "DELETE FROM exposures WHERE organization_id = ? AND record_id IN (SELECT unnest(?))"
        with self._writing() as cursor:
            cursor.execute(statement, [organization_id, list(record_ids)])

    def prune_exposures(self, before: datetime, user_ids: Iterable[str]) -> None:
        statement = "DELETE FROM exposures WHERE shown_at < ? OR user_id IN (SELECT unnest(?))"
        with self._writing() as cursor:
            cursor.execute(statement, [_naive(before), list(user_ids)])

    def exposed_records(self, organization_id: str) -> set[str]:
        return {row[0] for row in self._read(_EXPOSED, {"organization": organization_id})}

    def exposed_users(self) -> set[str]:
        return {row[0] for row in self._read("SELECT DISTINCT user_id FROM exposures", {})}

    def uses(self, organization_id: str, visibility: Iterable[str]) -> list[Uses]:
        values = {"organization": organization_id, "visibility": sorted(visibility)}
        return [Uses(*row) for row in self._read(_USES, values)]

    def activity(self, organization_id: str, query: ActivityQuery) -> Activity:
        until = query.until.astimezone(UTC).replace(tzinfo=None)
        end = datetime(until.year, until.month, until.day) + timedelta(days=1)  # noqa: DTZ001 - UTC, as in the file
        seen = {"organization": organization_id, "project": query.project_id, "visibility": sorted(query.visibility)}
        created, completed = self._read(_TOTALS, {**seen, "since": until - query.recent})[0]
        per_day = self._read(_PER_DAY, {**seen, "first": end - timedelta(days=query.days), "end": end})
        return Activity(created, completed, tuple(per_day))

    def histories(self, organization_id: str) -> list[TaskHistory]:
        """Moves without a task come as a task without project and visibility."""
        of_organization = {"organization": organization_id}
        moves: defaultdict[str, list[Move]] = defaultdict(list)
        for task_id, revision, status, at in self._read(_MOVES, of_organization):
            moves[task_id].append(Move(revision, status, _aware(at)))
        found = [
            TaskHistory(task_id, project_id, visibility, _aware(created_at), tuple(moves.get(task_id, ())))
            for task_id, project_id, visibility, created_at in self._read(_TASKS, of_organization)
        ]
        strays = moves.keys() - {each.id for each in found}
        return [
            *found,
            *(TaskHistory(each, None, "", moves[each][0].at, tuple(moves[each])) for each in sorted(strays)),
        ]

    def _read(self, statement: str, values: Mapping[str, object]) -> list[Any]:
        with self._lock:
            cursor = self._connection.cursor()
        try:
            return cursor.execute(statement, dict(values)).fetchall()
        finally:
            cursor.close()

    @contextmanager
    def _writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._lock:
            cursor = self._connection.cursor()
            try:
                cursor.execute("BEGIN")
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                # After an error DuckDB accepts nothing but a rollback; the error may have ended the transaction.
                with suppress(duckdb.Error):
                    cursor.execute("ROLLBACK")
                raise
            finally:
                cursor.close()


def _mark(cursor: duckdb.DuckDBPyConnection, organization_id: str, position: Position) -> None:
    cursor.execute("DELETE FROM watermarks WHERE organization_id = ?", [organization_id])
    values = [organization_id, position.epoch, position.sequence, position.batch]
    cursor.execute("INSERT INTO watermarks VALUES (?, ?, ?, ?)", values)


def _tables(organization_id: str, histories: Sequence[TaskHistory]) -> tuple[pa.Table, pa.Table]:
    tasks = [
        (organization_id, each.id, each.project_id, each.visibility, _naive(each.created_at)) for each in histories
    ]
    moves = [
        (organization_id, each.id, move.revision, move.status, _naive(move.at))
        for each in histories
        for move in each.moves
    ]
    return _table(tasks, _TASK_SCHEMA), _table(moves, _MOVE_SCHEMA)


def _table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)
