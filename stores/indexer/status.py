"""What the indexer says about itself."""

from dataclasses import dataclass
from typing import Literal

IndexName = Literal["lexical", "graph", "vectors"]
State = Literal["ready", "catching_up", "rebuilding", "failed"]

NAMES: tuple[IndexName, ...] = ("lexical", "graph", "vectors")


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """One line of `/api/health/ready`."""

    organization_id: str
    index: IndexName
    state: State
    watermark: int
    """Everything up to this sequence number has been applied."""
    pending: int
    """Changes of the feed that are not applied yet."""
    detail: str = ""
    refused: int = 0
    """Records that the index is without because it, or a model, refused them."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One index held against the ledger, or the ledger itself."""

    index: IndexName | Literal["analytics", "ledger"]
    pending: int
    """Changes of the feed, or records, that it has still to take in; they are no difference."""
    differences: list[str]
    """One sentence for each record that it should hold otherwise."""
