"""Indexer: everything between the ledger's feed and the three indexes.

`Supervisor` opens organizations that have changes, `Registry` keeps the least recently used ones open, and
`OpenOrganization` has a `Lane` for each index: a thread with a state, retries and rebuilds. An adapter opens a
generation of the index as a `Track`, which knows how changes get into it: `FeedTrack` for the lexical index and the
graph, `VectorTrack` for the vectors, by way of its `EmbeddingQueue` and the one `EmbeddingWorker`.

Position and data are one commit in every index, so replay after a crash is safe. A record that an index refuses is
found by bisection, left out, counted, and tried again when it changes.
"""

from stores.indexer.indexer import Indexer
from stores.indexer.options import IndexerOptions, IndexName, IndexStatus, State
from stores.indexer.organization import OpenIndexes
