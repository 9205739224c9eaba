"""Exact search in memory, read by many threads while one adds to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stores.clock import microseconds
from stores.records import IndexFilter
from stores.vectors.passages import DenseHits, Integers, Numbers, Vector

BLOCK_ROWS = 8_192
DIGITS = 6
"""Scores are rounded to this before they are compared."""
SLACK = 2 * 10.0**-DIGITS
VISIBILITY = "visibility"
# Below this share of wanted rows, selecting them is cheaper than multiplying all.
_PICK_BELOW = 0.2
_ROW_BYTES = 256
_FEW_BURIED = 4_096
# Passages fetched per wanted record, times the average number of passages of a record.
_MORE = 1.25
_MOST_EACH = 4.0

Bools = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)


def _no_numbers() -> Integers:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Passages as columns, for good: `with_more` and `without` return the next matrix.

    Matrices share `owners`, `places` and `postings`, which may grow beyond `size`.
    """

    dimension: int
    blocks: tuple[Vector, ...] = ()
    size: int = 0
    alive: Bools = field(default_factory=lambda: np.empty(0, np.bool_))
    starts: Integers = field(default_factory=_no_numbers)
    ends: Integers = field(default_factory=_no_numbers)
    updated_at: Integers = field(default_factory=_no_numbers)
    numbers: Integers = field(default_factory=_no_numbers)
    """One for all passages of a record."""
    owners: list[str] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    """Rows of each record's passages."""
    postings: dict[tuple[str, str], Integers] = field(default_factory=dict)
    """Places by key and value, ascending."""

    @property
    def bytes(self) -> int:
        return row_bytes(self.dimension) * self.size

    @property
    def wasteful(self) -> bool:
        alive = int(np.count_nonzero(self.alive))
        return self.size - alive > max(alive, _FEW_BURIED)

    def with_more(self, columns: "Columns") -> Self:
        self.owners.extend(columns.owners)
        for place, owner in enumerate(columns.owners, start=self.size):
            self.places.setdefault(owner, []).append(place)
        for key, places in columns.postings.items():
            self.postings[key] = _longer(self.postings.get(key, _no_numbers()), places + self.size)
        return replace(
            self,
            blocks=self._blocks_with(columns.vectors),
            size=self.size + len(columns.owners),
            alive=_longer(self.alive, np.ones(len(columns.owners), np.bool_)),
            starts=_longer(self.starts, columns.starts),
            ends=_longer(self.ends, columns.ends),
            updated_at=_longer(self.updated_at, columns.updated_at),
            numbers=_longer(self.numbers, [self.places[owner][0] for owner in columns.owners]),
        )

    def without(self, record_ids: Iterable[str]) -> Self:
        alive = self.alive.copy()
        alive[[place for record_id in record_ids for place in self.places.pop(record_id, ())]] = False
        return replace(self, alive=alive)

    def _blocks_with(self, vectors: Vector) -> tuple[Vector, ...]:
        blocks, at = [*self.blocks], 0
        while at < len(vectors):
            offset = (self.size + at) % BLOCK_ROWS
            if not offset:
                blocks.append(np.empty((BLOCK_ROWS, self.dimension), np.float32))
            count = min(BLOCK_ROWS - offset, len(vectors) - at)
            blocks[-1][offset : offset + count] = vectors[at : at + count]
            at += count
        return tuple(blocks)

    def search(self, vector: Vector, accepted: IndexFilter, limit: int) -> DenseHits:
        """Return the records whose best passage is nearest, best first, ties by id."""
        places = np.flatnonzero(self._wanted(accepted))
        if not len(places) or limit < 1:
            return DenseHits.of(())
        scores = self._scores(vector, places)
        passages_each = max(1.0, min(self.size / max(len(self.places), 1), _MOST_EACH))
        taken = min(int(limit * _MORE * passages_each), len(places))
        while True:
            last = float(np.partition(scores, -taken)[-taken])
            chosen = np.flatnonzero(scores >= last - SLACK)
            hits = self._hits(places[chosen], scores[chosen])
            if taken == len(places) or (len(hits) >= limit and hits.scores[limit - 1] >= last - SLACK / 2):
                return hits[:limit]
            taken = min(4 * taken, len(places))

    def measure(self, vector: Vector, record_ids: Iterable[str]) -> DenseHits:
        places = np.flatnonzero(self._of(record_ids) & self.alive)
        return self._hits(places, self._scores(vector, places)) if len(places) else DenseHits.of(())

    def vector(self, record_id: str) -> Vector | None:
        places = self.places.get(record_id, ())
        if not places or places[0] >= self.size:
            return None
        copied: Vector = self.blocks[places[0] // BLOCK_ROWS][places[0] % BLOCK_ROWS].copy()
        return copied

    def _wanted(self, accepted: IndexFilter) -> Bools:
        wanted = self.alive & self._having(VISIBILITY, accepted.visibility)
        for facet, values in accepted.any_of.items():
            wanted &= self._having(facet, values)
        if accepted.updated_since is not None:
            wanted &= self.updated_at >= microseconds(accepted.updated_since)
        if accepted.updated_until is not None:
            wanted &= self.updated_at <= microseconds(accepted.updated_until)
        if accepted.ids is not None:
            wanted &= self._of(accepted.ids)
        return wanted

    def _having(self, key: str, values: Iterable[str]) -> Bools:
        found = np.zeros(self.size, np.bool_)
        for value in values:
            places = self.postings.get((key, value), _no_numbers())
            found[places[: np.searchsorted(places, self.size)]] = True
        return found

    def _of(self, record_ids: Iterable[str]) -> Bools:
        found = np.zeros(self.size, np.bool_)
        places = (place for record_id in record_ids for place in self.places.get(record_id, ()))
        found[[place for place in places if place < self.size]] = True
        return found

    def _scores(self, vector: Vector, places: Integers) -> Vector:
        # Not `@`: the spinning threads of BLAS cost a busy machine five times the work.
        if len(places) > _PICK_BELOW * self.size:
            return np.concatenate(
                [np.vecdot(block[: self.size - at * BLOCK_ROWS], vector) for at, block in enumerate(self.blocks)]
            )[places]
        cuts = np.searchsorted(places, np.arange(len(self.blocks) + 1) * BLOCK_ROWS)
        return np.concatenate(
            [
                np.vecdot(block[places[cuts[at] : cuts[at + 1]] - at * BLOCK_ROWS], vector)
                for at, block in enumerate(self.blocks)
            ]
        )

    def _hits(self, places: Integers, scores: Vector) -> DenseHits:
        ids = [self.owners[place] for place in places.tolist()]
        return best_hits(ids, scores, self.starts[places], self.ends[places], self.numbers[places])


def _longer(values: NDArray[Scalar], more: NDArray[Scalar] | list[int]) -> NDArray[Scalar]:
    return np.concatenate([values, np.asarray(more, values.dtype)])


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Passages as columns; the postings count from 0."""

    vectors: Vector
    starts: Integers
    ends: Integers
    updated_at: Integers
    owners: list[str]
    postings: Mapping[tuple[str, str], Integers]


def best_hits(
    ids: Sequence[str], scores: Vector | Numbers, starts: Integers, ends: Integers, numbers: Integers | None = None
) -> DenseHits:
    """Keep each record's best passage, best first, ties by id; `numbers` tell records apart faster than their ids."""
    rounded: Numbers = np.asarray(np.round(scores.astype(np.float64), DIGITS), np.float64)
    order = np.lexsort((starts, -rounded))
    records = np.array(ids, object) if numbers is None else numbers
    # Of each record the first in this order, its best.
    best = order[np.sort(np.unique(records[order], return_index=True)[1])]
    if not np.diff(rounded[best]).all():
        best = np.array(sorted(best.tolist(), key=lambda at: (-rounded[at], ids[at])), np.int64)
    return DenseHits([ids[at] for at in best.tolist()], rounded[best], starts[best], ends[best])


def row_bytes(dimension: int) -> int:
    return 4 * dimension + _ROW_BYTES
