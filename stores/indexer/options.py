"""Options and status of the indexer."""

from dataclasses import dataclass
from typing import Literal

GraphEngine = Literal["ladybug", "kuzu"]
IndexName = Literal["lexical", "graph", "vectors"]
State = Literal["ready", "catching_up", "rebuilding", "failed"]

NAMES: tuple[IndexName, ...] = ("lexical", "graph", "vectors")


@dataclass(frozen=True, slots=True)
class IndexerOptions:
    """The defaults suit two cores and thousands of organizations."""

    graph_engine: GraphEngine = "ladybug"
    open_limit: int = 32
    """Above it, idle organizations are closed."""
    vector_budget_mb: int = 512
    """Over all organizations, as the next."""
    graph_budget_mb: int = 128
    gather_s: float = 0.005
    """Delay for single writes with a waiting caller, to form batches."""
    gather_further_s: float = 0.1
    """More for each further one, up to `commit_after_s`: a commit takes more of the processor than a search."""
    gather_unhurried_s: float = 0.1
    """Delay for single writes without one."""
    gather_deferred_s: float = 0.5
    """Delay for bulk writes."""
    gather_scans_s: float = 0.05
    """Pause between two polls of the feed for vectors when no request waits."""
    batch_changes: int = 2_000
    batch_characters: int = 8_000_000
    passages_per_turn: int = 8
    passages_at_most: int = 8
    """While full turns take less than `quick_turn_s`: more pays where a model is far away."""
    quick_turn_s: float = 1.0
    late_after_s: float = 0.3
    """Quiet time after a single write before tokens are encoded."""
    cached_texts: int = 256
    commit_records: int = 64
    commit_after_s: float = 0.25
    commit_deferred_after_s: float = 1.0
    quiet_s: float = 30.0
    """Idle time before compaction."""
    compact_after_commits: int = 100
    """Compact then in the next free moment even when never idle."""
    poll_s: float = 1.0
    """Interval of looking for commits of other processes."""
    replay_at_most: int = 5_000
    """Changes up to which a fresh index follows the feed instead of a bulk build."""
    retry_first_s: float = 0.5
    retry_at_most_s: float = 60.0
    busy_quantum_s: float = 10.0
    """Before an organization with work left may be closed for another."""

    def pause_s(self, failures: int) -> float:
        """Return the pause before the next try, twice as long after each failure in a row."""
        return min(self.retry_first_s * 2.0 ** min(failures - 1, 16), self.retry_at_most_s)


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Line of `/api/health/ready`."""

    organization_id: str
    index: IndexName
    state: State
    watermark: int
    pending: int
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Examined:
    """Comparison of one index, or of the ledger itself."""

    index: IndexName | Literal["ledger"]
    pending: int
    """Pending changes; they do not count as differences."""
    differences: list[str]
