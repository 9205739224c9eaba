"""What the parts of the ledger share: its database and its clock."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Executable, Row

from stores.clock import Clock
from stores.ledger.engine import Database

Cells = Row[*tuple[Any, ...]]
"""A row of a result, by place or by name."""


class Store:
    """The base of each part."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def _all(self, statement: Executable, values: Mapping[str, Any]) -> Sequence[Cells]:
        with self._database.read() as connection:
            return connection.execute(statement, values).all()

    def _first(self, statement: Executable, values: Mapping[str, Any]) -> Cells | None:
        with self._database.read() as connection:
            return connection.execute(statement, values).first()
