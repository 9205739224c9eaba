"""Dependencies, faults and log lines that lanes and their indexes share."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from stores.indexer.feed import Feed
from stores.indexer.folders import OrganizationFolder
from stores.indexer.options import IndexerOptions, IndexName
from stores.ledger import Ledger

log = structlog.get_logger("indexer")


class Interrupted(Exception):  # not a fault: the lane is closing
    """The organization is being closed."""


class ModelUnavailable(Exception):  # the model is at fault, no index is
    """The embedding model cannot be loaded or reached."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    organization_id: str
    ledger: Ledger
    feed: Feed
    files: OrganizationFolder
    options: IndexerOptions
    builders: Executor
    clean: bool
    """The last stop was clean; otherwise indexes are compared with the ledger."""
    clock: Callable[[], datetime]
    progressed: Callable[[], None]
    hurried: Callable[[], bool]
    """Somebody waits for a write."""
    wake: Callable[[], None] = lambda: None
    """Specific to one lane, as the next."""
    closing: threading.Event = field(default_factory=threading.Event)

    def check_closing(self) -> None:
        if self.closing.is_set():
            raise Interrupted


def log_refused(organization_id: str, index: IndexName, kind: str, record_id: str, reason: str) -> None:
    # Not as `organization_id`: its owners read those lines, and the record may be somebody's own.
    log.error("record_refused", organization=organization_id, index=index, kind=kind, id=record_id, reason=reason)


def describe(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
