"""The audit log of memories: filters, a chain that shows every alteration, and export."""

import csv
import io
import json
from functools import partial

import anyio
import pyarrow.parquet as pq
import pytest
from sqlalchemy import delete, func, select, update

from stores.errors import InvalidRequest, ValidationFailed
from stores.ledger.account_tables import audit_entries, audit_subjects
from tests.people import Person
from tools.app import App

pytestmark = pytest.mark.anyio


async def used(owner: Person) -> None:
    await owner.call("remember", title="Cellar", content="The key hangs in the cellar.", memory_scope="organization")
    await owner.call("recall", query="key", memory_scope="organization")


async def test_events_are_filtered_and_unknown_filters_refused(owner: Person, member: Person) -> None:
    await used(owner)
    await member.call("recall", query="key", memory_scope="organization")
    recalls = (await owner.call("memory_audit", action="memory.recall", actor_user_id=member.user_id))["events"]
    assert [(each["user_id"], each["policy_allowed"]) for each in recalls] == [(member.user_id, True)]
    assert (await owner.call("memory_audit", memory_scope="team"))["events"] == []
    await owner.refused("memory_audit", InvalidRequest, action="project.create", match="invalid_memory_audit_action")
    await owner.refused("memory_audit", ValidationFailed, actor="somebody")


async def test_a_memory_that_goes_with_its_entity_leaves_an_event(owner: Person) -> None:
    kept = await owner.call("remember", title="Cellar", content="The key is lost.", memory_scope="organization")
    await owner.call("delete_entity", entity_id=kept["id"])
    (event,) = (await owner.call("memory_audit", action="memory.delete"))["events"]
    assert event["source_ids"] == [kept["raw_memory_id"]]


@pytest.mark.parametrize("fault", ["altered", "removed", "shortened", "swapped", "hidden", "unnamed"])
async def test_the_chain_names_what_was_altered(own_app: App, owner: Person, fault: str) -> None:
    await used(owner)
    audit, log = own_app.ledger.audit, audit_entries.c.organization_id == owner.organization_id
    assert audit.faults(owner.organization_id) == []
    last, first = audit_entries.c.position > 1, audit_entries.c.position == 1
    statements = {
        "altered": [update(audit_entries).where(log, first).values(actor_id="mallory")],
        "removed": [delete(audit_entries).where(log, first)],
        "shortened": [delete(audit_entries).where(log, last)],
        "swapped": [
            update(audit_entries).where(log, audit_entries.c.position == old).values(position=new)
            for old, new in ((1, 99), (2, 1), (99, 2))
        ],
        "hidden": [update(audit_entries).where(log, first).values(family="x")],
        "unnamed": [delete(audit_subjects).where(audit_subjects.c.organization_id == owner.organization_id)],
    }[fault]
    with own_app.ledger._database.write() as connection:
        for each in statements:
            connection.execute(each)
    (found,) = audit.faults(owner.organization_id)
    assert {"shortened": "after 1", "unnamed": "0 are found"}.get(fault, "entry 1") in found


async def test_a_log_is_verified_while_others_write(own_app: App, owner: Person) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(
                partial(owner.call, "store_raw_memory", raw_content=f"{number}", memory_scope="organization")
            )
        for _ in range(40):
            assert await anyio.to_thread.run_sync(own_app.ledger.audit.faults, owner.organization_id) == []


async def test_entries_of_simultaneous_recalls_are_written_without_being_asked_for(own_app: App, owner: Person) -> None:
    count = select(func.count()).select_from(audit_entries).where(audit_entries.c.action == "memory.recall")
    async with anyio.create_task_group() as tasks:
        for _ in range(40):
            tasks.start_soon(partial(owner.call, "recall", query="key"))

    def written() -> int:
        with own_app.ledger._database.read() as connection:
            return int(connection.execute(count).scalar_one())

    with anyio.fail_after(10):
        while written() < 40:  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(0.01)


async def test_the_log_is_exported(owner: Person) -> None:
    await used(owner)
    entries = (await owner.call("read_audit"))["entries"]
    plain = (await owner.run("export_audit")).result
    rows = list(csv.DictReader(io.StringIO(plain.content.decode())))
    assert [row["id"] for row in rows] == [each["id"] for each in entries]
    assert json.loads(rows[0]["details"]) == entries[0]["details"]
    table = pq.read_table(io.BytesIO((await owner.run("export_audit", format="parquet", limit=1)).result.content))
    assert table.column("hash").to_pylist() == [rows[0]["hash"]]
