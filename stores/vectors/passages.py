"""Value types of the vector index."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
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
