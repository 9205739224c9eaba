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
