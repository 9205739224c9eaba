"""LanceDB table of one organization's passages. Loads the engine."""

import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from lancedb import Session, connect
from lancedb.index import HnswSq
from pyarrow import Table

from stores.clock import microseconds
from stores.records import IndexFilter
from stores.vectors import layout
from stores.vectors.layout import STATE_ID
from stores.vectors.matrix import SLACK, Columns, best_hits
from stores.vectors.passages import (
    DELETION,
    PASSAGE,
    STATE,
    Catalog,
    DenseHits,
    EmbeddedRecord,
    Integers,
    ModelChanged,
    Validity,
    Vector,
)

_NAME = "passages"
# Age of versions that a cleanup removes: all but the one that was just made, without a warning.
_AT_ONCE = timedelta(milliseconds=1)
# Candidates of the approximate index; exact vectors decide among them.
_REFINE = 4
_EF = 300
_ROWS_PER_DELETE = 20_000
_INDEX_CACHE, _METADATA_CACHE = 64_000_000, 16_000_000


@cache
def _session() -> Session:
    """One for all organizations: each would cache up to 7 GB of manifests and index pages."""
    return Session(index_cache_size_bytes=_INDEX_CACHE, metadata_cache_size_bytes=_METADATA_CACHE)


class PassageTable:
    """Log of passages: a commit appends rows and the state; `compact` drops old rows.

    LanceDB's merge would cost a scan, and grow with every commit.
    """

    def __init__(self, table: Any, folder: Path) -> None:
        self._table = table
        self._schema = table.schema
        self._approximate = self._indexed()
        self._folder = folder
        # A cleanup removes files that a search of an older version may still read.
        self._reading = threading.Lock()

    @classmethod
    def open(cls, folder: Path, *, model: str, dimension: int) -> Self:
        """Open or create the table; ModelChanged if another model made its vectors."""
        folder.mkdir(parents=True, exist_ok=True)
        # Without the interval a handle may answer from an older version; a relative path may be taken for the cloud.
        database = connect(str(folder.absolute()), read_consistency_interval=timedelta(0), session=_session())
        if not any(folder.glob(f"{_NAME}.lance/_versions/*.manifest")):
            # Nothing was ever committed; a process that was killed may have left an empty folder.
            shutil.rmtree(folder / f"{_NAME}.lance", ignore_errors=True)
            database.create_table(_NAME, schema=layout.schema(model, dimension))
        table = database.open_table(_NAME)
        found, wanted = layout.read_label(table.schema), layout.label(model, dimension)
        if found != wanted:
            raise ModelChanged(_describe(found), _describe(wanted))
        return cls(table, folder)

    def catalog(self) -> Catalog:
        catalog = Catalog()
        rows = self._table.search().select(layout.LIGHT).limit(None).to_arrow()
        catalog.read(layout.light_rows(rows))
        states = self._table.search().where(f"kind = {STATE}").select(["row", "state"]).limit(None).to_arrow()
        for row, state in sorted(zip(*(states.column(name).to_pylist() for name in ("row", "state")), strict=True)):
            catalog.put_state(row, state)
        return catalog

    def append(
        self, catalog: Catalog, records: Iterable[EmbeddedRecord], deleted: Iterable[str], state: str
    ) -> Callable[[], Columns]:
        """Write deletions, records and the state in one commit, and enter them; return the passages as columns."""
        rows: list[dict[str, Any]] = [{"kind": DELETION, "record_id": record_id} for record_id in deleted]
        rows += [row for record in records for row in layout.rows_of(record)]
        rows.append({"kind": STATE, "record_id": STATE_ID, "state": state})
        first = catalog.next_row
        table = layout.table_of(self._schema, rows, first)
        self._table.add(table)
        catalog.read(layout.light_rows(table))
        catalog.put_state(first + len(rows) - 1, state)
        passages = [number for number, row in enumerate(rows, start=first) if row["kind"] == PASSAGE]
        return lambda: layout.columns(table, np.array(passages, np.int64))

    def search(self, vector: Vector, accepted: IndexFilter, valid: Validity, limit: int) -> DenseHits:
        condition, taken = _wanted(accepted), limit
        while True:
            taken = 4 * taken
            found = self._nearest(vector, condition, taken)
            scores = 1.0 - found.column("_distance").to_numpy().astype(np.float64)
            starts, ends = found.column("start").to_numpy(), found.column("end").to_numpy()
            kept = np.flatnonzero([valid.admits(row) for row in found.column("row").to_pylist()])
            hits = best_hits(found.column("record_id").take(kept).to_pylist(), scores[kept], starts[kept], ends[kept])
            complete = len(found) < taken
            if complete or (len(hits) >= limit and hits.scores[limit - 1] > scores[-1] + SLACK):
                return hits[:limit]

    def load(self, valid: Integers) -> Iterator[Columns]:
        query = self._table.search().where(f"kind = {PASSAGE}").select(layout.PASSAGES).limit(None)
        for batch in query.to_batches():
            yield layout.columns(Table.from_batches([batch]), valid)

    def vectors(self, rows: Mapping[str, int]) -> dict[str, Vector]:
        if not rows:
            return {}
        condition = _numbered(rows.values())
        found = self._table.search().where(condition).select(["record_id", "vector"]).limit(None).to_arrow()
        return dict(zip(found.column("record_id").to_pylist(), layout.vectors(found), strict=True))

    def compact(self, drop: Collection[int]) -> None:
        # Ascending: when this is cut short, no record's end is forgotten before the record is.
        rows = sorted(drop)
        for at in range(0, len(rows), _ROWS_PER_DELETE):
            self._table.delete(_numbered(rows[at : at + _ROWS_PER_DELETE]))
        self._merge()
        if any((self._folder / f"{_NAME}.lance" / "_deletions").glob("*")):
            # A fragment that is full is left alone as long as little of it was deleted.
            self.rewrite()

    def rewrite(self) -> None:
        """Write everything again without deleted rows; loses the approximate index."""
        self._table.add(self._table.to_arrow(), mode="overwrite")
        self._approximate = self._indexed()
        self._merge()

    def ensure_index(self) -> None:
        """Takes about a minute per 100,000 passages."""
        if not self._approximate:
            self._table.create_index("vector", config=HnswSq(distance_type="dot"))
            self._approximate = True

    def close(self) -> None:
        self._table = None

    def _merge(self) -> None:
        self._table.optimize()
        with self._reading:
            # Also half-written files of a killed process; nobody else writes here.
            self._table.optimize(cleanup_older_than=_AT_ONCE, delete_unverified=True)

    def _indexed(self) -> bool:
        return any("vector" in index.columns for index in self._table.list_indices())

    def _nearest(self, vector: Vector, condition: str, count: int) -> Any:
        query = (
            self._table.search(vector, vector_column_name="vector")
            .distance_type("dot")
            .where(condition, prefilter=True)
            .select(["row", "record_id", "start", "end", "_distance"])
            .limit(count)
        )
        with self._reading:
            if self._approximate:
                query = query.ef(max(_EF, count)).refine_factor(_REFINE)
            return query.to_arrow()


def _describe(label: Mapping[str, str]) -> str:
    return f"{label.get('model')}, {label.get('dimension')} dimensions, format {label.get('format')}"


def _wanted(accepted: IndexFilter) -> str:
    """Condition for passages that a filter accepts, replaced ones included."""
    conditions = [f"kind = {PASSAGE}", f"visibility IN ({_literals(accepted.visibility)})"]
    conditions += [
        f"array_has_any({facet}, make_array({_literals(values)}))" for facet, values in accepted.any_of.items()
    ]
    if accepted.updated_since is not None:
        conditions.append(f"updated_at >= {microseconds(accepted.updated_since)}")
    if accepted.updated_until is not None:
        conditions.append(f"updated_at <= {microseconds(accepted.updated_until)}")
    if accepted.ids is not None:
        conditions.append(f"record_id IN ({_literals(accepted.ids)})" if accepted.ids else "FALSE")
    return " AND ".join(conditions)


def _numbered(rows: Iterable[int]) -> str:
    """Condition for at least one row."""
    return f"row IN ({', '.join(map(str, rows))})"


def _literals(values: Iterable[str]) -> str:
    return ", ".join("'{}'".format(value.replace("'", "''")) for value in sorted(values))
