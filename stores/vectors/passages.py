"""Value types of the vector index, and the catalog of its valid rows."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stores.embedding import Passage
from stores.hits import Hits
from stores.records import Entity, Position

Vector = NDArray[np.float32]
Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]


class ModelChanged(Exception):
    """The index holds vectors of another model."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(f"The index was made with {found}, not with {wanted}.")


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedRecord:
    """Record with its passages and a unit vector for each; one without text has none."""

    entity: Entity
    passages: Sequence[Passage]
    vectors: Sequence[Vector]


class DenseHit(NamedTuple):
    record_id: str
    score: float
    """Cosine, rounded to six digits, so that no engine's rounding decides."""
    start: int
    end: int


class DenseHits(Hits[DenseHit]):
    kind = DenseHit
    dtypes = (np.float64, np.int64, np.int64)


class VectorState(NamedTuple):
    """All changes up to a position, and some up to the newest one."""

    position: Position
    newest: Position

    def to_json(self) -> str:
        return json.dumps([astuple(each) for each in self])

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls(*(Position(*each) for each in json.loads(text)))


PASSAGE, EMPTY, DELETION, STATE = range(4)


@dataclass(frozen=True, slots=True)
class Held:
    """Adjacent rows of a record, from one commit."""

    revision: int
    rows: range
    kind: int

    @property
    def passage_rows(self) -> range:
        return self.rows if self.kind == PASSAGE else range(0)


@dataclass(frozen=True, slots=True)
class Validity:
    """Rows that a search may read, at one moment."""

    below: int
    without: frozenset[int]

    def admits(self, row: int) -> bool:
        return row < self.below and row not in self.without


@dataclass(slots=True, eq=False)
class Catalog:
    """Valid rows of the table, a log: a record's newest rows replace those before."""

    records: dict[str, Held] = field(default_factory=dict)
    superseded: set[int] = field(default_factory=set)
    former_states: set[int] = field(default_factory=set)
    """Invalid rows of no record."""
    passages: int = 0
    state: str | None = None
    state_row: int | None = None
    next_row: int = 0

    def read(self, rows: Iterable[tuple[int, int, str, int, int]]) -> None:
        """Read number, kind, record id, revision and passage of each row, in order."""
        for number, kind, record_id, revision, passage in rows:
            held = self.records.get(record_id)
            if kind == PASSAGE and passage and held:
                self.records[record_id] = Held(revision, range(held.rows.start, number + 1), kind)
                self.passages += 1
            elif kind != STATE:
                self.put(record_id, Held(revision, range(number, number + 1), kind))
            self.next_row = number + 1

    def put(self, record_id: str, held: Held) -> None:
        before = self.records.pop(record_id, None)
        self.next_row = max(self.next_row, held.rows.stop)
        if held.kind == DELETION:
            self.superseded.update(held.rows)
        else:
            self.records[record_id] = held
            self.passages += len(held.passage_rows)
        if before is not None:
            self.superseded.update(before.rows)
            self.passages -= len(before.passage_rows)

    def put_state(self, row: int, state: str) -> None:
        if self.state_row is not None:
            self.superseded.add(self.state_row)
            self.former_states.add(self.state_row)
        self.state, self.state_row = state, row
        self.next_row = max(self.next_row, row + 1)

    def erased(self, rows: Iterable[int]) -> None:
        self.superseded.difference_update(rows)
        self.former_states.difference_update(rows)

    def validity(self) -> Validity:
        return Validity(self.next_row, frozenset(self.superseded))
