"""Jobs run once, are repeated after failures, and survive their worker."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from stores.errors import Conflict, NotFound, Unavailable
from stores.jobs import Job, JobDraft
from stores.records import JsonObject
from tests.people import Person
from tools.app import App
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.jobs.runner import Runner
from tools.runtime.threads import in_thread

pytestmark = pytest.mark.anyio

Body = Callable[[RunningJob], Awaitable[JsonObject]]


@asynccontextmanager
async def worker(app: App, body: Body, name: str = "worker", **options: Any) -> AsyncIterator[Runner]:
    async def run(_host: JobHost, running: RunningJob) -> JsonObject:
        return await body(running)

    function = JobFunction("work", run, attempts=3, timeout_s=options.pop("timeout_s", 60))
    runner = Runner(app, name, {"work": function}, backoff_s=0.01, **options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runner.run)
        yield runner
        tasks.cancel_scope.cancel()


async def enqueue(owner: Person, *job_ids: str) -> None:
    def write() -> None:
        with owner.app.ledger.transaction(owner.organization_id, owner.user_id) as tx:
            for job_id in job_ids:
                tx.jobs.enqueue(JobDraft(job_id, "work"))

    await in_thread(write)


async def ended(owner: Person, job_id: str, *states: str) -> Job:
    with anyio.fail_after(20):
        while True:
            job = (await in_thread(owner.app.ledger.jobs.find, owner.organization_id, [job_id]))[job_id]
            if job.state in (states or ("complete", "failed", "cancelled")):
                return job
            await anyio.sleep(0.01)


async def test_a_job_runs_and_shows_progress_and_result(owner: Person) -> None:
    async def body(running: RunningJob) -> JsonObject:
        await running.progress(1, 2)
        return {"counted": 2}

    async with worker(owner.app, body):
        await enqueue(owner, "a")
        job = await ended(owner, "a")
    assert (job.state, job.result, job.done, job.total, job.attempts) == ("complete", {"counted": 2}, 1, 2, 1)


@pytest.mark.parametrize(
    ("error", "attempts", "sentence"),
    [
        (Unavailable("The disk is full."), 3, "The disk is full."),
        (NotFound("It is gone."), 1, "It is gone."),
        (ValueError("secret"), 3, "An unexpected error (ValueError)"),
    ],
)
async def test_a_failure_is_repeated_if_it_may_pass(
    owner: Person, error: Exception, attempts: int, sentence: str
) -> None:
    async def body(_running: RunningJob) -> JsonObject:
        raise error

    async with worker(owner.app, body):
        await enqueue(owner, "a")
        job = await ended(owner, "a")
    assert (job.state, job.attempts) == ("failed", attempts)
    assert (job.error or "").startswith(sentence)


async def test_a_job_that_fails_once_is_done_by_the_next_attempt(owner: Person) -> None:
    async def body(running: RunningJob) -> JsonObject:
        if running.job.attempts == 1:
            raise Unavailable("Not now.")
        if running.job.attempts == 2:
            await anyio.sleep_forever()
        return {}

    async with worker(owner.app, body, timeout_s=0.2):
        await enqueue(owner, "a")
        job = await ended(owner, "a")
    assert (job.state, job.attempts, job.error) == ("complete", 3, None)


async def test_a_job_that_waits_is_put_back_and_no_attempt_counts(owner: Person) -> None:
    begun = Counter[str]()

    async def body(running: RunningJob) -> JsonObject:
        begun[running.job.id] += 1
        if begun.total() < 5:
            raise NotYet(0.01)
        return {}

    async with worker(owner.app, body):
        await enqueue(owner, "a")
        job = await ended(owner, "a")
    assert (job.state, job.attempts, job.error, begun) == ("complete", 1, None, {"a": 5})


async def test_a_cancelled_job_stops_and_commits_nothing(owner: Person) -> None:
    begun, left = anyio.Event(), anyio.Event()

    async def body(running: RunningJob) -> JsonObject:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            left.set()
        return {}

    async with worker(owner.app, body, lease_s=0.3):
        await enqueue(owner, "a")
        with anyio.fail_after(20):
            await begun.wait()
            await in_thread(owner.app.ledger.jobs.cancel, owner.organization_id, "a")
            await left.wait()
        await anyio.sleep(0.1)
        assert (await ended(owner, "a")).state == "cancelled"


async def test_a_long_job_keeps_its_lease_and_is_put_back_when_its_worker_stops(owner: Person) -> None:
    async def endless(_running: RunningJob) -> JsonObject:
        await anyio.sleep_forever()
        return {}

    async def quick(running: RunningJob) -> JsonObject:
        return {"attempts": running.job.attempts}

    async with worker(owner.app, endless, lease_s=0.6):
        await enqueue(owner, "a")
        await ended(owner, "a", "in_progress")
        async with worker(owner.app, quick, "other"):
            await anyio.sleep(1)
            assert (await ended(owner, "a", "in_progress")).attempts == 1
    assert (await ended(owner, "a", "queued")).attempts == 0
    async with worker(owner.app, quick, "other"):
        assert (await ended(owner, "a")).result == {"attempts": 1}


async def test_another_worker_finishes_the_job_of_one_that_is_lost(owner: Person) -> None:
    jobs = owner.app.ledger.jobs
    await enqueue(owner, "a", "poison")
    lost = await in_thread(jobs.take, "lost", ["work"], 1, 0.3)
    assert [job.id for job in lost] == ["a"]
    for _ in range(3):
        (poison,) = await in_thread(jobs.take, "lost", ["work"], 1, 0)

    async def body(running: RunningJob) -> JsonObject:
        return {"worker": "other", "attempts": running.job.attempts}

    async with worker(owner.app, body, "other"):
        assert (await ended(owner, "a")).result == {"worker": "other", "attempts": 2}
        assert (await ended(owner, "poison")).error == "Its worker was lost too often."
    with pytest.raises(Conflict):
        await in_thread(jobs.finish, lost[0], {})
    assert poison.id == "poison"


async def test_two_workers_run_each_of_many_jobs_once(owner: Person) -> None:
    ran: Counter[str] = Counter()

    async def body(running: RunningJob) -> JsonObject:
        ran[running.job.id] += 1
        return {}

    names = [f"job-{number}" for number in range(200)]
    async with worker(owner.app, body, "one") as one, worker(owner.app, body, "two") as two:
        began = anyio.current_time()
        await enqueue(owner, *names, *names)
        for name in names:
            assert (await ended(owner, name)).attempts == 1
        polls, seconds = one.polls + two.polls, anyio.current_time() - began
    assert ran == Counter(names)
    assert polls <= 20 * seconds + 4
