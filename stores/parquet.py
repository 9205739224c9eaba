"""Rows as a Parquet file."""

import io
from collections.abc import Mapping, Sequence
from typing import Any


def parquet(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a Parquet file with these columns; the type of each follows from its values."""
    import pyarrow as pa  # noqa: PLC0415 - loaded with the first export
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    file = io.BytesIO()
    pq.write_table(pa.table({name: [row[name] for row in rows] for name in columns}), file)
    return file.getvalue()
