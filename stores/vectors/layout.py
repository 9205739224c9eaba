"""Arrow layout of the table. Loads Arrow."""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stores.clock import microseconds
from stores.records import Facet, facets
from stores.vectors.matrix import VISIBILITY, Columns
from stores.vectors.passages import EMPTY, PASSAGE, EmbeddedRecord, Integers, Vector

FORMAT = "2"
FACETS: tuple[Facet, ...] = get_args(Facet)
STATE_ID = "\0state"
LIGHT = ["row", "kind", "record_id", "revision", "passage"]
PASSAGES = ["row", "record_id", "start", "end", "updated_at", VISIBILITY, *FACETS, "vector"]

_NUMBERS = {"row": pa.int64(), "kind": pa.int8(), "revision": pa.int64(), "passage": pa.int32()}
_PLACES = {"start": pa.int32(), "end": pa.int32(), "updated_at": pa.int64()}


def schema(model: str, dimension: int) -> Any:
    fields: dict[str, Any] = {
        **_NUMBERS,
        "record_id": pa.string(),
        **_PLACES,
        VISIBILITY: pa.string(),
        **{facet: pa.list_(pa.string()) for facet in FACETS},
        "state": pa.string(),
        "vector": pa.list_(pa.float32(), dimension),
    }
    return pa.schema(list(fields.items()), metadata=label(model, dimension))


def label(model: str, dimension: int) -> dict[str, str]:
    return {"format": FORMAT, "model": model, "dimension": str(dimension)}


def read_label(table_schema: Any) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (table_schema.metadata or {}).items()}


def rows_of(record: EmbeddedRecord) -> list[dict[str, Any]]:
    """Return a row for each passage of a record, or one without."""
    entity, own = record.entity, facets(record.entity)
    shared: dict[str, Any] = {
        "record_id": entity.id,
        "revision": entity.revision,
        "updated_at": microseconds(entity.updated_at),
        VISIBILITY: entity.visibility,
        **{facet: list(dict.fromkeys(own.get(facet, ()))) for facet in FACETS},
    }
    places = zip(record.passages, record.vectors, strict=True)
    return [
        {"kind": PASSAGE, **shared, "passage": number, "start": place.start, "end": place.end, "vector": vector}
        for number, (place, vector) in enumerate(places)
    ] or [{"kind": EMPTY, **shared}]


def table_of(table_schema: Any, rows: Iterable[Mapping[str, Any]], first_row: int) -> Any:
    """Number rows and make a table of them."""
    no_vector = np.zeros(table_schema.field("vector").type.list_size, np.float32)
    unset = {"revision": 0, "passage": 0, "vector": no_vector}
    numbered = [{**unset, **row, "row": number} for number, row in enumerate(rows, start=first_row)]
    return pa.Table.from_pylist(numbered, schema=table_schema)


def light_rows(table: Any) -> list[tuple[int, int, str, int, int]]:
    ordered = table.sort_by("row")
    return list(zip(*(ordered.column(name).to_pylist() for name in LIGHT), strict=True))


def vectors(table: Any) -> Vector:
    column = table.column("vector")
    width = column.type.list_size
    lines = [chunk.flatten().to_numpy().reshape(-1, width) for chunk in column.chunks]
    return np.concatenate([np.empty((0, width), np.float32), *lines])


def columns(table: Any, valid: Integers) -> Columns:
    chosen = np.flatnonzero(np.isin(table.column("row").to_numpy(), valid))
    rows = table.drop_columns(["vector"]).take(pa.array(chosen)).combine_chunks()
    return Columns(
        vectors=vectors(table)[chosen],
        starts=rows.column("start").to_numpy(),
        ends=rows.column("end").to_numpy(),
        updated_at=rows.column("updated_at").to_numpy(),
        owners=rows.column("record_id").to_pylist(),
        postings=_postings(rows),
    )


def _postings(rows: Any) -> dict[tuple[str, str], Integers]:
    found: dict[tuple[str, str], Integers] = {}
    for key in (VISIBILITY, *FACETS):
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
