"""Background jobs: a long queue drained by two workers, and the status of many jobs."""

import time
from collections import Counter
from pathlib import Path

import anyio

from evals.bench.figures import Figure, Target
from evals.bench.measurement import Measurement
from evals.bench.stages import bench_server
from evals.client import Client, encoded
from stores.jobs import JobDraft
from stores.ledger import Ledger
from stores.records import JsonObject
from tools.jobs.functions import JobFunction, JobHost, RunningJob
from tools.jobs.runner import Runner
from tools.jobs.worker import Worker
from tools.runtime.settings import PREFIX, Settings

JOBS = 10_000
WORKERS = 2
ASKED = 64
"""Ids per request for a status."""


def measure_jobs(measurement: Measurement, data: Path) -> None:
    names = [f"bench:{number}" for number in range(measurement.times(JOBS))]
    measurement.say(f"{len(names)} background jobs …")
    quiet = {f"{PREFIX}EMBEDDING_PROVIDER": "none"}
    with bench_server(data, quiet) as server, Client(server.address) as client, client.signed_up("jobs") as first:
        settings = Settings(data_dir=data)
        worker = Worker(Ledger.open(settings.ledger_url), settings)
        try:
            _enqueue(worker.ledger, names)
            measurement.figures += anyio.run(_drain, worker, len(names))
        finally:
            worker.ledger.close()
        measurement.pid = server.process.pid
        bodies = [encoded({"job_ids": names[place : place + ASKED]}) for place in range(measurement.times(500))]
        found, cost = measurement.warmed_calls(lambda body: first.post("/api/jobs/status", body), bodies)
    figure = Figure.of(f"status of {ASKED} jobs", found, target=Target(5, 3), note=cost)
    measurement.figures.append(figure)


def _enqueue(ledger: Ledger, names: list[str]) -> None:
    (organization,) = ledger.people.organizations()
    with ledger.transaction(organization.id, "bench") as tx:
        for name in names:
            tx.jobs.enqueue(JobDraft(name, "bench"))


async def _drain(worker: Worker, count: int) -> list[Figure]:
    ran: Counter[str] = Counter()
    done = anyio.Event()

    async def run(_host: JobHost, running: RunningJob) -> JsonObject:
        ran[running.job.id] += 1
        if ran.total() >= count:
            done.set()
        return {}

    functions = {"bench": JobFunction("bench", run)}
    runners = [Runner(worker, f"bench-{number}", functions) for number in range(WORKERS)]
    start = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for runner in runners:
            tasks.start_soon(runner.run)
        await done.wait()
        seconds = time.perf_counter() - start
        tasks.cancel_scope.cancel()
    twice = sum(times > 1 for times in ran.values())
    polls = sum(runner.polls for runner in runners)
    return [
        Figure("jobs drained by two workers", "jobs/s", count / seconds, count, note=f"{twice} of them run twice"),
        Figure("their polls of the ledger", "polls/s", polls / seconds, polls, target=Target(20, 20)),
    ]
