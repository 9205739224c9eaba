"""Vector index of one organization: in LanceDB, searched in memory if it fits."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from stores.records import Entity, IndexFilter
from stores.room import REST_SHARE, Room
from stores.tokens import TokenStore
from stores.vectors.matrix import Columns, Matrix, row_bytes
from stores.vectors.passages import Catalog, DenseHits, EmbeddedRecord, Vector, VectorState

MEMORY_MB = 512
INDEX_FROM = 100_000
"""Passages from which an index above the memory budget is approximate."""
# A search that waits longer than this to load the vectors asks LanceDB.
_LOAD_WAIT_S = 0.2
# Before vectors that made room for others are loaded again.
_LEAST_REST_S = 1.0
# LanceDB reads replaced rows too, and every commit is one more file.
_MOST_REPLACED = 1_000


class VectorIndex:
    """Passages and vectors, one writer. Searches never wait for it."""

    def __init__(
        self, folder: Path, *, model: str, dimension: int, room: Room | None = None, index_from: int = INDEX_FROM
    ) -> None:
        """Open or create the index (seconds, the first time), or raise ModelChanged. Indexes share a room."""
        from stores.vectors.table import PassageTable  # noqa: PLC0415 - the engine takes seconds to import

        self._table = PassageTable.open(folder, model=model, dimension=dimension)
        self._dimension = dimension
        self._room = room or Room(MEMORY_MB * 1_000_000)
        self._index_from = index_from
        self._writing = threading.RLock()
        self._catalog: Catalog = self._table.catalog()
        self._validity = self._catalog.validity()
        self._matrix: Matrix | None = None
        self._dropped = False
        self._load_s = self._not_before = 0.0
        self.tokens: TokenStore | None = None
        """Closed with the index."""

    def state(self) -> VectorState | None:
        state = self._catalog.state
        return None if state is None else VectorState.from_json(state)

    def contents(self) -> Mapping[str, int]:
        """Records without text included."""
        return {record_id: held.revision for record_id, held in self._catalog.records.copy().items()}

    def holds(self, entity: Entity) -> bool:
        """Return whether the index has this revision of a record."""
        held = self._catalog.records.get(entity.id)
        return held is not None and held.revision == entity.revision

    def replace(self, records: Sequence[EmbeddedRecord], deleted: Sequence[str], state: VectorState) -> None:
        """Replace records, remove deleted ones and store the state, in one commit.

        The last version of a record counts; one that is also deleted is kept. Idempotent. ValueError for a
        vector of another shape, or with a number that is not finite.
        """
        latest = {record.entity.id: record for record in records}
        self._check(latest.values())
        with self._writing:
            gone = [each for each in dict.fromkeys(deleted) if each in self._catalog.records and each not in latest]
            columns = self._table.append(self._catalog, latest.values(), gone, state.to_json())
            self._take_in([*gone, *latest], columns)
            if (self._dropped or not self._fits()) and len(self._catalog.superseded) > _MOST_REPLACED:
                self._erase()

    def search(self, vector: Vector, *, filter: IndexFilter, limit: int) -> DenseHits:
        """Return the records whose best passage is nearest to a unit vector.

        Best first, ties by id. Loads the vectors into memory; above the budget LanceDB answers, exactly below
        `INDEX_FROM` passages.
        """
        if limit < 1 or not filter.visibility or not all(filter.any_of.values()):
            return DenseHits.of(())
        query = self._question(vector)
        matrix = self._loaded()
        if matrix is not None:
            return matrix.search(query, filter, limit)
        return self._table.search(query, filter, self._validity, limit)

    def measure(self, vector: Vector, record_ids: Iterable[str]) -> DenseHits:
        """Score records by a unit vector; empty where the vectors are not in memory."""
        matrix = self._loaded()
        return matrix.measure(self._question(vector), record_ids) if matrix is not None else DenseHits.of(())

    def _question(self, vector: Vector) -> Vector:
        query = np.ascontiguousarray(vector, np.float32)
        if query.shape != (self._dimension,) or not np.isfinite(query).all():
            raise ValueError(f"A question's vector has to be {self._dimension} finite numbers.")
        return query

    def passage_counts(self, record_ids: Iterable[str]) -> list[int]:
        held = map(self._catalog.records.get, record_ids)
        return [len(each.passage_rows) if each is not None else 0 for each in held]

    def vectors_of(self, record_ids: Iterable[str]) -> dict[str, Vector]:
        """Return the vector of each record's first passage, if it has text."""
        matrix = self._loaded()
        if matrix is not None:
            found = {each: matrix.vector(each) for each in record_ids}
            return {each: vector for each, vector in found.items() if vector is not None}
        held = {each: self._catalog.records.get(each) for each in record_ids}
        return self._table.vectors({each: item.rows.start for each, item in held.items() if item and item.passage_rows})

    def drop(self) -> None:
        """Free the memory; LanceDB answers until a search loads it again."""
        self._not_before = time.monotonic() + max(_LEAST_REST_S, REST_SHARE * self._load_s)
        self._dropped, self._matrix = True, None
        self._room.leave(self)

    @property
    def erasable(self) -> int:
        return max(0, len(self._catalog.superseded) - len(self._catalog.former_states))

    def compact(self) -> bool:
        """Erase removed rows, merge the rest, build the approximate index of large tables.

        Seconds per 100,000 passages, a minute with the approximate index. Blocks `replace`, not searches.
        """
        with self._writing:
            self._erase()
            if self.tokens is not None:
                self.tokens.compact()
            if not self._fits() and self._catalog.passages >= self._index_from:
                self._table.ensure_index()
        return False

    def close(self) -> None:
        with self._writing:
            self.drop()
            if self.tokens is not None:
                self.tokens.close()
            self._table.close()

    def _check(self, records: Iterable[EmbeddedRecord]) -> None:
        for record in records:
            for vector in record.vectors:
                if vector.shape != (self._dimension,) or not np.isfinite(vector).all():
                    raise ValueError(f"A vector of {record.entity.id} is not {self._dimension} finite numbers.")

    def _take_in(self, written: Iterable[str], columns: Callable[[], Columns]) -> None:
        self._validity = self._catalog.validity()
        matrix = self._matrix
        if matrix is None:
            return
        self._serve(matrix := matrix.without(written).with_more(columns()))
        if not self._fits():
            self.drop()
        elif matrix.wasteful or not self._room.take(self, matrix.bytes):
            self._load()

    def _loaded(self) -> Matrix | None:
        if (matrix := self._matrix) is not None:
            self._room.use(self)
        elif self._fits() and time.monotonic() >= self._not_before and self._writing.acquire(timeout=_LOAD_WAIT_S):
            try:
                matrix = self._matrix or self._load()
            finally:
                self._writing.release()
        return matrix

    @property
    def _live_bytes(self) -> int:
        return self._catalog.passages * row_bytes(self._dimension)

    def _fits(self) -> bool:
        return self._live_bytes <= self._room.budget

    def _load(self) -> Matrix:
        begin, self._dropped = time.monotonic(), False
        self._room.take(self, self._live_bytes)
        matrix = Matrix(self._dimension)
        valid = [row for held in self._catalog.records.values() for row in held.passage_rows]
        for columns in self._table.load(np.array(valid, np.int64)):
            matrix = matrix.with_more(columns)
        self._load_s = time.monotonic() - begin
        self._serve(matrix)
        return matrix

    def _serve(self, matrix: Matrix) -> None:
        self._matrix = matrix
        if self._dropped:  # by others, while it was made
            self._matrix = None

    def _erase(self) -> None:
        dropped = frozenset(self._catalog.superseded)
        self._table.compact(dropped)
        self._catalog.erased(dropped)
        self._validity = self._catalog.validity()
