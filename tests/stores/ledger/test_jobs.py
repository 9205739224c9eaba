from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from stores.errors import Conflict, NotFound
from stores.jobs import Job, JobDraft, JobNotice
from stores.ledger import Ledger
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, at_once, draft

SEEN = frozenset({ORGANIZATION})


def enqueue(ledger: Ledger, job_id: str, organization_id: str = ORG, **fields: Any) -> None:
    with ledger.transaction(organization_id, ANN) as tx:
        tx.jobs.enqueue(JobDraft(job_id, "count", **fields))


def take(ledger: Ledger, limit: int = 4, holder: str = "worker-1") -> list[Job]:
    return ledger.jobs.take(holder, ["count"], limit, lease_s=100)


def take_one(ledger: Ledger, holder: str = "worker-1") -> Job:
    (job,) = take(ledger, 1, holder)
    return job


def found(ledger: Ledger, job_id: str) -> Job:
    return ledger.jobs.find(ORG, [job_id])[job_id]


def publish(ledger: Ledger, job: Job, entity_id: str) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.create_entity(draft(entity_id))
        tx.jobs.require(job)


def test_a_job_is_queued_with_the_write_that_it_belongs_to_or_not_at_all(ledger: Ledger) -> None:
    told: list[JobNotice] = []
    ledger.on_job.append(told.append)

    def fail() -> None:
        with ledger.transaction(ORG, ANN) as tx:
            tx.jobs.enqueue(JobDraft("lost", "count"))
            tx.records.delete_entity("none")

    with pytest.raises(NotFound):
        fail()
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.create_entity(draft("e1"))
        tx.jobs.enqueue(JobDraft("kept", "count", {"entity": "e1"}, api_key_id="key"))
    assert [notice.job_id for notice in told] == ["kept"]
    job = take_one(ledger)
    assert (job.payload, job.actor_id, job.api_key_id, job.attempts) == ({"entity": "e1"}, ANN, "key", 1)
    ledger.jobs.finish(ledger.jobs.renew(job, 1, 2), {"counted": 3})
    ended = found(ledger, "kept")
    assert (ended.state, ended.done, ended.total, ended.result, ended.due_at) == (
        "complete",
        1,
        2,
        {"counted": 3},
        None,
    )
    assert [notice.state for notice in told] == ["queued", "in_progress", "complete"]
    assert ledger.jobs.next_due(["count"]) is None
    assert take(ledger) == []


def test_enqueuing_again_runs_a_job_once_more_only_if_it_has_begun(ledger: Ledger) -> None:
    enqueue(ledger, "a", delay_s=600)
    assert (found(ledger, "a").state, take(ledger)) == ("deferred", [])
    enqueue(ledger, "a")
    running = take_one(ledger)
    enqueue(ledger, "a", payload={"again": True})
    assert take(ledger) == []
    assert ledger.jobs.finish(running).state == "queued"
    second = take_one(ledger)
    assert (second.payload, second.attempts) == ({"again": True}, 1)
    ledger.jobs.finish(second)
    assert take(ledger) == []
    enqueue(ledger, "a")
    assert take_one(ledger).token > second.token


def test_many_workers_share_jobs_and_none_runs_twice(ledger: Ledger) -> None:
    for number in range(30):
        enqueue(ledger, f"job-{number}", ORG if number % 2 else OTHER)
    taken = at_once(lambda worker: [job.id for _ in range(5) for job in take(ledger, 2, f"worker-{worker}")])
    counted = Counter(job_id for jobs in taken for job_id in jobs)
    counted.update(job.id for job in take(ledger, 100))
    assert set(counted.values()) == {1}
    assert len(counted) == 30


def test_only_known_functions_are_taken(ledger: Ledger) -> None:
    enqueue(ledger, "a")
    assert ledger.jobs.take("worker", ["other"], 4) == []
    assert ledger.jobs.next_due(["other"]) is None


