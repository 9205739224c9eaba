"""Interface of job functions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from stores.clock import Clock, utc_now
from stores.indexer import Indexer
from stores.jobs import Job
from stores.ledger import JOB_LEASE_S, Ledger
from stores.records import JsonObject
from tools.runtime.settings import Settings
from tools.runtime.threads import in_thread


@dataclass(frozen=True, slots=True)
class JobHost:
    """Process that runs jobs: a server, or `engrain worker`."""

    ledger: Ledger
    settings: Settings
    clock: Clock = utc_now
    indexer: Indexer | None = None
    """None in `engrain worker`."""


@dataclass(slots=True)
class RunningJob:
    """Attempt at a job. Its writes call `transaction.jobs.require(running.job)`."""

    job: Job
    ledger: Ledger
    lease_s: float = JOB_LEASE_S

    @property
    def payload(self) -> JsonObject:
        return self.job.payload

    async def progress(self, done: int | None = None, total: int | None = None) -> None:
        """Renew the lease and store the progress; Conflict as in `Jobs.renew`."""
        self.job = await in_thread(self.ledger.jobs.renew, self.job, done, total, lease_s=self.lease_s)


class NotYet(Exception):
    """Raised by a job that waits for something: it is put back, and begins again after a delay."""

    def __init__(self, delay_s: float) -> None:
        super().__init__()
        self.delay_s = delay_s


@dataclass(frozen=True, slots=True)
class JobFunction:
    """Kind of job, idempotent: it runs again after a crash."""

    name: str
    run: Callable[[JobHost, RunningJob], Awaitable[JsonObject]]
    attempts: int = 5
    timeout_s: float = 3600
    needs_indexes: bool = False
