"""Processes on one PostgreSQL hear of each other's commits and jobs."""

import time
from collections.abc import Callable
from uuid import uuid4

from stores.jobs import JobDraft, JobNotice
from stores.ledger import Ledger
from tests.postgres import PostgresServer
from tests.stores.ledger.samples import ANN, ORG, create, draft

WAIT_S = 10.0


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def enqueue(ledger: Ledger, job_id: str) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.jobs.enqueue(JobDraft(job_id, "work"))


def wait_heard(teller: Ledger, heard: list[JobNotice]) -> None:
    """Tell until the other one listens."""
    heard.clear()

    def is_heard() -> bool:
        enqueue(teller, f"probe-{uuid4()}")
        return bool(heard)

    wait_for(is_heard)


def test_commits_and_jobs_are_heard_by_other_processes_once(postgres: PostgresServer, postgres_original: str) -> None:
    url = postgres.create_database(copy_of=postgres_original)
    one, two = Ledger.open(url), Ledger.open(url)
    commits: dict[str, list[tuple[str, int]]] = {"one": [], "two": []}
    jobs: dict[str, list[JobNotice]] = {"one": [], "two": []}
    for name, ledger in (("one", one), ("two", two)):
        ledger.listen()
        ledger.on_commit_elsewhere.append(lambda *commit, name=name: commits[name].append(commit))
        ledger.on_job.append(jobs[name].append)
    try:
        wait_heard(one, jobs["two"])
        wait_heard(two, jobs["one"])
        create(one, draft("e1"))
        wait_for(lambda: commits["two"] == [(ORG, 1)])
        jobs["two"].clear()
        enqueue(one, "work")
        wait_for(lambda: bool(jobs["two"]))
        (taken,) = (job for job in two.jobs.take("w", ["work"], 999) if job.id == "work")
        two.jobs.finish(taken, {})
        wait_for(lambda: [each.state for each in jobs["one"] if each.job_id == "work"][-1:] == ["complete"])
        assert [each.state for each in jobs["two"] if each.job_id == "work"] == ["queued", "in_progress", "complete"]
        assert commits["one"] == []

        postgres.disconnect_all(url)
        wait_heard(one, jobs["two"])
    finally:
        one.close()
        two.close()
        postgres.drop_database(url)
