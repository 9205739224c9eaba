"""What a search hands on: its best candidates, and how they were found."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from stores.ledger import Standing

LANES = ("lexical", "vector", "graph", "thread")
HELD_WHOLLY = 0.9999
"""The coverage of what holds every word, but for rounding."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that some lane found, with what each lane said of it."""

    id: str
    lexical: float | None = None
    """BM25 as the lexical lane gives it."""
    coverage: float = 0.0
    """The idf-weighted share of the query's terms that the record holds, 0 to 1."""
    cosine: float | None = None
    passage: tuple[int, int] | None = None
    """Character range of the best passage in the record's searchable text."""
    lexical_rank: int | None = None
    dense_rank: int | None = None
    graph_rank: int | None = None
    thread_rank: int | None = None
    """By what its neighbours in a thread lend it."""
    is_of_days: bool = False
    """Whether it counts as if it said so that it is of the days which the question names."""
    fused: float = 0.0
    usage: float = 0.0
    """The share by which having been cited lifted the score."""
    score: float = 0.0

    @property
    def sources(self) -> list[str]:
        """The lanes that found it."""
        return [*self.ranks]

    @property
    def ranks(self) -> dict[str, int]:
        """Its place in each lane that found it."""
        ranks = {
            "lexical": self.lexical_rank,
            "vector": self.dense_rank,
            "graph": self.graph_rank,
            "thread": self.thread_rank,
        }
        return {lane: rank for lane, rank in ranks.items() if rank is not None}


@dataclass(slots=True)
class Ranking:
    """The permitted candidates, best first, and how they were found."""

    total: int = 0
    """How many there are."""
    documents: int = 0
    """How many of them are document chunks."""
    memories: int = 0
    """How many of them are raw memories."""
    best: list[Candidate] = field(default_factory=list)
    """The first of them, as many as were asked for."""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    """What the ledger says of each candidate, and of some that are none."""
    counts: Counter[str] = field(default_factory=Counter)
    """How many of the candidates each lane found."""
    degraded: dict[str, str] = field(default_factory=dict)
    """What could not answer, and a word for why."""
    terms: Mapping[str, float] = field(default_factory=dict)
    """The question's words as the lexical index holds them, and how rare each is."""
    dropped: dict[str, int] = field(default_factory=lambda: {"superseded": 0, "not_permitted": 0})
    timings_ms: dict[str, float] = field(default_factory=dict)
    memories_left_out: int = 0
    """Raw memories that the lanes found and that were archived, are outlived, or are not those that were asked for."""
    is_starved: bool = False
    """Whether so little is left of what the lanes found, and they have more, that it is worth to read on."""

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Record how long a stage took, in milliseconds."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[stage] = round((time.perf_counter() - start) * 1000, 3)
