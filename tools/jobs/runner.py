"""Job runner: takes due jobs, retries failed ones with back-off."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.to_thread
import structlog

from stores.errors import BadGateway, Conflict, EngrainError, RateLimited, Unavailable
from stores.jobs import Job, JobNotice
from stores.ledger import JOB_LEASE_S
from tools.app import App
from tools.crawling import crawl
from tools.experience import publishing as experience
from tools.frame.threads import in_thread
from tools.governance import lifecycle
from tools.jobs import status
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.people import sessions
from tools.runtime.housekeeping import keep_house

AT_ONCE = 4
MOST_TAKEN = 64
PACE_S, FALLBACK_S = 0.1, 5.0
"""Least and longest time between two polls."""
QUICK_S = 1.0
"""Twice as many jobs are taken after a batch that ended within this time."""
MOST_BACKOFF_S = 900.0
FUNCTIONS: Mapping[str, JobFunction] = {
    each.name: each for module in (crawl, experience, status, sessions, lifecycle) for each in module.FUNCTIONS
}
_TEMPORARY = (Conflict, Unavailable, RateLimited, BadGateway)

log = structlog.get_logger("jobs")


class Runner:
    lease_s = JOB_LEASE_S
    backoff_s = 1.0

    def __init__(self, host: JobHost, holder: str, functions: Mapping[str, JobFunction] = FUNCTIONS) -> None:
        self.polls = 0
        self._host = host
        self._jobs = host.ledger.jobs
        self._holder = holder
        is_server = host.app is not None
        takes = {True: is_server, False: not is_server or host.settings.jobs == "inside"}
        self._functions = {name: each for name, each in functions.items() if takes[each.needs_server]}
        self._turns = anyio.CapacityLimiter(AT_ONCE)
        self._taken = 0
        self._bell = anyio.Event()
        self._ended = anyio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()

        def ring(notice: JobNotice) -> None:
            if notice.state in ("queued", "deferred"):
                with suppress(RuntimeError):  # The loop has ended.
                    loop.call_soon_threadsafe(self._bell.set)

        self._host.ledger.on_job.append(ring)
        try:
            await self._serve()
        finally:
            self._host.ledger.on_job.remove(ring)
            with anyio.CancelScope(shield=True), suppress(Unavailable):
                await in_thread(self._jobs.release_holder, self._holder, crashed=False)

    async def _serve(self) -> None:
        most = AT_ONCE
        async with anyio.create_task_group() as tasks:
            while True:
                self._bell = anyio.Event()
                began = time.monotonic()
                for job in await self._take(most - self._taken):
                    self._taken += 1
                    tasks.start_soon(self._attempt, job)
                is_full = self._taken >= most
                await anyio.sleep(PACE_S)
                if not is_full:
                    await self._wait_due()
                while self._taken >= AT_ONCE:
                    self._ended = anyio.Event()
                    await self._ended.wait()
                is_quick = is_full and time.monotonic() - began < QUICK_S
                most = min(most * 2, MOST_TAKEN) if is_quick else AT_ONCE

    async def _take(self, limit: int) -> list[Job]:
        self.polls += 1
        try:
            return await in_thread(self._jobs.take, self._holder, list(self._functions), limit, self.lease_s)
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
        running = RunningJob(job, self._host.ledger, self.lease_s)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_lease, running)
                async with self._turns:
                    held = (await in_thread(self._jobs.find, job.organization_id, [job.id])).get(job.id)
                    # It may have been cancelled or taken over while it waited for its turn.
                    if held is not None and (held.state, held.token) == ("in_progress", job.token):
                        await self._carry_out(running)
                tasks.cancel_scope.cancel()
        except Exception:  # the edge of a job: cancelled, taken over, or its lease will run out
            log.warning("job_left", job_id=job.id, exc_info=True)
        finally:
            self._taken -= 1
            self._ended.set()

    async def _keep_lease(self, running: RunningJob) -> None:
        while True:
            await anyio.sleep(self.lease_s / 3)
            await in_thread(running.progress)

    async def _carry_out(self, running: RunningJob) -> None:
        function, attempts = self._functions[running.job.function], running.job.attempts
        try:
            if attempts > function.attempts:
                raise EngrainError("Its worker was lost too often.")
            # Only the time-out abandons a thread; its fencing token refuses later writes. A stop waits for it.
            with anyio.fail_after(function.timeout_s, shield=True) as limit:
                begun = await anyio.to_thread.run_sync(function.run, self._host, running, abandon_on_cancel=True)
                limit.shield = False
                result = begun if isinstance(begun, dict) else await begun
            await in_thread(self._jobs.finish, running.job, result)
        except NotYet as wait:
            await in_thread(self._jobs.defer, running.job, wait.delay_s)
        except Exception as error:  # a function may fail in any way
            log.warning("job_attempt_failed", job_id=running.job.id, attempt=attempts, exc_info=True)
            is_temporary = isinstance(error, _TEMPORARY) or not isinstance(error, EngrainError)
            wait_s = min(self.backoff_s * 4.0 ** (attempts - 1), MOST_BACKOFF_S)
            wait_s *= random.uniform(1, 1.25)  # noqa: S311 - no secret
            retry_in_s = wait_s if is_temporary and attempts < function.attempts else None
            await in_thread(self._jobs.fail, running.job, _sentence(error), retry_in_s)


def _sentence(error: Exception) -> str:
    if isinstance(error, EngrainError):
        return error.message
    # The text of an unexpected error may quote a record.
    return "It took too long." if isinstance(error, TimeoutError) else f"An unexpected {type(error).__name__}."


@asynccontextmanager
async def jobs_running(app: App) -> AsyncIterator[None]:
    """Run jobs while the block lasts; where `ENGRAIN_JOBS` is `none`, only those that need a server."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Runner(JobHost(app.ledger, app.settings, app.clock, app), app.process_id).run)
        tasks.start_soon(keep_house, app.ledger)
        yield
        tasks.cancel_scope.cancel()
