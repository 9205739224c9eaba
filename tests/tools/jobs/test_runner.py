"""Jobs run once, are repeated after failures, and survive their worker."""

import threading
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
from tests.stores.indexer.samples import until
from tools.app import App
from tools.frame.threads import in_thread
from tools.jobs.functions import JobFunction, JobHost, NotYet, RunningJob
from tools.jobs.runner import Runner

pytestmark = pytest.mark.anyio

Body = Callable[[RunningJob], Awaitable[JsonObject] | JsonObject]


@asynccontextmanager
async def worker(
    app: App, body: Body, name: str = "worker", *, lease_s: float = 30, timeout_s: float = 60
) -> AsyncIterator[Runner]:
    function = JobFunction("work", lambda _host, running: body(running), 3, timeout_s)
    runner = Runner(JobHost(app.ledger, app.settings), name, {"work": function})
    runner.lease_s, runner.backoff_s = lease_s, 0.01
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runner.run)
        yield runner
        tasks.cancel_scope.cancel()


async def enqueue(of: Person, *job_ids: str, **fields: Any) -> None:
    def write() -> None:
        with of.app.ledger.transaction(of.organization_id, of.user_id) as tx:
            for job_id in job_ids:
                tx.jobs.enqueue(JobDraft(job_id, "work", **fields))

    await in_thread(write)


async def reached(owner: Person, job_id: str, *states: str) -> Job:
    with anyio.fail_after(20):
        while True:
            job = (await in_thread(owner.app.ledger.jobs.find, owner.organization_id, [job_id]))[job_id]
            if job.state in (states or ("complete", "failed", "cancelled")):
                return job
            await anyio.sleep(0.01)


async def endless(_running: RunningJob) -> JsonObject:
    await anyio.sleep_forever()
    return {}


async def attempts(running: RunningJob) -> JsonObject:
    return {"attempts": running.job.attempts}


@pytest.mark.parametrize(
    ("error", "count", "sentence"),
    [
        (Unavailable("The disk is full."), 3, "The disk is full."),
        (NotFound("It is gone."), 1, "It is gone."),
        (ValueError("secret"), 3, "An unexpected ValueError."),
        (None, 3, "It took too long."),
    ],
)
async def test_a_failure_is_repeated_if_it_may_pass_after_ever_longer_waits(
    owner: Person, monkeypatch: pytest.MonkeyPatch, error: Exception | None, count: int, sentence: str
) -> None:
    is_over, refused, waits = threading.Event(), list[bool](), list[float | None]()
    fail = owner.app.ledger.jobs.fail

    def failed(job: Job, said: str, wait_s: float | None) -> Job:
        waits.append(wait_s)
        return fail(job, said, wait_s)

    def body(running: RunningJob) -> JsonObject:
        if error is not None:
            raise error
        is_over.wait(30)
        with pytest.raises(Conflict):
            running.progress(1)
        refused.append(True)
        return {}

    monkeypatch.setattr(owner.app.ledger.jobs, "fail", failed)
    async with worker(owner.app, body, timeout_s=0.1):
        await enqueue(owner, "a")
        job = await reached(owner, "a")
        is_over.set()
        await in_thread(until, lambda: error is not None or len(refused) == count)
    assert (job.state, job.attempts, job.error) == ("failed", count, sentence)
    assert [each and int(100 * each) for each in waits] == [1, 4, None][-count:]


async def test_an_attempt_of_a_job_that_waits_does_not_count(owner: Person) -> None:
    begun = Counter[str]()

    async def body(running: RunningJob) -> JsonObject:
        begun[running.job.id] += 1
        if begun.total() < 5:
            raise NotYet(0.01)
        return {}

    async with worker(owner.app, body):
        await enqueue(owner, "a")
        job = await reached(owner, "a", "complete")
    assert (job.attempts, job.error, begun) == (1, None, {"a": 5})


async def test_a_job_cancelled_before_its_turn_is_not_run(owner: Person) -> None:
    begun = dict[str, int]()
    async with worker(owner.app, lambda running: {"n": begun.setdefault(running.job.id, 1)}) as runner:
        runner._turns = anyio.CapacityLimiter(1)
        async with runner._turns:
            await enqueue(owner, "early")
            await reached(owner, "early", "in_progress")
            await in_thread(owner.app.ledger.jobs.cancel, owner.organization_id, "early")
        await enqueue(owner, "late")
        await reached(owner, "late")
    assert ("early" in begun, "late" in begun) == (False, True)


async def test_a_cancelled_job_is_left_by_its_worker(owner: Person) -> None:
    async with worker(owner.app, endless, lease_s=0.3):
        await enqueue(owner, *"abcd")
        for job_id in "abcd":
            await reached(owner, job_id, "in_progress")
            await in_thread(owner.app.ledger.jobs.cancel, owner.organization_id, job_id)
        await enqueue(owner, "e")
        await reached(owner, "e", "in_progress")
    assert {(await reached(owner, job_id)).state for job_id in "abcd"} == {"cancelled"}


async def test_a_long_job_keeps_its_lease_and_is_queued_when_its_worker_stops(owner: Person) -> None:
    async with worker(owner.app, endless, lease_s=0.6):
        await enqueue(owner, "a")
        await reached(owner, "a", "in_progress")
        async with worker(owner.app, attempts, "other"):
            await anyio.sleep(1)
            assert (await reached(owner, "a", "in_progress")).attempts == 1
    assert (await reached(owner, "a", "queued")).attempts == 0
    async with worker(owner.app, attempts, "other"):
        assert (await reached(owner, "a")).result == {"attempts": 1}


async def test_a_job_that_ends_its_workers_is_given_up(owner: Person) -> None:
    await enqueue(owner, "poison")
    for _ in range(3):
        await in_thread(owner.app.ledger.jobs.take, "lost", ["work"], 1, 0)
    async with worker(owner.app, attempts):
        assert (await reached(owner, "poison")).error == "Its worker was lost too often."


async def test_two_workers_run_each_of_many_jobs_once(owner: Person) -> None:
    ran: Counter[str] = Counter()

    async def body(running: RunningJob) -> JsonObject:
        ran[running.job.id] += 1
        if running.job.id == "job-7" and running.job.attempts == 1:
            raise Unavailable("Not now.")
        return {}

    names = [f"job-{number}" for number in range(200)]
    async with worker(owner.app, body, "one") as one, worker(owner.app, body, "two") as two:
        began = anyio.current_time()
        await enqueue(owner, *names, *names)
        assert {(await reached(owner, name)).state for name in names} == {"complete"}
        polls, seconds = one.polls + two.polls, anyio.current_time() - began
    assert ran == Counter([*names, "job-7"])
    assert polls <= 20 * seconds + 4
