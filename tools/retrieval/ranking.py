"""Result of a search: its best candidates, and how they were found."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from stores.ledger import RecordStatus

LANES = ("lexical", "vector", "graph", "thread")
HELD_WHOLLY = 0.9999


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
    standings: Mapping[str, RecordStatus] = field(default_factory=dict)
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
