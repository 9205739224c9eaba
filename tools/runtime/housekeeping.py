"""Housekeeping: prune the feed, sessions, claims and the write-ahead log; return freed memory."""

import ctypes
from datetime import timedelta

import anyio
import structlog

from auth.visibility import private_key
from stores.clock import Clock
from stores.indexer import Indexer
from stores.jobs import JobDraft
from stores.ledger import Ledger
from tools.frame.threads import in_thread

FEED_KEPT = timedelta(days=7)
EVERY_S = 60.0
TIDYING, TIDYING_S = "tidy_ledger", 900.0  # id and function of the job, and the time between two runs
RETURN_EVERY_S = 10.0

log = structlog.get_logger("housekeeping")


def tidy(ledger: Ledger, indexer: Indexer, clock: Clock) -> None:
    """Prune the ledger; feed rows only if every index has applied them."""
    ledger.feed.prune_feed(clock() - FEED_KEPT, indexer.watermarks())
    ledger.jobs.prune()
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


async def keep_house(ledger: Ledger, *, every_s: float = EVERY_S) -> None:
    """Store uses of API keys every minute, and see that there is a job that tidies; until cancelled."""
    while True:
        await anyio.sleep(every_s)
        try:
            await in_thread(ledger.api_keys.write_uses)
            await in_thread(plan_tidying, ledger)
        except Exception:  # a full disk now must not end housekeeping for good
            log.exception("housekeeping_failed")


def plan_tidying(ledger: Ledger) -> None:
    """Queue the job that tidies, unless it is there: one for all servers, which the server's first admin sees."""
    admin = ledger.people.first_admin()
    if admin is None or (organization := ledger.people.default_organization(admin.id)) is None:
        return
    job = ledger.jobs.find(organization.id, [TIDYING]).get(TIDYING)
    if job is None or job.due_at is None:
        with ledger.transaction(organization.id, admin.id) as tx:
            tx.jobs.enqueue(JobDraft(TIDYING, TIDYING, visibility=private_key(admin.id), delay_s=TIDYING_S))
