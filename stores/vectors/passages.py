"""Value types of the vector index."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stores.hits import Hits
from stores.records import Entity, Facet, Position, facets

Vector = NDArray[np.float32]
Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]


class ModelChanged(Exception):
    """The index holds vectors of another model."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(f"The index was made with {found}, not with {wanted}.")


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedPassage:
    """Range of characters of a record's text, and its unit vector."""

    start: int
    end: int
    vector: Vector


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedRecord:
    """Record of the vector index; one without text has no passages."""

    record_id: str
    revision: int
    visibility: str
    facets: Mapping[Facet, tuple[str, ...]]
    updated_at: datetime
    passages: Sequence[EmbeddedPassage]

    @classmethod
    def of(cls, entity: Entity, passages: Sequence[EmbeddedPassage]) -> Self:
        return cls(entity.id, entity.revision, entity.visibility, facets(entity), entity.updated_at, passages)


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
