"""Facts across what some may read and others not: what is hidden neither shows nor changes what others see."""

from datetime import timedelta
from typing import Any

import pytest

from stores.clock import utc_now
from stores.errors import Conflict, Forbidden, InvalidRequest
from tests.people import Person, caught_up
from tests.tools.records.test_containment import PRIVATE, made
from tests.tools.relations.test_relations import add, listed

pytestmark = pytest.mark.anyio


def ahead(seconds: int = 3600) -> str:
    return (utc_now() + timedelta(seconds=seconds)).isoformat()


async def names(person: Person, entity_id: str) -> set[str]:
    return {each["target_name"] for each in await listed(person, entity_id, name="PART_OF")}


async def sentences(person: Person, entity_id: str) -> set[str]:
    listed_ones = {each["fact"] for each in await listed(person, entity_id, include_expired=True)}
    timeline = await person.call("temporal", mode="timeline", entity_id=entity_id)
    return listed_ones | {each["fact"] for each in timeline["edges"]}


async def test_a_hidden_fact_neither_ends_a_public_one_nor_is_ended_by_it(owner: Person, member: Person) -> None:
    task, shown = await made(owner, "T"), await made(owner, "Open", "epic")
    hidden = await made(member, "Secret", "epic", **PRIVATE)
    first = await add(owner, task, "PART_OF", shown)
    second = await add(member, task, "PART_OF", hidden)
    assert second["ended"] == []
    assert await names(owner, task) == {"Open"}
    assert await names(member, task) == {"Open", "Secret"}
    other = await made(owner, "Other", "epic")
    third = await add(owner, task, "PART_OF", other)
    assert third["ended"] == [first["id"]]
    assert await names(member, task) == {"Other", "Secret"}


async def test_a_fact_does_not_end_where_a_hidden_one_begins(owner: Person, member: Person) -> None:
    task, shown = await made(owner, "T"), await made(owner, "Open", "epic")
    hidden = await made(member, "Secret", "epic", **PRIVATE)
    await add(member, task, "PART_OF", hidden, valid_at="7d")
    for person in (owner, member):
        told = await add(person, task, "PART_OF", shown, valid_at="2025-03")
        assert (told["invalid_at"], told["ended"], told["is_current"]) == (None, [], True)
    private = await made(member, "Mine", "epic", **PRIVATE)
    told = await add(member, task, "PART_OF", private, valid_at="2025-01")
    assert told["is_current"] is False, "what is hidden ends where what all may read begins"
    assert await names(member, task) == {"Open", "Secret"}


async def test_of_containers_that_all_may_read_there_is_one_at_a_time(owner: Person, member: Person) -> None:
    first, second = [await made(owner, name, "project", visibility="org") for name in ("P", "Q")]
    inside = [await made(owner, f"E{each}", "epic", project_id=each) for each in (first, second)]
    tasks = [await made(owner, f"T{each}", project_id=each) for each in (first, second)]
    shared = await made(owner, "E", "epic")
    for name, targets in (("BELONGS_TO", [first, second]), ("PART_OF", [*inside, shared, inside[0]])):
        for person in (owner, member):
            part = await made(person, "part", "note")
            told = [await add(person, part, name, each) for each in targets]
            assert [each["ended"] for each in told] == [[], *([each["id"]] for each in told[:-1])]
            assert [each["id"] for each in await listed(person, part)] == [told[-1]["id"]]
    child = await made(owner, "child", project_id=first)
    parents = [await add(owner, child, "CHILD_OF", each) for each in tasks]
    assert parents[1]["ended"] == [parents[0]["id"]]
    with pytest.raises(InvalidRequest, match=r"metadata\.project_id"):
        await add(owner, child, "BELONGS_TO", second)
    told = await add(owner, child, "PART_OF", inside[0], invalid_at="2999-01-01")
    await add(owner, child, "PART_OF", inside[1], valid_at="2999-02-01")
    await owner.refused("end_relation", Conflict, match="another PART_OF begins", relation_id=told["id"], withdraw=True)
    born = await owner.call("create_entity", name="born", related_to=[f"belongs_to:{first}", f"belongs_to:{second}"])
    assert [each["target_id"] for each in await listed(owner, born["id"])] == [second]


