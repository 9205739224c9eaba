"""A ledger beside its server: queued jobs, acknowledged experiences, a long audit log, corrections."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio

from evals.bench.measurement import Figure, Measurement, Target
from evals.bench.stages import WITHOUT_VECTORS, signed_up
from evals.bench.texts import records
from evals.client import Client, encoded
from evals.machine import pace_ms, spread, timed_ms
from stores.errors import EngrainError
from stores.jobs import JobDraft
from stores.ledger import AuditDraft, Ledger
from stores.records import JsonObject
from tools.jobs.functions import JobFunction, JobHost, RunningJob
from tools.jobs.runner import Runner
from tools.runtime.settings import Settings

JOBS = 10_000
ASKED = 64
STEPS, STEP_LENGTH = 200, 5_000  # 1 MB of evidence


def measure_jobs(measurement: Measurement, data: Path) -> Iterator[Figure]:
    names = [f"bench:{number}" for number in range(measurement.times(JOBS))]
    measurement.say(f"{len(names)} background jobs …")
    with signed_up(measurement, data, WITHOUT_VECTORS) as first:
        settings = Settings(data_dir=data)
        with closing(Ledger.open(settings.ledger_url)) as ledger:
            (organization,) = ledger.people.organizations()
            with ledger.transaction(organization.id, "bench") as tx:
                for name in names:
                    tx.jobs.enqueue(JobDraft(name, "bench"))
            yield from anyio.run(_drain, JobHost(ledger, settings), len(names))
        bodies = [encoded({"job_ids": names[place : place + ASKED]}) for place in range(measurement.times(500))]
        status = partial(first.post, "/api/jobs/status")
        yield measurement.row(f"status of {ASKED} jobs", status, bodies, Target(5, 3))
        yield _measure_runs(measurement, first)


def _measure_runs(measurement: Measurement, client: Client) -> Figure:
    said = " ".join(each.content for each in records(2 * STEPS))
    texts = [said[place : place + STEP_LENGTH] for place in range(0, STEPS * 100, 100)]
    steps = [{"id": f"{n}", "ordinal": n, "evidence": [{"id": "log", "content": text}]} for n, text in enumerate(texts)]
    project = client.post("/api/entities?sync=true", {"name": "Runs", "entity_type": "project"})["id"]
    times = []
    for number in range(measurement.times(40)):
        run = {"source_id": f"{number}", "goal": "Deploy", "project_id": project, "observations": steps}
        client.post("/api/memory/experience", {"experience": run})
        times.append(client.took_ms)
        client.until_indexed()
    note = f"while the server is at rest; fixed loop {pace_ms():.1f} ms"
    return Figure.of("experience of 1 MB, acknowledged", spread(times), target=Target(400, 400), note=note)


async def _drain(host: JobHost, count: int) -> list[Figure]:
    ran: Counter[str] = Counter()

    async def run(_host: JobHost, running: RunningJob) -> JsonObject:
        ran[running.job.id] += 1
        return {}

    runners = [Runner(host, f"bench-{number}", {"bench": JobFunction("bench", run)}) for number in range(2)]
    start = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for runner in runners:
            tasks.start_soon(runner.run)
        while host.ledger.jobs.next_due(["bench"]) is not None:  # noqa: ASYNC110 - there is no event
            await anyio.sleep(0.1)
        seconds, polls = time.perf_counter() - start, sum(runner.polls for runner in runners)
        tasks.cancel_scope.cancel()
    note = f"{ran.total() - len(ran)} run twice"
    return [
        Figure("jobs drained by two workers", "jobs/s", count / seconds, count, note=note),
        Figure("their polls of the ledger", "polls/s", polls / seconds, polls, target=Target(20, 20)),
    ]


ENTRIES, QUICK_ENTRIES = 1_000_000, 20_000
AT_ONCE = 5_000
SOURCES, USERS = 5_000, 40
DERIVED = 200


def measure_governance(measurement: Measurement, data: Path) -> Iterator[Figure]:
    with signed_up(measurement, data, WITHOUT_VECTORS) as first:
        yield _correct(measurement, first)
        project = first.post("/api/entities", {"name": "Bench", "entity_type": "project"})["id"]
        count = QUICK_ENTRIES if measurement.quick else ENTRIES
        measurement.say(f"{count} audit entries …")
        with closing(Ledger.open(Settings(data_dir=data).ledger_url)) as ledger:
            (organization,) = ledger.people.organizations()
            alone = spread(
                timed_ms(ledger.audit.append_soon, [_entry(organization.id, project, number) for number in range(300)])
            )
            for begin in range(0, count, AT_ONCE):
                with ledger.transaction(organization.id, "bench") as tx:
                    for number in range(begin, begin + AT_ONCE):
                        tx.audit(_entry(organization.id, project, number))
        queries = ("source_id=source_7", "actor_user_id=user_3", "policy_allowed=false", "action=memory.recall",
                   f"project_id={project}", "memory_scope=team", "derived_id=absent", "limit=200")  # fmt: skip
        asked = [f"/api/memory/audit?{query}" for query in queries] * measurement.times(60)
        yield measurement.row(f"audit query over {count} entries", first.get, asked, p95_target=Target(100, 50))
    yield Figure.of("audit entry of a recall", alone, target=Target(0.5, 0.3))


def _entry(organization_id: str, project: str, number: int) -> AuditDraft:
    details: JsonObject = {
        "memory_scope": "team" if number % 1_000 == 0 else "project",
        "project_id": project if number % 500 == 0 else f"project_{number % 500}",
        "policy_allowed": number % 10_000 != 0,
        "source_ids": [f"source_{(number * step) % SOURCES}" for step in (1, 7)],
    }
    action = "memory.recall" if number % 5 else "memory.remember"
    return AuditDraft(action, organization_id, f"user_{number % USERS}", None, details)


def _correct(measurement: Measurement, client: Client) -> Figure:
    measurement.say(f"corrections that {DERIVED} records follow …")
    times = []
    for number in range(measurement.times(20) or 2):
        text = f"Memory {number} is about bench governance."
        memory = client.post("/api/memory/raw", {"raw_content": text, "memory_scope": "organization"})["id"]
        derived = [
            {"name": f"d{each}", "content": "x", "metadata": {"raw_memory_id": memory}} for each in range(DERIVED)
        ]
        for begin in range(0, DERIVED, 100):
            client.post("/api/entities/bulk", encoded({"entities": derived[begin : begin + 100]}))
        done = client.post(f"/api/memory/inspect/{memory}/corrections", {"action": "mark_wrong"})
        times.append(client.took_ms)
        if len(done["affected_derived_ids"]) != DERIVED:
            raise EngrainError("Not all records followed the correction.")
    return Figure.of(f"correction that {DERIVED} records follow", spread(times), target=Target(500, 250))
