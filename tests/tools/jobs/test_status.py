"""Jobs are shown to those who may see what they are about; events tell of each state."""

import pytest

from auth.visibility import private_key
from stores.errors import Forbidden, NotFound, ValidationFailed
from stores.records import JsonObject
from tests.people import Person, caught_up, person, worked
from tests.tools.jobs.test_runner import enqueue, reached, worker
from tests.tools.runtime.test_events import collect
from tools.frame.threads import in_thread
from tools.jobs.functions import RunningJob
from tools.jobs.status import REINDEX

pytestmark = pytest.mark.anyio

UNKNOWN: JsonObject = {
    "function": "unknown", "status": "not_found", "progress": None, "attempts": 0, "result": None, "error": None,
    "enqueue_time": None, "start_time": None, "finish_time": None,
}  # fmt: skip


async def test_status_and_events_tell_what_became_of_a_job(owner: Person) -> None:
    async def body(running: RunningJob) -> JsonObject:
        running.progress(3, 4)
        return {"written": 4}

    async with (
        owner.app.events.subscribe(await in_thread(owner.app.accounts.authenticate, owner.token)) as stream,
        worker(owner.app, body),
    ):
        await enqueue(owner, "a:1")
        await reached(owner, "a:1")
        events = await collect(stream, 3)
    states = {"job_queued": "queued", "job_started": "in_progress", "job_completed": "complete"}
    assert {event.name: event.data["status"] for event in events} == states
    assert events[0].data == {"job_id": "a:1", "function": "work", "status": "queued"}
    await enqueue(owner, "later", delay_s=600)
    jobs = (await owner.call("job_status", job_ids=["a:1", "none", "later"] * 64))["jobs"]
    assert {job_id: job["status"] for job_id, job in jobs.items()} == {
        "a:1": "complete", "none": "not_found", "later": "deferred",
    }  # fmt: skip
    told = jobs["a:1"]
    assert (told["function"], told["attempts"], told["error"]) == ("work", 1, None)
    assert (told["progress"], told["result"]) == ({"done": 3, "total": 4}, {"written": 4})
    assert told["enqueue_time"] <= told["start_time"] <= told["finish_time"]
    assert await owner.call("get_job", job_id="a:1") == told
    page = await owner.call("list_jobs", limit=1)
    assert ([job["job_id"] for job in page["jobs"]], page["has_more"]) == (["later"], True)
    assert [job["job_id"] for job in (await owner.call("list_jobs", status="complete"))["jobs"]] == ["a:1"]


async def test_a_hidden_job_reads_as_an_unknown_one(owner: Person, member: Person, stranger: Person) -> None:
    await enqueue(owner, "shown")
    async with owner.app.events.subscribe(await in_thread(owner.app.accounts.authenticate, owner.token)) as stream:
        await enqueue(member, "hidden", visibility=private_key(member.user_id))
        await enqueue(owner, "shown-too")
        assert [event.data["job_id"] for event in await collect(stream, 1)] == ["shown-too"]
    for reader, seen in ((owner, {"shown", "shown-too"}), (stranger, set())):
        jobs = (await reader.call("job_status", job_ids=["hidden", "none"]))["jobs"]
        assert jobs == {each: {**UNKNOWN, "job_id": each} for each in ("hidden", "none")}
        assert {job["job_id"] for job in (await reader.call("list_jobs"))["jobs"]} == seen
        for verb in ("get_job", "cancel_job", "delete_job"):
            await reader.refused(verb, NotFound, job_id="hidden", match="There is no job hidden")
    assert (await member.call("get_job", job_id="hidden"))["status"] == "queued"


async def test_a_job_is_cancelled_by_its_author_or_an_admin(owner: Person, member: Person, viewer: Person) -> None:
    other = await person(owner.app, "other", of=owner, role="member")
    await enqueue(member, "a", "b")
    for verb, who in (("cancel_job", other), ("delete_job", other), ("cancel_job", viewer), ("get_job", viewer)):
        await who.refused(verb, Forbidden, job_id="a")
    assert (await member.call("cancel_job", job_id="a"))["status"] == "cancelled"
    assert (await member.call("delete_job", job_id="a"))["status"] == "cancelled"
    assert (await owner.call("delete_job", job_id="b"))["finish_time"] is not None


async def test_indexes_are_rebuilt_on_request_of_an_admin(owner: Person, member: Person) -> None:
    await member.refused("reindex", Forbidden)
    assert (await owner.call("reindex"))["status"] == "queued"
    await worked(owner.app, REINDEX)
    job = await member.call("get_job", job_id=REINDEX)
    assert (job["status"], job["result"]) == ("complete", {"indexes": ["lexical", "graph", "vectors"]})
    assert job["progress"] == {"done": 3, "total": 3}
    await caught_up(owner)


@pytest.mark.parametrize("job_ids", [[], [f"{number}" for number in range(65)], [""], ["x" * 401], [None]])
async def test_bad_ids_are_refused(owner: Person, job_ids: object) -> None:
    await owner.refused("job_status", ValidationFailed, job_ids=job_ids)