async def test_a_container_in_a_closed_project_ends_none_that_others_may_read(owner: Person, member: Person) -> None:
    shut, other = [await made(owner, name, "project", visibility="private") for name in ("S", "T")]
    shown = await made(owner, "O", "project", visibility="org")
    for old in (shown, other):
        part = await made(owner, "part", "note")
        await add(owner, part, "BELONGS_TO", old)
        assert (await add(owner, part, "BELONGS_TO", shut))["ended"] == []
        assert {each["target_id"] for each in await listed(owner, part)} == {old, shut}
    assert [each["target_id"] for each in await listed(member, part)] == []
    hidden = await add(owner, part, "BELONGS_TO", shown)
    assert len(hidden["ended"]) == 2, "all who may read these may read an open project"
    mine = await made(owner, "mine", "note", **PRIVATE)
    before = await add(owner, mine, "BELONGS_TO", shut)
    assert (await add(owner, mine, "BELONGS_TO", other))["ended"] == [before["id"]], "nobody else reads either"


async def test_a_sentence_says_what_its_ends_are_called_and_not_what_they_were(owner: Person, member: Person) -> None:
    shown = await made(owner, "Open", "note")
    plan = await made(member, "SECRET plan", "note", **PRIVATE)
    await add(member, plan, "ABOUT", shown)
    await member.call("update_entity", entity_id=plan, name="Plan", metadata={"memory_scope": "organization"})
    await caught_up(owner)
    assert await sentences(owner, shown) == await sentences(owner, plan) == {"Plan is about Open"}


async def test_a_supersession_that_begins_later_needs_the_right_to_retire_too(owner: Person, member: Person) -> None:
    project = await made(owner, "P", "project", visibility="org")
    task = await made(owner, "T", project_id=project)
    note = await made(member, "N", "note", **PRIVATE)
    await add(member, note, "SUPERSEDES", task, valid_at=ahead())
    await member.refused("update_entity", Forbidden, entity_id=note, metadata={"memory_scope": "organization"})


async def test_circles_are_found_among_facts_that_begin_later_and_not_among_those_that_are_over(owner: Person) -> None:
    a, b = await made(owner, "A"), await made(owner, "B")
    over: dict[str, Any] = {"valid_at": "30d", "invalid_at": "20d"}
    await add(owner, a, "DEPENDS_ON", b, valid_at=ahead())
    with pytest.raises(InvalidRequest, match=f"{a} -> {b} -> {a}|{b} -> {a} -> {b}"):
        await add(owner, b, "DEPENDS_ON", a)
    await add(owner, b, "DEPENDS_ON", a, **over)


async def test_what_a_field_states_holds_whatever_was_announced_by_hand(owner: Person) -> None:
    ending, beginning = await made(owner, "T"), await made(owner, "U")
    epic = await made(owner, "E", "epic")
    await add(owner, ending, "PART_OF", epic, invalid_at=ahead())
    await add(owner, beginning, "PART_OF", epic, valid_at=ahead())
    for task in (ending, beginning):
        await owner.call("update_entity", entity_id=task, metadata={"epic_id": epic})
        (fact,) = await listed(owner, task, name="PART_OF")
        assert (fact["is_current"], fact["invalid_at"]) == (True, None)


async def test_hours_beyond_measure_are_no_sample(owner: Person) -> None:
    for hours in (10**400, 1e308, float(10**9)):
        done = await made(owner, "Paint the boat", status="done", actual_hours=hours)
        assert done
    task = await made(owner, "Paint the boat")
    await caught_up(owner)
    advice = await owner.call("manage", action="estimate", entity_id=task)
    assert advice["success"] is False
