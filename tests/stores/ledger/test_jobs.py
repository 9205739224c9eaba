from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from stores.errors import Conflict
from stores.jobs import Job, JobDraft, JobNotice
from stores.ledger import Ledger
from tests.postgres import PostgresServer
from tests.stores.indexer.samples import until
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, at_once, create, draft


def enqueue(ledger: Ledger, job_id: str, organization_id: str = ORG, **fields: Any) -> None:
    with ledger.transaction(organization_id, ANN) as tx:
        tx.jobs.enqueue(JobDraft(job_id, "count", **fields))


def take(ledger: Ledger, limit: int = 4, holder: str = "worker-1") -> list[Job]:
    return ledger.jobs.take(holder, ["count"], limit, lease_s=10_000)


def take_one(ledger: Ledger, holder: str = "worker-1") -> Job:
    (job,) = take(ledger, 1, holder)
    return job


def publish(ledger: Ledger, job: Job, entity_id: str) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.create_entity(draft(entity_id))
        tx.jobs.enqueue(JobDraft(f"next-{entity_id}", "count"))
        tx.jobs.require(job)


def wait_heard(teller: Ledger, heard: list[JobNotice]) -> None:
    """Tell until the other one listens."""
    heard.clear()

    def is_heard() -> bool:
        enqueue(teller, f"probe-{uuid4()}")
        return bool(heard)

    until(is_heard)


def test_a_job_is_taken_by_who_knows_its_function_and_tells_of_its_states(ledger: Ledger) -> None:
    told: list[JobNotice] = []
    ledger.on_job.append(told.append)
    enqueue(ledger, "a", payload={"entity": "e1"}, api_key_id="key")
    assert ledger.jobs.take("worker", ["other"], 4) == []
    job = take_one(ledger)
    assert (job.payload, job.actor_id, job.api_key_id, job.attempts) == ({"entity": "e1"}, ANN, "key", 1)
    ledger.jobs.finish(ledger.jobs.renew(job, 1, 2), {"counted": 3})
    ended = ledger.jobs.find(ORG, ["a"])["a"]
    assert (ended.state, ended.done, ended.total, ended.result, ended.due_at) == (
        "complete", 1, 2, {"counted": 3}, None,
    )  # fmt: skip
    assert [(each.state, each.done) for each in told] == [
        ("queued", None), ("in_progress", None), ("in_progress", 1), ("complete", None),
    ]  # fmt: skip
    assert ledger.jobs.next_due(["count"]) is None
    enqueue(ledger, "b")
    take_one(ledger)
    assert (ledger.jobs.release_holder("worker-1"), told[-1].job_id, told[-1].state) == (1, "b", "queued")


def test_enqueuing_again_runs_a_job_once_more_only_if_it_has_begun(ledger: Ledger) -> None:
    enqueue(ledger, "a", delay_s=600)
    assert ([job.id for job in ledger.jobs.page(ORG, ["organization"], "deferred", 9, 0)], take(ledger)) == (["a"], [])
    enqueue(ledger, "a")
    enqueue(ledger, "a", payload={"renewed": True})
    running = take_one(ledger)
    assert running.payload == {"renewed": True}
    enqueue(ledger, "a", payload={"again": True})
    assert take(ledger) == []
    assert ledger.jobs.finish(running, {}).state == "queued"
    second = take_one(ledger)
    assert (second.payload, second.attempts) == ({"again": True}, 1)
    ledger.jobs.finish(second, {})
    assert take(ledger) == []
    enqueue(ledger, "a")
    assert take_one(ledger).token > second.token


def test_many_workers_share_jobs_and_none_gets_one_twice(ledger: Ledger) -> None:
    for number in range(30):
        enqueue(ledger, f"job-{number}", ORG if number % 2 else OTHER)
    taken = at_once(lambda worker: [job.id for _ in range(5) for job in take(ledger, 2, f"worker-{worker}")])
    counted = Counter([*(job_id for jobs in taken for job_id in jobs), *(job.id for job in take(ledger, 100))])
    assert (len(counted), counted.total()) == (30, 30)


