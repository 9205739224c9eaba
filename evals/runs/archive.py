"""Finished runs: a folder of Parquet files each, and all of them together in one DuckDB file for whoever asks SQL."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from evals.results import Case, Outcome, Part
from evals.runs.baseline import Header, read_baseline
from evals.runs.journal import Journal
from evals.runs.record import RECORD, RunRecord, read_record, read_records, write_record
from stores.errors import EngrainError

DATABASE = "runs.duckdb"
CASES, PARTS, RUN = "cases.parquet", "parts.parquet", "run.parquet"
DETAILS, DOCUMENT = "details.md", "details.json"
_LOCK_TRIES = 50
_LOCK_WAIT_S = 0.2
_COUNTED = re.compile(r"latest(?:~(\d{1,9}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stored:
    """A run as it was kept."""

    name: str
    record: RunRecord | None
    """Absent for a bare list of cases."""
    cases: Sequence[Case]
    parts: Sequence[Part]
    details: str = ""
    document: Mapping[str, object] = field(default_factory=dict)
    header: Header = field(default_factory=Header)
    """Of a bare list of cases, what is known of it."""

    @property
    def data(self) -> Mapping[str, str]:
        """A hash of each set, as far as it is known."""
        return self.record.data if self.record is not None else self.header.data

    @property
    def instructions(self) -> str | None:
        """Those of the processor that figures hang on, as far as they are known."""
        return self.record.machine.get("instructions") if self.record is not None else self.header.instructions


class Archive:
    """The runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def require_usable(self) -> None:
        """Refuse to begin a run that the database could not take in the end.

        Raises:
            EngrainError: It is damaged, in use all the time, or can have no file in such a folder.
        """
        if "?" in str(self.folder.absolute()):
            raise EngrainError(
                f"{self.folder.absolute()} can hold no runs: DuckDB reads a question mark in a path otherwise. Name"
                " another folder with --runs."
            )
        if (self.folder / DATABASE).exists():
            with _connected(self.folder / DATABASE):
                pass

    def finish(self, journal: Journal, outcome: Outcome) -> Stored:
        """Write a run's files, add it to the database, and remove what only the unfinished run needed."""
        record = journal.record.finished()
        _write_parquet(journal.folder / CASES, [case.plain() for case in outcome.cases], _CASE_COLUMNS)
        _write_parquet(journal.folder / PARTS, [_plain(part) for part in outcome.parts], _PART_COLUMNS)
        _write_parquet(journal.folder / RUN, [_run_row(record)], _RUN_COLUMNS)
        (journal.folder / DETAILS).write_text(outcome.details, encoding="utf-8")
        (journal.folder / DOCUMENT).write_text(json.dumps(outcome.document), encoding="utf-8")
        self._add_to_database(journal.folder, record.id)
        write_record(journal.folder, record)
        journal.clear()
        return _read(journal.folder)

    def listed(self) -> tuple[list[tuple[Path, RunRecord]], list[str]]:
        """Return all runs with their folders, the latest first, and a sentence for each that cannot be read."""
        return read_records(self.folder)

    def records(self) -> list[RunRecord]:
        """Return all runs that can be read, the latest first; the unfinished ones have no end."""
        return [record for _, record in self.listed()[0]]

    def read(self, name: str) -> Stored:
        """Read a run by its id, the beginning of one, `latest`, `latest~1`, or the path of a file of cases.

        Raises:
            EngrainError: There is no such finished run, or several that begin so, or it is damaged.
        """
        path = Path(name)
        try:
            if path.is_file():
                return _of_file(path)
            for folder in (path, self.folder / name):
                if name and (folder / RECORD).is_file():
                    return _read(folder)
        except OSError:
            # No system has a path of that length, so that it can only be an id.
            pass
        finished = [record.id for record in self.records() if record.finished_at is not None]
        return _read(self.folder / _chosen(name, finished, self.folder))

    def points(self, run: RunRecord) -> list[dict[str, Any]]:
        """Return sets and arms of stored runs with the mean of their measure and their median time, by SQL.

        Of those alone whose folder is there and whose data, sample, server and number of questions at once were the
        same as in this run: others are not to be seen beside it.

        Raises:
            EngrainError: The database is in use all the time, or is damaged.
        """
        if not (self.folder / DATABASE).exists():
            return []
        with _connected(self.folder / DATABASE, read_only=True) as database:
            answer = database.execute(_POINTS)
            names = [column[0] for column in answer.description]
            found = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
        return [
            point
            for point in found
            if _asked(point, point["set"]) == _asked(run.plain(), point["set"])
            and (self.folder / str(point["run_id"])).is_dir()
        ]

    def _add_to_database(self, folder: Path, run_id: str) -> None:
        import pyarrow.parquet as parquet  # noqa: PLC0415 - commands that store nothing need no engine

        with _connected(self.folder / DATABASE) as database:
            for table, name in (("runs", RUN), ("parts", PARTS), ("cases", CASES)):
                # Not by its path, in which DuckDB would take some characters for a pattern.
                database.register("kept", parquet.read_table(folder / name))
                read = f"SELECT '{run_id}' AS run_id, * FROM kept"  # noqa: S608 - the id is ours
                database.execute(f"CREATE TABLE IF NOT EXISTS {table} AS {read} LIMIT 0")
                for column, kind, *_ in database.execute(f"DESCRIBE {read}").fetchall():
                    # Runs of earlier versions lack what has come since.
                    database.execute(f'ALTER TABLE {table} ADD COLUMN IF NOT EXISTS "{column}" {kind}')
                database.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])  # noqa: S608 - as above
                database.execute(f"INSERT INTO {table} BY NAME {read}")


