"""Job runner: takes due jobs, runs a few at a time, repeats failed ones with back-off."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import anyio
import structlog

from stores.errors import BadGateway, Conflict, EngrainError, RateLimited, Unavailable
from stores.jobs import Job, JobNotice
from stores.ledger import JOB_LEASE_S
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.jobs.registry import FUNCTIONS
from tools.runtime.threads import in_thread

AT_ONCE = 4
MOST_TAKEN = 64
PACE_S = 0.1
"""Least time between two polls."""
FALLBACK_S = 5.0
"""Longest time between two polls, for jobs of which no notice arrived."""
QUICK_S = 1.0
"""Jobs taken together that end within this are quick: twice as many are taken next."""
MOST_BACKOFF_S = 900.0
_TEMPORARY = (Conflict, Unavailable, RateLimited, BadGateway)

log = structlog.get_logger("jobs")


class Runner:
    """Runs the jobs of all organizations, until cancelled."""

    def __init__(
        self,
        host: JobHost,
        holder: str,
        functions: Mapping[str, JobFunction] = FUNCTIONS,
        *,
        lease_s: float = JOB_LEASE_S,
        backoff_s: float = 1.0,
    ) -> None:
        self.polls = 0
        self._host = host
        self._jobs = host.ledger.jobs
        self._holder = holder
        self._functions = {
            name: function
            for name, function in functions.items()
            if host.indexer is not None or not function.needs_indexes
        }
        self._lease_s = lease_s
        self._backoff_s = backoff_s
        self._turns = anyio.CapacityLimiter(AT_ONCE)
        self._taken = 0
        """Jobs that are leased and have not ended."""
        self._bell = anyio.Event()
        self._ended = anyio.Event()

    async def run(self) -> None:
        """Take and run jobs; those that run at the end are put back."""
        loop = asyncio.get_running_loop()

        def ring(notice: JobNotice) -> None:
            if notice.state in ("queued", "deferred"):
                with suppress(RuntimeError):  # The loop has ended.
                    loop.call_soon_threadsafe(self._bell.set)

        self._host.ledger.on_job.append(ring)
        try:
            async with anyio.create_task_group() as tasks:
                most = AT_ONCE
                while True:
                    self._bell = anyio.Event()
                    began = time.monotonic()
                    taken = await self._take(most - self._taken)
                    is_full = self._taken + len(taken) >= most
                    for job in taken:
                        self._taken += 1
                        tasks.start_soon(self._attempt, job)
                    await anyio.sleep(PACE_S)
                    if not is_full:
                        await self._wait_due()
                    while self._taken >= AT_ONCE:
                        self._ended = anyio.Event()
                        await self._ended.wait()
                    is_quick = is_full and time.monotonic() - began < QUICK_S
                    most = min(most * 2, MOST_TAKEN) if is_quick else AT_ONCE
        finally:
            self._host.ledger.on_job.remove(ring)

    async def _take(self, limit: int) -> list[Job]:
        self.polls += 1
        try:
            return await in_thread(self._jobs.take, self._holder, list(self._functions), limit, self._lease_s)
        except Exception:  # a fault now must not end the jobs for good
            log.exception("jobs_not_taken")
            return []

    async def _wait_due(self) -> None:
        wait_s = FALLBACK_S
        with suppress(Unavailable):
            due_at = await in_thread(self._jobs.next_due, list(self._functions))
            if due_at is not None:
                wait_s = min(wait_s, (due_at - self._host.clock()).total_seconds())
        with anyio.move_on_after(wait_s):
            await self._bell.wait()

    async def _attempt(self, job: Job) -> None:
        running = RunningJob(job, self._host.ledger, self._lease_s)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_lease, running, tasks.cancel_scope)
                async with self._turns:
                    await self._carry_out(running)
                tasks.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), suppress(EngrainError):
                await in_thread(self._jobs.put_back, running.job)
            raise
        finally:
            self._taken -= 1
            self._ended.set()

    async def _keep_lease(self, running: RunningJob, scope: anyio.CancelScope) -> None:
        while True:
            await anyio.sleep(self._lease_s / 3)
            try:
                await running.progress()
            except Conflict:
                scope.cancel()
            except EngrainError as error:
                log.warning("lease_not_renewed", job_id=running.job.id, error=error.message)

    async def _carry_out(self, running: RunningJob) -> None:
        function = self._functions[running.job.function]
        began = time.monotonic()
        try:
            if running.job.attempts > function.attempts:
                await self._fail(running, "Its worker was lost too often.", None)
                return
            with anyio.fail_after(function.timeout_s):
                result = await function.run(self._host, running)
            await in_thread(self._jobs.finish, running.job, result)
        except NotYet as wait:
            with suppress(Conflict):
                await in_thread(self._jobs.put_back, running.job, wait.delay_s)
        except Exception as error:  # the edge of a job
            log.warning("job_attempt_failed", job_id=running.job.id, attempt=running.job.attempts, exc_info=error)
            again = running.job.attempts < function.attempts and _is_temporary(error)
            await self._fail(running, _sentence(error, function), self._backoff(running.job) if again else None)
        else:
            seconds = round(time.monotonic() - began, 3)
            log.info("job_done", job_id=running.job.id, function=function.name, seconds=seconds)

    async def _fail(self, running: RunningJob, error: str, retry_in_s: float | None) -> None:
        try:
            await in_thread(self._jobs.fail, running.job, error, retry_in_s)
        except EngrainError as refusal:
            # Cancelled or taken over, or its lease will run out.
            log.info("job_left", job_id=running.job.id, reason=refusal.message)

    def _backoff(self, job: Job) -> float:
        wait_s = min(self._backoff_s * 4.0 ** (job.attempts - 1), MOST_BACKOFF_S)
        return wait_s * random.uniform(1, 1.25)  # noqa: S311 - spreads retries


def _is_temporary(error: Exception) -> bool:
    return not isinstance(error, EngrainError) or isinstance(error, _TEMPORARY)


def _sentence(error: Exception, function: JobFunction) -> str:
    if isinstance(error, EngrainError):
        return error.message
    if isinstance(error, TimeoutError):
        return f"It took longer than {function.timeout_s:g} seconds."
    # The text of an unexpected error may quote a record.
    return f"An unexpected error ({type(error).__name__}); the server's log has it."


@asynccontextmanager
async def jobs_running(host: JobHost, holder: str) -> AsyncIterator[None]:
    """Run jobs in this process while the block lasts, unless `ENGRAIN_JOBS` is `none`."""
    async with anyio.create_task_group() as tasks:
        if host.settings.jobs == "inside":
            tasks.start_soon(Runner(host, holder).run)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()