def test_a_lost_worker_is_fenced_off_and_its_job_is_taken_again(ledger: Ledger, clock: SteppingClock) -> None:
    enqueue(ledger, "a")
    lost = take_one(ledger)
    renewed = ledger.jobs.renew(lost, lease_s=200)
    clock.now += timedelta(seconds=150)
    assert take(ledger, holder="worker-2") == []
    clock.now += timedelta(seconds=50)
    second = take_one(ledger, "worker-2")
    assert (second.attempts, renewed.token < second.token) == (2, True)
    for late in (ledger.jobs.renew, lambda job: ledger.jobs.finish(job, {}), lambda job: ledger.jobs.fail(job, "", 1)):
        with pytest.raises(Conflict, match="taken over"):
            late(lost)
    with pytest.raises(Conflict, match="taken over"):
        publish(ledger, lost, "e1")
    publish(ledger, second, "e2")
    assert ledger.records.revisions(ORG) == {"e2": 1}
    assert set(ledger.jobs.find(ORG, ["next-e1", "next-e2"])) == {"next-e2"}


def test_a_cancelled_job_does_not_run_and_cannot_commit(ledger: Ledger) -> None:
    for job_id in ("running", "queued"):
        enqueue(ledger, job_id)
    job = take_one(ledger)
    assert ledger.jobs.cancel(OTHER, "running") is None
    cancelled = [ledger.jobs.cancel(ORG, job_id) for job_id in ("queued", "running", "running")]
    assert [each and each.state for each in cancelled] == ["cancelled"] * 3
    assert take(ledger) == []
    with pytest.raises(Conflict, match="cancelled"):
        publish(ledger, job, "e1")
    enqueue(ledger, "running")
    with pytest.raises(Conflict, match="taken over"):
        ledger.jobs.finish(job, {})


def test_ended_jobs_are_kept_for_a_day_and_go_with_their_organization(ledger: Ledger, clock: SteppingClock) -> None:
    for job_id, organization_id in (("ended", ORG), ("gone", OTHER)):
        enqueue(ledger, job_id, organization_id)
    ledger.jobs.finish(take_one(ledger), {})
    clock.now += timedelta(hours=23)
    assert ledger.jobs.prune() == 0
    clock.now += timedelta(hours=1)
    assert ledger.jobs.prune() == 1
    ledger.people.delete_user(BOB)
    assert ledger.jobs.find(ORG, ["ended"]) | ledger.jobs.find(OTHER, ["gone"]) == {}


def test_processes_on_one_postgresql_hear_of_commits_and_jobs_once(
    postgres: PostgresServer, postgres_original: str
) -> None:
    url = postgres.create_database(copy_of=postgres_original)
    one, two = Ledger.open(url), Ledger.open(url)
    commits: list[tuple[str, int]] = []
    jobs: tuple[list[JobNotice], list[JobNotice]] = ([], [])
    for ledger, heard in ((one, jobs[0]), (two, jobs[1])):
        ledger.listen()
        ledger.on_commit_elsewhere.append(lambda *commit: commits.append(commit))
        ledger.on_job.append(heard.append)
    wait_heard(one, jobs[1])
    wait_heard(two, jobs[0])
    create(one, draft("e1"))
    enqueue(one, "work")
    until(lambda: any(each.job_id == "work" for each in jobs[1]))
    (taken,) = (job for job in take(two, 999) if job.id == "work")
    two.jobs.finish(taken, {})
    until(lambda: jobs[0][-1].state == "complete")
    states = [[each.state for each in heard if each.job_id == "work"] for heard in jobs]
    assert states == [["queued", "in_progress", "complete"]] * 2
    assert commits == [(ORG, 1)]
    postgres.disconnect_all(url)
    wait_heard(one, jobs[1])
    one.close()
    two.close()
    postgres.drop_database(url)
