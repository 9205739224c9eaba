"""What a server tidies while nobody waits: old feed rows, spent keys, ended sessions, deleted text in the log."""

from datetime import timedelta

import anyio
import structlog

from stores.clock import Clock
from stores.indexer import Indexer
from stores.ledger import Ledger
from tools.threads import in_thread

FEED_KEPT = timedelta(days=7)
SESSIONS_KEPT = timedelta(days=30)
"""Ended sessions stay this long, so that a replayed refresh token is still recognised."""
EVERY_S = 900.0

log = structlog.get_logger("housekeeping")


def tidy(ledger: Ledger, indexer: Indexer, clock: Clock) -> None:
    """Remove what is past its time. Feed rows go only when every index of their organization has applied them."""
    ledger.prune_feed(clock() - FEED_KEPT, indexer.watermarks())
    ledger.idempotency.prune_claims()
    ledger.prune_sessions(clock() - SESSIONS_KEPT)
    ledger.checkpoint()


async def keep_house(ledger: Ledger, indexer: Indexer, clock: Clock) -> None:
    """Tidy every quarter of an hour, until cancelled."""
    while True:
        await anyio.sleep(EVERY_S)
        try:
            await in_thread(tidy, ledger, indexer, clock)
        except Exception:  # a full disk now must not end the tidying for good
            log.exception("housekeeping_failed")
