"""How a filter is said in LanceDB's SQL."""

from collections.abc import Iterable

from stores.records import IndexFilter
from stores.vectors.catalog import PASSAGE
from stores.vectors.matrix import microseconds


def wanted(accepted: IndexFilter) -> str:
    """The condition for passages that a filter accepts, replaced ones among them."""
    conditions = [f"kind = {PASSAGE}", f"visibility IN ({literals(accepted.visibility)})"]
    conditions += [
        f"array_has_any({facet}, make_array({literals(values)}))" for facet, values in accepted.any_of.items()
    ]
    if accepted.updated_since is not None:
        conditions.append(f"updated_at >= {microseconds(accepted.updated_since)}")
    return " AND ".join(conditions)


def numbered(rows: Iterable[int]) -> str:
    """The condition for rows of those numbers; neighbours are said as a range."""
    return " OR ".join(f"row BETWEEN {first} AND {last}" for first, last in _runs(rows)) or "false"


def literals(values: Iterable[str]) -> str:
    """Strings as SQL literals."""
    return ", ".join("'{}'".format(value.replace("'", "''")) for value in sorted(values))


def _runs(rows: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for row in sorted(rows):
        if runs and runs[-1][1] == row - 1:
            runs[-1] = (runs[-1][0], row)
        else:
            runs.append((row, row))
    return runs