def test_a_lost_worker_is_fenced_off_and_its_job_is_taken_again(ledger: Ledger, clock: SteppingClock) -> None:
    enqueue(ledger, "a")
    lost = take_one(ledger)
    assert take(ledger, holder="worker-2") == []
    renewed = ledger.jobs.renew(lost, lease_s=200)
    clock.now += timedelta(seconds=150)
    assert take(ledger, holder="worker-2") == []
    assert renewed.due_at is not None
    clock.now = renewed.due_at
    second = take_one(ledger, "worker-2")
    assert second.attempts == 2
    for late in (ledger.jobs.renew, ledger.jobs.finish, ledger.jobs.put_back, lambda job: ledger.jobs.fail(job, "", 1)):
        with pytest.raises(Conflict, match="taken over"):
            late(lost)
    with pytest.raises(Conflict, match="taken over"):
        publish(ledger, lost, "e1")
    publish(ledger, second, "e2")
    assert ledger.records.revisions(ORG) == {"e2": 1}
    assert found(ledger, "a").state == "in_progress"


def test_the_jobs_of_a_dead_process_are_given_back(ledger: Ledger) -> None:
    enqueue(ledger, "a")
    enqueue(ledger, "b")
    dead, other = take_one(ledger), take_one(ledger, "worker-2")
    assert ledger.jobs.release_holder("worker-1") == 1
    again = take_one(ledger, "worker-3")
    assert (again.id, again.attempts) == (dead.id, 2)
    assert ledger.jobs.put_back(again).state == "queued"
    assert take_one(ledger).attempts == 2
    ledger.jobs.finish(other)


def test_a_failed_attempt_is_repeated_later_until_it_is_given_up(ledger: Ledger, clock: SteppingClock) -> None:
    enqueue(ledger, "a")
    waiting = ledger.jobs.fail(take_one(ledger), "The disk is full.", 60)
    assert (waiting.state, waiting.error, take(ledger)) == ("deferred", "The disk is full.", [])
    assert ledger.jobs.next_due(["count"]) == waiting.due_at
    clock.now += timedelta(seconds=60)
    assert found(ledger, "a").state == "queued"
    ended = ledger.jobs.fail(take_one(ledger), "The disk is full.", None)
    assert (ended.state, ended.attempts, ended.finished_at is not None) == ("failed", 2, True)


def test_a_cancelled_job_does_not_run_and_cannot_commit(ledger: Ledger) -> None:
    enqueue(ledger, "queued")
    assert ledger.jobs.cancel(ORG, "queued").state == "cancelled"
    assert take(ledger) == []
    enqueue(ledger, "running")
    job = take_one(ledger)
    with pytest.raises(NotFound):
        ledger.jobs.cancel(OTHER, "running")
    ledger.jobs.cancel(ORG, "running")
    assert ledger.jobs.cancel(ORG, "running").state == "cancelled"
    with pytest.raises(Conflict, match="cancelled"):
        publish(ledger, job, "e1")
    enqueue(ledger, "running")
    with pytest.raises(Conflict, match="taken over"):
        ledger.jobs.finish(job)
    ledger.jobs.finish(take_one(ledger))
    with pytest.raises(Conflict, match="complete"):
        ledger.jobs.cancel(ORG, "running")


def test_jobs_are_listed_by_visibility_and_state(ledger: Ledger) -> None:
    for job_id, fields in {"a": {}, "b": {"visibility": "private:ann"}, "c": {"delay_s": 60}, "d": {}}.items():
        enqueue(ledger, job_id, **fields)
    enqueue(ledger, "e", OTHER)
    ledger.jobs.finish(take_one(ledger))
    shown = {
        state: [job.id for job in ledger.jobs.page(ORG, SEEN, state, 10, 0)]
        for state in (None, "queued", "deferred", "complete", "failed")
    }
    assert shown == {None: ["d", "c", "a"], "queued": ["d"], "deferred": ["c"], "complete": ["a"], "failed": []}
    assert [job.id for job in ledger.jobs.page(ORG, SEEN | {"private:ann"}, None, 2, 1)] == ["c", "b"]
    assert set(ledger.jobs.find(ORG, ["a", "b", "e", "none"])) == {"a", "b"}


def test_ended_jobs_are_kept_for_a_day_and_go_with_their_organization(ledger: Ledger, clock: SteppingClock) -> None:
    enqueue(ledger, "ended")
    enqueue(ledger, "open")
    ledger.jobs.finish(take_one(ledger))
    clock.now += timedelta(hours=23)
    assert ledger.jobs.prune() == 0
    clock.now += timedelta(hours=1)
    assert ledger.jobs.prune() == 1
    assert set(ledger.jobs.find(ORG, ["ended", "open"])) == {"open"}
    enqueue(ledger, "gone", OTHER)
    ledger.people.delete_user(BOB)
    assert ledger.jobs.find(OTHER, ["gone"]) == {}
