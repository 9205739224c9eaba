"""Job functions, and the interface that they run against."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from stores.clock import Clock
from stores.indexer import Indexer
from stores.jobs import Job
from stores.ledger import JOB_LEASE_S, Ledger
from stores.records import JsonObject
from tools.runtime.settings import Settings
from tools.runtime.threads import in_thread


class JobHost(Protocol):
    """Process that runs jobs: the `App` of a server, or `engrain worker`."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def indexer(self) -> Indexer | None:
        """None in `engrain worker`, which has no indexes."""


@dataclass(slots=True)
class RunningJob:
    """One attempt at a job. A write of its function calls `transaction.jobs.require(running.job)`."""

    job: Job
    ledger: Ledger
    lease_s: float = JOB_LEASE_S

    @property
    def payload(self) -> JsonObject:
        return self.job.payload

    async def progress(self, done: int | None = None, total: int | None = None) -> None:
        """Renew the lease and store the progress; Conflict if the job was cancelled or taken over."""
        self.job = await in_thread(self.ledger.jobs.renew, self.job, done, total, lease_s=self.lease_s)


class NotYet(Exception):
    """Raised by a job that waits for something: it is put back, and begins again after a delay."""

    def __init__(self, delay_s: float) -> None:
        super().__init__()
        self.delay_s = delay_s


@dataclass(frozen=True, slots=True)
class JobFunction:
    """Kind of job. It may run again after a crash in any step, so its writes are idempotent."""

    name: str
    run: Callable[[JobHost, RunningJob], Awaitable[JsonObject]]
    attempts: int = 5
    timeout_s: float = 3600
    needs_indexes: bool = False
    """Runs in servers only."""
