"""Exact search in memory, read by many threads while one adds to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

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


class Growing(Generic[Scalar]):
    """Append-only array: readers keep what they have seen."""

    def __init__(self, dtype: type[Scalar]) -> None:
        self._values: NDArray[Scalar] = np.empty(16, dtype)
        self._size = 0

    def extend(self, values: Iterable[object]) -> None:
        added = np.asarray(values if isinstance(values, np.ndarray) else list(values), self._values.dtype)
        size = self._size + len(added)
        if size > len(self._values):
            values_then = np.empty(max(size, 2 * len(self._values)), self._values.dtype)
            values_then[: self._size] = self._values[: self._size]
            self._values = values_then
        self._values[self._size : size] = added
        self._size = size

    def all(self) -> NDArray[Scalar]:
        return self._values[: self._size]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    blocks: tuple[Vector, ...]
    size: int
    alive: Bools
    starts: Integers
    ends: Integers
    updated_at: Integers
    owners: Sequence[str]
    """May grow beyond `size`."""
    numbers: Integers
    """One for all passages of a record."""
    places: Mapping[str, Sequence[int]]
    """Rows of each record's passages; newer ones may lie beyond `size`."""
    postings: Mapping[tuple[str, str], Growing[np.int64]]
    """Places by key and value, ascending; may grow beyond `size`."""

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
            posting = self.postings.get((key, value))
            if posting is not None:
                places = posting.all()
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


class Matrix:
    """Writer's side: appends and buries passages, and publishes snapshots."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._blocks: list[Vector] = []
        self._size = 0
        self._alive = np.empty(0, np.bool_)
        self._starts, self._ends, self._updated_at, self._numbers = (Growing(np.int64) for _ in range(4))
        self._owners: list[str] = []
        self._places: dict[str, list[int]] = {}
        self._postings: dict[tuple[str, str], Growing[np.int64]] = {}
        self.snapshot = self._freeze()

    @property
    def bytes(self) -> int:
        return row_bytes(self._dimension) * self._size

    @property
    def wasteful(self) -> bool:
        alive = int(np.count_nonzero(self._alive))
        return self._size - alive > max(alive, _FEW_BURIED)

    def append(self, columns: "Columns") -> None:
        """`publish` shows it."""
        base = self._size
        self._append_vectors(columns.vectors)
        self._starts.extend(columns.starts)
        self._ends.extend(columns.ends)
        self._updated_at.extend(columns.updated_at)
        self._owners.extend(columns.owners)
        for place, owner in enumerate(columns.owners, start=base):
            self._places.setdefault(owner, []).append(place)
        self._numbers.extend([self._places[owner][0] for owner in columns.owners])
        for key, places in columns.postings.items():
            self._postings.setdefault(key, Growing(np.int64)).extend(places + base)

    def bury(self, record_ids: Iterable[str]) -> None:
        """Remove records from the next `publish` on."""
        places = [place for record_id in record_ids for place in self._places.pop(record_id, ())]
        if places:
            # Snapshots hold the old array.
            self._alive = self._alive.copy()
            self._alive[places] = False

    def publish(self) -> None:
        self.snapshot = self._freeze()

    def _append_vectors(self, vectors: Vector) -> None:
        at = 0
        while at < len(vectors):
            offset = self._size % BLOCK_ROWS
            if not offset:
                self._blocks.append(np.empty((BLOCK_ROWS, self._dimension), np.float32))
            count = min(BLOCK_ROWS - offset, len(vectors) - at)
            self._blocks[-1][offset : offset + count] = vectors[at : at + count]
            self._size += count
            at += count
        self._alive = np.concatenate([self._alive, np.ones(len(vectors), np.bool_)])

    def _freeze(self) -> Snapshot:
        return Snapshot(
            tuple(self._blocks),
            self._size,
            self._alive,
            self._starts.all(),
            self._ends.all(),
            self._updated_at.all(),
            self._owners,
            self._numbers.all(),
            self._places,
            self._postings,
        )


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
