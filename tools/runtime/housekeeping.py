"""Housekeeping: prune the feed, sessions, claims and the write-ahead log; return freed memory."""

import ctypes
from datetime import timedelta

import anyio
import structlog

from stores.clock import Clock
from stores.indexer import Indexer
from stores.ledger import Ledger
from tools.runtime.threads import in_thread

FEED_KEPT = timedelta(days=7)
SESSIONS_KEPT = timedelta(days=30)
"""Ended sessions are kept to recognise replayed refresh tokens."""
EVERY_S = 60.0
TIDIED_EVERY = 15
RETURN_EVERY_S = 10.0

log = structlog.get_logger("housekeeping")


def tidy(ledger: Ledger, indexer: Indexer, clock: Clock) -> None:
    """Prune the ledger; feed rows only if every index has applied them."""
    ledger.feed.prune_feed(clock() - FEED_KEPT, indexer.watermarks())
    ledger.idempotency.prune_claims()
    ledger.jobs.prune()
    ledger.people.prune_sessions(clock() - SESSIONS_KEPT)
    ledger.tidy()
    ledger.checkpoint()


async def return_memory() -> None:
    """Return freed memory to the system every 10 seconds, which glibc's malloc would keep; until cancelled."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return
    while True:
        await anyio.sleep(RETURN_EVERY_S)
        await in_thread(trim, 0)


async def keep_house(ledger: Ledger, indexer: Indexer, clock: Clock, *, every_s: float = EVERY_S) -> None:
    """Store uses of API keys every minute, prune every 15 minutes, until cancelled."""
    rounds = 0
    while True:
        await anyio.sleep(every_s)
        rounds += 1
        try:
            if rounds % TIDIED_EVERY:
                await in_thread(ledger.api_keys.write_uses)
            else:
                await in_thread(tidy, ledger, indexer, clock)
        except Exception:  # a full disk now must not end housekeeping for good
            log.exception("housekeeping_failed")
