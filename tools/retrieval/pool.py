"""Candidates of one search as columns, since hundreds are scored and ten shown; and its result."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stores.ledger import RecordStatus
from stores.lexical import LexicalResult
from stores.vectors import DenseHit, DenseHits
from tools.retrieval.scoring import Scores

Places = NDArray[np.int64]
Measure = Callable[[Sequence[str]], Iterable[DenseHit]]
"""Cosines of records that the vector lane did not find."""
ABSENT = 0
LANES = ("lexical", "vector", "graph", "thread")
NAIVE_LANES = ("lexical", "vector")
COLUMNS = {"lexical": np.nan, "cosine": np.nan, "coverage": 0.0, "date_share": 0.0, "fused": 0.0, "is_named": False}
"""Columns of a pool, each with the value of a record that no lane has found yet."""


@dataclass(frozen=True, slots=True)
class Candidate:
    id: str
    lexical: float | None = None
    coverage: float = 0.0
    """Idf-weighted share of the query's terms, 0 to 1."""
    cosine: float | None = None
    passage: tuple[int, int] | None = None
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Ranks by lane, from 1; lanes that did not find it are absent."""
    matches_dates: bool = False
    fused: float = 0.0
    usage: float = 0.0
    score: float = 0.0

    @property
    def sources(self) -> list[str]:
        return [*self.ranks]


@dataclass(slots=True)
class Ranking:
    total: int = 0
    documents: int = 0
    memories: int = 0
    best: list[Candidate] = field(default_factory=list)
    statuses: Mapping[str, RecordStatus] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    degraded: dict[str, str] = field(default_factory=dict)
    terms: Mapping[str, float] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=lambda: {"superseded": 0, "not_permitted": 0})
    timings_ms: dict[str, float] = field(default_factory=dict)
    memories_left_out: int = 0
    is_starved: bool = False

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[stage] = round((time.perf_counter() - start) * 1000, 3)


class Pool:
    """Results of every lane; a place is the index of a candidate in every column."""

    def __init__(self, words: LexicalResult, dense: DenseHits) -> None:
        lexical = words.hits
        self.ids = list(dict.fromkeys(chain(lexical.ids, dense.ids)))
        size, held = len(self.ids), len(lexical)
        place = dict(zip(self.ids, range(size), strict=True))
        near = np.array(list(map(place.__getitem__, dense.ids)), np.int64)
        self._dense = dense
        self._measured: dict[str, DenseHit] = {}
        self.lexical = np.full(size, np.nan)
        """NaN where the lexical lane did not find the record."""
        self.lexical[:held] = lexical.scores
        self.coverage = np.zeros(size)
        self.coverage[:held] = lexical.coverage
        self.is_named = np.array(list(map(words.named.__contains__, self.ids)), np.bool_)
        self.cosine = np.full(size, np.nan)
        self.cosine[near] = dense.scores
        self.ranks = {lane: np.full(size, ABSENT, np.int64) for lane in LANES}
        self.ranks["lexical"][:held] = np.arange(1, held + 1)
        self.ranks["vector"][near] = np.arange(1, len(dense) + 1)
        self.date_share: Scores = np.zeros(size)
        self.fused: Scores = np.zeros(size)
        self.threaded: frozenset[str] = frozenset()
        """Records with neighbours in a thread, of the best."""
        self.usage: Scores | None = None
        self.dated: Scores | None = None

    @property
    def unmeasured(self) -> list[str]:
        return [self.ids[place] for place in np.flatnonzero(np.isnan(self.cosine)).tolist()]

    def measure(self, hits: Iterable[DenseHit]) -> None:
        new = {hit.record_id: hit for hit in hits}
        self._measured |= new
        known = [place for place, record_id in enumerate(self.ids) if record_id in new]
        self.cosine[known] = [new[self.ids[place]].score for place in known]

    def add(self, record_ids: Iterable[str]) -> Places:
        """Return the place of each record, new or not."""
        wanted = list(record_ids)
        known = dict(zip(self.ids, range(len(self.ids)), strict=True))
        new = [record_id for record_id in wanted if record_id not in known]
        known |= zip(new, range(len(self.ids), len(self.ids) + len(new)), strict=True)
        self.ids += new
        for name, unknown in COLUMNS.items():
            setattr(self, name, _grown(getattr(self, name), len(new), unknown))
        self.ranks = {lane: _grown(column, len(new), ABSENT) for lane, column in self.ranks.items()}
        return np.array([known[record_id] for record_id in wanted], np.int64)

    def keep(self, places: Places) -> None:
        self.ids = [self.ids[place] for place in places.tolist()]
        for name in COLUMNS:
            setattr(self, name, getattr(self, name)[places])
        self.ranks = {lane: column[places] for lane, column in self.ranks.items()}

    def only_of(self, lane: str) -> list[str]:
        others = sum(column for name, column in self.ranks.items() if name != lane)
        return [self.ids[place] for place in np.flatnonzero((self.ranks[lane] > 0) & (others == 0)).tolist()]

    def found_by(self, lane: str) -> int:
        return int(np.count_nonzero(self.ranks[lane]))

    def passage_starts(self, places: Sequence[int]) -> list[int]:
        hits = (self._nearest(place) for place in places)
        return [hit.start if hit is not None else 0 for hit in hits]

    def candidate(self, place: int, score: float) -> Candidate:
        ranks = {lane: rank for lane in LANES if (rank := int(self.ranks[lane][place]))}
        hit = self._nearest(place)
        return Candidate(
            id=self.ids[place],
            lexical=float(self.lexical[place]) if "lexical" in ranks else None,
            coverage=float(self.coverage[place]),
            cosine=hit.score if hit is not None else None,
            passage=(hit.start, hit.end) if hit is not None else None,
            ranks=ranks,
            fused=float(self.fused[place]),
            matches_dates=bool(self.date_share[place]),
            usage=float(self.usage[place]) if self.usage is not None else 0.0,
            score=score,
        )

    def _nearest(self, place: int) -> DenseHit | None:
        rank = int(self.ranks["vector"][place])
        return self._dense[rank - 1] if rank else self._measured.get(self.ids[place])


def _grown(column: NDArray[Any], count: int, value: float) -> NDArray[Any]:
    return np.concatenate([column, np.full(count, value, column.dtype)])
