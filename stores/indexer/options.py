"""What an operator can choose about the indexer, and the figures it works by."""

from dataclasses import dataclass
from typing import Literal

GraphEngine = Literal["ladybug", "kuzu"]


@dataclass(frozen=True, slots=True)
class IndexerOptions:
    """Sizes and delays of the indexer; the defaults suit two cores and thousands of organizations."""

    graph_engine: GraphEngine = "ladybug"
    open_limit: int = 32
    """Organizations held open; the least recently used idle ones are closed above it."""
    vector_budget_mb: int = 512
    """Memory for exact vector search, over all organizations together."""
    graph_budget_mb: int = 128
    """Memory for walks of graphs, over all organizations together."""
    gather_s: float = 0.005
    """How long a writer waits for company before it commits what is written one by one."""
    gather_unhurried_s: float = 0.1
    """The same where nobody waits for the write to show: what is written meanwhile shares the commit."""
    gather_deferred_s: float = 0.5
    """The same for what is written in bulk, where nobody waits."""
    gather_scans_s: float = 0.05
    """How long the vector lane leaves new writes in the feed that nobody waits for, after it looked there."""
    batch_changes: int = 2_000
    batch_characters: int = 8_000_000
    passages_per_turn: int = 8
    late_after_s: float = 0.3
    """How long no single write must have come before tokens are encoded: the next one would wait for that."""
    cached_passages: int = 4_096
    """Passages whose vectors are kept in memory, so that a change of metadata alone embeds nothing."""
    cached_token_bytes: int = 12_000_000
    """The same for the vectors of single tokens: some 900 passages."""
    commit_records: int = 64
    commit_after_s: float = 0.25
    commit_deferred_after_s: float = 1.0
    quiet_s: float = 30.0
    """Idle time after which an index is compacted."""
    compact_after_commits: int = 500
    """Commits after which an index is compacted in the next free moment even when it is never idle."""
    poll_s: float = 1.0
    """How often the ledger is asked for commits of other processes."""
    replay_at_most: int = 5_000
    """A fresh index follows the feed from its beginning up to this many changes; above it is built in bulk."""
    backlog_limit: int = 20_000
    """Deferred changes that the vector lane keeps in memory; it reads the others again when it comes to them."""
    retry_first_s: float = 0.5
    retry_at_most_s: float = 60.0
    busy_quantum_s: float = 10.0
    """How long an organization with work left keeps its place when all places are taken."""
