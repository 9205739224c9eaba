"""What a server tidies while nobody waits: old feed rows, what has ended or expired, deleted text in the log."""

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
EVERY_S = 60.0
TIDIED_EVERY = 15
"""One in so many rounds tidies; the others only write down which API keys were used."""

log = structlog.get_logger("housekeeping")


def tidy(ledger: Ledger, indexer: Indexer, clock: Clock) -> None:
    """Remove what is past its time. Feed rows go only when every index of their organization has applied them."""
    ledger.feed.prune_feed(clock() - FEED_KEPT, indexer.watermarks())
    ledger.idempotency.prune_claims()
    ledger.people.prune_sessions(clock() - SESSIONS_KEPT)
    ledger.tidy()
    ledger.checkpoint()


async def keep_house(ledger: Ledger, indexer: Indexer, clock: Clock, *, every_s: float = EVERY_S) -> None:
    """Write down the use of API keys every minute and tidy every quarter of an hour, until cancelled."""
    rounds = 0
    while True:
        await anyio.sleep(every_s)
        rounds += 1
        try:
            if rounds % TIDIED_EVERY:
                await in_thread(ledger.api_keys.write_uses)
            else:
                await in_thread(tidy, ledger, indexer, clock)
        except Exception:  # a full disk now must not end the tidying for good
            log.exception("housekeeping_failed")