def _asked(run: Mapping[str, Any], name: str) -> tuple[object, ...]:
    """What a run asked of a set, and how.

    That is a hash of the set, or of all its data where that goes by other names; the sample; how many questions at
    once, which then wait for each other; and where.
    """
    data, command, settings = (
        json.loads(each) if isinstance(each, str) else each for each in (run["data"], run["command"], run["settings"])
    )
    return data.get(name, data), command.get("limit"), settings.get("concurrency"), command.get("url")


_POINTS = """
    SELECT c.run_id, c.set, c.arm, p.measure, count(*) FILTER (NOT c.apart) AS n,
           avg(c.values[p.measure]) FILTER (NOT c.apart) AS mean,
           quantile_disc(c.took_ms, 0.5) AS p50_ms, r.command, r.data, r.settings
    FROM cases c JOIN parts p USING (run_id, set, arm) JOIN runs r USING (run_id)
    GROUP BY ALL HAVING p50_ms IS NOT NULL ORDER BY c.run_id
"""


@contextmanager
def _connected(path: Path, *, read_only: bool = False) -> Iterator[Any]:
    """Open the database; another process that writes to it has it for a moment.

    Raises:
        EngrainError: It is in use all the time, or is damaged.
    """
    import duckdb  # noqa: PLC0415 - commands that store nothing need no engine

    try:
        with _opened(path, read_only=read_only) as database:
            yield database
    except duckdb.Error as error:
        raise EngrainError(
            f"{path} cannot be used: {error}. Where it is damaged, move it away and repeat the command: it is made"
            " anew and holds the runs from then on; those before stay in their folders."
        ) from error


def _opened(path: Path, *, read_only: bool) -> Any:  # noqa: ANN401, RUF100 - a connection of DuckDB
    import duckdb  # noqa: PLC0415 - as above

    for attempt in range(_LOCK_TRIES):
        try:
            return duckdb.connect(str(path), read_only=read_only)
        except duckdb.IOException as error:
            if "lock" not in str(error):
                raise
            if attempt == _LOCK_TRIES - 1:
                raise EngrainError(f"{path} is in use by another process: {error}") from error
            time.sleep(_LOCK_WAIT_S)
    raise AssertionError


