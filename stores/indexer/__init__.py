"""Indexer: everything between the ledger's feed and the three indexes.

`Indexer` is used by `tools` (search, status, check, reindex) and hears the ledger's commits. `Supervisor` opens
organizations that have changes, `Registry` keeps the least recently used ones open, `OpenOrganization` has one lane
for each index. A `Lane` is a thread with a state, retries and a watermark:

- `FeedLane` applies batches of the feed to the lexical index and the graph, through an adapter each (`makers`), and
  rebuilds an index beside the serving one.
- `VectorLane` queues records (`Backlog`, `EmbeddingQueue`), receives vectors from the one `EmbeddingWorker` and commits
  them in groups. `TokenLane` follows it, behind everything else.

Position and data are one commit in every index, so replay after a crash is safe. A record that an index refuses is
found by bisection, left out, counted, and tried again when it changes.
"""

from stores.indexer.indexer import Indexer
from stores.indexer.options import IndexerOptions
from stores.indexer.organization import OpenIndexes
from stores.indexer.status import IndexName, IndexStatus, State

__all__ = ["IndexName", "IndexStatus", "Indexer", "IndexerOptions", "OpenIndexes", "State"]
