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
    pending: int
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Examined:
    """Comparison of one index, or of the ledger itself."""

    index: IndexName | Literal["ledger"]
    pending: int
    """Changes on their way; they are no difference."""
    differences: list[str]