def _chosen(name: str, finished: Sequence[str], folder: Path) -> str:
    if counted := _COUNTED.fullmatch(name):
        place = int(counted[1] or 0)
        if place < len(finished):
            return finished[place]
        raise EngrainError(f"{folder} holds {len(finished)} finished runs, so that there is no {name}.")
    matching = [run_id for run_id in finished if name and run_id.startswith(name)]
    if name in matching or len(matching) == 1:
        return name if name in matching else matching[0]
    if matching:
        raise EngrainError(f"Several runs begin with {name!r}: {', '.join(matching)}.")
    raise EngrainError(
        f"There is no finished run {name!r} in {folder}; `engrain eval runs` lists them. The latest is `latest`, the"
        " one before it `latest~1`."
    )


def _read(folder: Path) -> Stored:
    record = read_record(folder)
    if record.finished_at is None:
        raise EngrainError(f"The run {record.id} is not finished; the command that began it goes on with it.")
    try:
        return _read_files(folder, record)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise EngrainError(
            f"The files of the run {record.id} in {folder} cannot be read: {type(error).__name__} {error}. Remove the"
            " folder and measure it again."
        ) from error


def _read_files(folder: Path, record: RunRecord) -> Stored:
    import pyarrow.parquet as parquet  # noqa: PLC0415 - as above

    cases = [Case.of(_with_maps(row)) for row in parquet.read_table(folder / CASES).to_pylist()]
    parts = [Part(**row) for row in parquet.read_table(folder / PARTS).to_pylist()]
    details = (folder / DETAILS).read_text(encoding="utf-8")
    return Stored(record.id, record, cases, parts, details, json.loads((folder / DOCUMENT).read_text(encoding="utf-8")))


def _of_file(path: Path) -> Stored:
    found = read_baseline(path)
    units = {(case.set, case.arm): case.unit for case in found.cases}
    measures = found.header.measures
    parts = [Part(*key, unit, None, measures[key[0]]) for key, unit in units.items() if key[0] in measures]
    return Stored(path.name, None, found.cases, parts, header=found.header)


def _with_maps(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "values": dict(row["values"]), "wanted": dict(row["wanted"])}


def _plain(part: Part) -> dict[str, Any]:
    return {each.name: getattr(part, each.name) for each in fields(part)}


def _run_row(record: RunRecord) -> dict[str, Any]:
    """A row whose objects are JSON, so that runs of different settings have the same columns; times are UTC."""
    row = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in record.plain().items()}
    moments = {"started_at": record.started_at, "finished_at": record.finished_at}
    return {**row, **{name: at.replace(tzinfo=None) if at else None for name, at in moments.items()}}


def _write_parquet(path: Path, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.parquet as parquet  # noqa: PLC0415 - as above

    types = {
        "text": pa.string(), "number": pa.float64(), "count": pa.int64(), "truth": pa.bool_(),
        "texts": pa.list_(pa.string()), "numbers": pa.map_(pa.string(), pa.float64()),
        "counts": pa.map_(pa.string(), pa.int64()), "moment": pa.timestamp("us"),
    }  # fmt: skip
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    plain = [{name: _listed(row[name]) for name in columns} for row in rows]
    parquet.write_table(pa.Table.from_pylist(plain, schema=schema), path)


def _listed(value: Any) -> Any:  # noqa: ANN401, RUF100 - whatever a row holds
    return list(value.items()) if isinstance(value, Mapping) else value


_CASE_COLUMNS = {
    "set": "text", "arm": "text", "unit": "text", "id": "text", "values": "numbers", "cluster": "text",
    "category": "text", "apart": "truth", "question": "text", "wanted": "counts", "found": "texts", "took_ms": "number",
    "tokens": "count", "best": "texts", "missed": "texts", "score": "number",
}  # fmt: skip
_PART_COLUMNS = {
    "set": "text", "arm": "text", "unit": "text", "texts": "count", "measure": "text", "floor": "number",
    "goal": "number", "p50_limit_ms": "number", "loading_s": "number", "asking_s": "number", "resident_mb": "number",
    "peak_mb": "number", "note": "text",
}  # fmt: skip
_RUN_COLUMNS = {
    "id": "text", "suite": "text", "started_at": "moment", "finished_at": "moment", "command": "text",
    "settings": "text", "commit": "text", "version": "text", "model": "text", "data": "text", "machine": "text",
    "versions": "text",
}  # fmt: skip
