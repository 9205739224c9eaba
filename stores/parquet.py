"""Rows as Parquet files."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO


def parquet(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a Parquet file with these columns; the type of each follows from its values."""
    import pyarrow as pa  # noqa: PLC0415 - loaded with the first export
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    file = io.BytesIO()
    pq.write_table(pa.table({name: [row[name] for row in rows] for name in columns}), file)
    return file.getvalue()


def write_texts(path: Path, columns: Sequence[str], pages: Iterable[Sequence[Mapping[str, str | None]]]) -> None:
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    schema = pa.schema([(name, pa.string()) for name in columns])
    with pq.ParquetWriter(path, schema) as writer:
        for rows in pages:
            writer.write_table(pa.Table.from_pylist([*rows], schema=schema))


def text_rows(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    for batch in pq.ParquetFile(stream).iter_batches(batch_size=100):
        yield from batch.to_pylist()
