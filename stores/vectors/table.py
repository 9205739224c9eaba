"""LanceDB table of one organization's passages, and its Arrow layout. Loads both."""

import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb import Session, connect
from lancedb.index import HnswSq

from stores.clock import microseconds
from stores.records import Facet, IndexFilter, facets
from stores.vectors.matrix import SLACK, VISIBILITY, Columns, best_hits
from stores.vectors.passages import (
    DELETION,
    EMPTY,
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

_FORMAT = "2"
_FACETS: tuple[Facet, ...] = get_args(Facet)
_STATE_ID = "\0state"
_LIGHT = ["row", "kind", "record_id", "revision", "passage"]
_PASSAGES = ["row", "record_id", "start", "end", "updated_at", VISIBILITY, *_FACETS, "vector"]

_NUMBERS = {"row": pa.int64(), "kind": pa.int8(), "revision": pa.int64(), "passage": pa.int32()}
_PLACES = {"start": pa.int32(), "end": pa.int32(), "updated_at": pa.int64()}
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
            database.create_table(_NAME, schema=_schema(model, dimension))
        table = database.open_table(_NAME)
        found, wanted = _read_label(table.schema), _label(model, dimension)
        if found != wanted:
            raise ModelChanged(_describe(found), _describe(wanted))
        return cls(table, folder)

    def catalog(self) -> Catalog:
        catalog = Catalog()
        rows = self._table.search().select(_LIGHT).limit(None).to_arrow()
        catalog.read(_light_rows(rows))
        states = self._table.search().where(f"kind = {STATE}").select(["row", "state"]).limit(None).to_arrow()
        for row, state in sorted(zip(*(states.column(name).to_pylist() for name in ("row", "state")), strict=True)):
            catalog.put_state(row, state)
        return catalog

    def append(
        self, catalog: Catalog, records: Iterable[EmbeddedRecord], deleted: Iterable[str], state: str
    ) -> Callable[[], Columns]:
        """Write deletions, records and the state in one commit, and enter them; return the passages as columns."""
        rows: list[dict[str, Any]] = [{"kind": DELETION, "record_id": record_id} for record_id in deleted]
        rows += [row for record in records for row in _rows_of(record)]
        rows.append({"kind": STATE, "record_id": _STATE_ID, "state": state})
        first = catalog.next_row
        table = _table_of(self._schema, rows, first)
        self._table.add(table)
        catalog.read(_light_rows(table))
        catalog.put_state(first + len(rows) - 1, state)
        passages = [number for number, row in enumerate(rows, start=first) if row["kind"] == PASSAGE]
        return lambda: _columns_of(table, np.array(passages, np.int64))

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
        query = self._table.search().where(f"kind = {PASSAGE}").select(_PASSAGES).limit(None)
        for batch in query.to_batches():
            yield _columns_of(pa.Table.from_batches([batch]), valid)

    def vectors(self, rows: Mapping[str, int]) -> dict[str, Vector]:
        if not rows:
            return {}
        condition = _numbered(rows.values())
        found = self._table.search().where(condition).select(["record_id", "vector"]).limit(None).to_arrow()
        return dict(zip(found.column("record_id").to_pylist(), _vectors_of(found), strict=True))

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
            # Also half-written files of a killed process; this is the only writer.
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


def _schema(model: str, dimension: int) -> Any:
    fields: dict[str, Any] = {
        **_NUMBERS,
        "record_id": pa.string(),
        **_PLACES,
        VISIBILITY: pa.string(),
        **{facet: pa.list_(pa.string()) for facet in _FACETS},
        "state": pa.string(),
        "vector": pa.list_(pa.float32(), dimension),
    }
    return pa.schema(list(fields.items()), metadata=_label(model, dimension))


def _label(model: str, dimension: int) -> dict[str, str]:
    return {"format": _FORMAT, "model": model, "dimension": str(dimension)}


def _read_label(table_schema: Any) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (table_schema.metadata or {}).items()}


def _rows_of(record: EmbeddedRecord) -> list[dict[str, Any]]:
    """Return a row for each passage of a record, or one without."""
    entity, own = record.entity, facets(record.entity)
    shared: dict[str, Any] = {
        "record_id": entity.id,
        "revision": entity.revision,
        "updated_at": microseconds(entity.updated_at),
        VISIBILITY: entity.visibility,
        **{facet: list(dict.fromkeys(own.get(facet, ()))) for facet in _FACETS},
    }
    places = zip(record.passages, record.vectors, strict=True)
    return [
        {"kind": PASSAGE, **shared, "passage": number, "start": place.start, "end": place.end, "vector": vector}
        for number, (place, vector) in enumerate(places)
    ] or [{"kind": EMPTY, **shared}]


def _table_of(table_schema: Any, rows: Iterable[Mapping[str, Any]], first_row: int) -> Any:
    """Number rows and make a table of them."""
    no_vector = np.zeros(table_schema.field("vector").type.list_size, np.float32)
    unset = {"revision": 0, "passage": 0, "vector": no_vector}
    numbered = [{**unset, **row, "row": number} for number, row in enumerate(rows, start=first_row)]
    return pa.Table.from_pylist(numbered, schema=table_schema)


def _light_rows(table: Any) -> list[tuple[int, int, str, int, int]]:
    ordered = table.sort_by("row")
    return list(zip(*(ordered.column(name).to_pylist() for name in _LIGHT), strict=True))


def _vectors_of(table: Any) -> Vector:
    column = table.column("vector")
    width = column.type.list_size
    lines = [chunk.flatten().to_numpy().reshape(-1, width) for chunk in column.chunks]
    return np.concatenate([np.empty((0, width), np.float32), *lines])


def _columns_of(table: Any, valid: Integers) -> Columns:
    chosen = np.flatnonzero(np.isin(table.column("row").to_numpy(), valid))
    rows = table.drop_columns(["vector"]).take(pa.array(chosen)).combine_chunks()
    return Columns(
        vectors=_vectors_of(table)[chosen],
        starts=rows.column("start").to_numpy(),
        ends=rows.column("end").to_numpy(),
        updated_at=rows.column("updated_at").to_numpy(),
        owners=rows.column("record_id").to_pylist(),
        postings=_postings(rows),
    )


def _postings(rows: Any) -> dict[tuple[str, str], Integers]:
    found: dict[tuple[str, str], Integers] = {}
    for key in (VISIBILITY, *_FACETS):
        column = rows.column(key).combine_chunks()
        array = column.chunk(0) if isinstance(column, pa.ChunkedArray) and column.num_chunks else column
        if not len(array):
            continue
        found.update(_grouped(key, array))
    return found


def _grouped(key: str, array: Any) -> dict[tuple[str, str], Integers]:
    places = np.arange(len(array)) if key == VISIBILITY else pc.list_parent_indices(array).to_numpy()
    values = (array if key == VISIBILITY else pc.list_flatten(array)).dictionary_encode()
    codes = values.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    cuts = np.searchsorted(codes[order], np.arange(len(values.dictionary) + 1))
    return {
        (key, value): places[order[cuts[at] : cuts[at + 1]]].astype(np.int64)
        for at, value in enumerate(values.dictionary.to_pylist())
    }
