"""Rows that share who may read them and what filters compare, in the orders that lists ask for."""

from collections.abc import Iterable, Sequence
from heapq import nlargest, nsmallest
from operator import attrgetter
from typing import Literal, NamedTuple


class Facets(NamedTuple):
    """What filters compare, words in lower case; "" or None where a record has none."""

    type: str
    status: str
    priority: str
    category: str
    complexity: str
    feature: str
    epic_id: str | None
    project_id: str | None
    source_id: str | None


class Standing(NamedTuple):
    """Whether a record is there, who may read it, and whether another one, visible to the caller, retired it."""

    id: str
    entity_type: str
    visibility: str
    updated_us: int
    """Microseconds since 1970: a ranking compares hundreds of these, and shows none."""
    created_us: int
    recent_us: int
    """The moment from which on it gets older, as `stores/event_times.py` tells it."""
    facets: Facets
    superseded: bool = False
    """What depends on the caller: never known beforehand."""


class Kind(NamedTuple):
    """What most records share with many others: who may read them, and what filters compare."""

    visibility: str
    facets: Facets


Place = Literal["updated_us", "created_us"]


class Order(NamedTuple):
    """By which time rows are ordered, ties by id, and how many of the first are wanted."""

    place: Place
    is_descending: bool
    most: int


class Group:
    """Some rows. Each order is made when it is first asked for, and again when a row has changed."""

    __slots__ = ("_orders", "rows")

    def __init__(self) -> None:
        self.rows: dict[str, Standing] = {}
        self._orders: dict[Place, list[Standing]] = {}

    def put(self, row: Standing) -> None:
        """Take in a row that is not there."""
        self.rows[row.id] = row
        self._orders.clear()

    def drop(self, record_id: str) -> None:
        """Leave a row out."""
        del self.rows[record_id]
        self._orders.clear()

    def first(self, order: Order) -> list[Standing]:
        """Return the first rows of an order."""
        if (ascending := self._orders.get(order.place)) is None:
            ascending = self._orders[order.place] = sorted(self.rows.values(), key=attrgetter(order.place, "id"))
        return ascending[-order.most :] if order.is_descending else ascending[: order.most]


def first_of(rows: Sequence[Standing], order: Order) -> list[Standing]:
    """Return the first of any rows in an order."""
    place, is_descending, most = order
    if len(rows) > most:
        # Most are out by their times alone: whole places are compared of few.
        times = list(map(attrgetter(place), rows))
        last = (nlargest if is_descending else nsmallest)(most, times)[-1]
        rows = [row for row, at in zip(rows, times, strict=True) if (at >= last if is_descending else at <= last)]
    return sorted(rows, key=attrgetter(place, "id"), reverse=is_descending)[:most]


def first_of_groups(groups: Iterable[Group], order: Order) -> list[Standing]:
    """Return the first of all rows of some groups in an order: of each, no more are looked at than are wanted."""
    return first_of([row for group in groups for row in group.first(order)], order)
