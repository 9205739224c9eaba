"""Status of indexes."""

from dataclasses import dataclass
from typing import Literal

IndexName = Literal["lexical", "graph", "vectors"]
State = Literal["ready", "catching_up", "rebuilding", "failed"]

NAMES: tuple[IndexName, ...] = ("lexical", "graph", "vectors")


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Line of `/api/health/ready`."""

    organization_id: str
    index: IndexName
    state: State
    watermark: int
    """Sequence number up to which everything is applied."""
    pending: int
    """Number of changes that are not applied yet."""
    detail: str = ""
    refused: int = 0
    """Number of records that the index or a model refused."""


@dataclass(frozen=True, slots=True)
class Examined:
    """Comparison of one index, or of the ledger itself."""

    index: IndexName | Literal["analytics", "ledger"]
    pending: int
    """Number of changes or records on their way; they are no difference."""
    differences: list[str]
    """One sentence for each."""
