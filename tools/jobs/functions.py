"""Interface of job functions."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from stores.clock import Clock, utc_now
from stores.jobs import Job
from stores.ledger import JOB_LEASE_S, Ledger
from stores.records import JsonObject
from tools.runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class JobHost:
    """Process that runs jobs: a server, or `engrain worker`."""

    ledger: Ledger
    settings: Settings
    clock: Clock = utc_now
    app: Any = None
    """The `App` of a server; None in `engrain worker`, which runs no job that needs one."""


@dataclass(slots=True)
class RunningJob:
    """Attempt at a job. Its writes call `transaction.jobs.require(running.job)`."""

    job: Job
    ledger: Ledger
    lease_s: float = JOB_LEASE_S

    def progress(self, done: int | None = None, total: int | None = None) -> None:
        """Renew the lease and store the progress; Conflict as in `Jobs.renew`. Blocks."""
        self.job = self.ledger.jobs.renew(self.job, done, total, lease_s=self.lease_s)


class NotYet(Exception):
    """Raised by a job that waits for something: it is put back, and begins again after a delay."""

    def __init__(self, delay_s: float) -> None:
        super().__init__()
        self.delay_s = delay_s


@dataclass(frozen=True, slots=True)
class JobFunction:
    """Kind of job, idempotent: it runs again after a crash."""

    name: str
    run: Callable[[JobHost, RunningJob], Awaitable[JsonObject] | JsonObject]
    """Called in a thread, unless it is a coroutine function."""
    attempts: int = 5
    timeout_s: float = 3600
    needs_server: bool = False
    """It needs the indexes, the mail or the data folder of a server."""
