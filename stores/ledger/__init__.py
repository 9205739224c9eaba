"""The ledger: SQL behind one interface, on SQLite or PostgreSQL. What this module names is the contract."""

from stores.ledger.documents import ChunkPlace
from stores.ledger.feed import Snapshot
from stores.ledger.idempotency import Claim, Idempotency, KeyedRequest, Replay
from stores.ledger.leases import Lease, Leases
from stores.ledger.ledger import CommitListener, Ledger
from stores.ledger.listing import EntityQuery, SortKey
from stores.ledger.relations import RelationDraft
from stores.ledger.sessions import RotationRefusal
from stores.ledger.standings import Standing
from stores.ledger.transaction import Transaction

__all__ = [
    "ChunkPlace",
    "Claim",
    "CommitListener",
    "EntityQuery",
    "Idempotency",
    "KeyedRequest",
    "Lease",
    "Leases",
    "Ledger",
    "RelationDraft",
    "Replay",
    "RotationRefusal",
    "Snapshot",
    "SortKey",
    "Standing",
    "Transaction",
]
