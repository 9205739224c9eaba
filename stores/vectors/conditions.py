"""Filters as LanceDB's SQL."""

from collections.abc import Iterable

from stores.records import IndexFilter
from stores.vectors.catalog import PASSAGE
from stores.vectors.matrix import microseconds


def wanted(accepted: IndexFilter) -> str:
    """Condition for passages that a filter accepts, replaced ones included."""
    conditions = [f"kind = {PASSAGE}", f"visibility IN ({literals(accepted.visibility)})"]
    conditions += [
        f"array_has_any({facet}, make_array({literals(values)}))" for facet, values in accepted.any_of.items()
    ]
    if accepted.updated_since is not None:
        conditions.append(f"updated_at >= {microseconds(accepted.updated_since)}")
    if accepted.updated_until is not None:
        conditions.append(f"updated_at <= {microseconds(accepted.updated_until)}")
    if accepted.ids is not None:
        conditions.append(f"record_id IN ({literals(accepted.ids)})" if accepted.ids else "FALSE")
    return " AND ".join(conditions)


def numbered(rows: Iterable[int]) -> str:
    """Condition for at least one row."""
    return f"row IN ({', '.join(map(str, rows))})"


def literals(values: Iterable[str]) -> str:
    return ", ".join("'{}'".format(value.replace("'", "''")) for value in sorted(values))
