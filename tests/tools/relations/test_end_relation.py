"""Ends that are announced, changed and taken back, by whoever may; and what was known of them before."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from stores.errors import Conflict, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, caught_up
from tests.tools.relations.test_relations import add, listed, made

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)


async def ends(person: Person, **asked: Any) -> list[str | None]:
    answer = await person.call("temporal", **asked)
    return [edge["invalid_at"] and edge["invalid_at"][:10] for edge in answer["edges"]]


async def test_an_announced_end_is_changed_and_taken_back_and_what_was_believed_stays(owner: Person) -> None:
    a, b = await made(owner, "a", "note"), await made(owner, "b", "note")
    fact = await add(owner, a, "ABOUT", b, invalid_at="2999-01-01")
    moments = [owner.app.clock()]
    for change in ({"invalid_at": "2999-02-02", "reason": "later"}, {"withdraw": True}, {"invalid_at": "2999-03-03"}):
        changed = await owner.call("end_relation", relation_id=fact["id"], **change)
        assert changed["is_current"]
        assert changed["ended"] == ([] if "withdraw" in change else [fact["id"]])
        moments.append(owner.app.clock())
    await owner.call("end_relation", relation_id=fact["id"])
    announced = ["2999-01-01", "2999-02-02", None, "2999-03-03"]
    for mode in ("history", "timeline"):
        assert [(await ends(owner, mode=mode, as_of=at.isoformat()))[0] for at in moments] == announced
        assert [(await ends(owner, mode=mode, known_at=at.isoformat()))[0] for at in moments] == announced
    assert await ends(owner) == []
    (edge,) = (await owner.call("temporal", mode="timeline", as_of=moments[2].isoformat()))["edges"]
    assert (edge["expired_at"], edge["is_current"]) == (None, False), "as it was known then, and what is so today"
    assert [each["invalid_at"] and each["invalid_at"][:10] for each in edge["earlier_ends"]] == announced[:2]
    (edge,) = (await owner.call("temporal", mode="timeline"))["edges"]
    former = edge["earlier_ends"]
    assert [each["invalid_at"] and each["invalid_at"][:10] for each in former] == announced
    assert [each["known_to"] for each in former[:-1]] == [each["known_from"] for each in former[1:]]
    assert (former[0]["known_from"], former[-1]["known_to"]) == (fact["created_at"], edge["expired_at"])
    await caught_up(owner)


async def test_a_search_as_of_a_moment_follows_the_links_that_were_believed_then(owner: Person) -> None:
    walrus, stone = await made(owner, "walrus", "note"), await made(owner, "granite", "note")
    fact = await add(owner, walrus, "ABOUT", stone, sync=True)
    linked = owner.app.clock()
    await owner.call("end_relation", relation_id=fact["id"], invalid_at=fact["valid_at"])

    async def found(as_of: datetime | None) -> bool:
        given = {"as_of": as_of.isoformat()} if as_of else {}
        hits = (await owner.call("search", query="walrus", **given))["results"]
        return any(hit["id"] == stone and "graph" in hit["metadata"]["retrieval_signals"] for hit in hits)

    assert [await found(as_of) for as_of in (linked, owner.app.clock(), None)] == [True, False, False]
    assert len((await owner.call("temporal", entity_id=walrus, as_of=linked.isoformat()))["edges"]) == 1


async def test_an_end_is_taken_back_by_who_may_give_it_and_while_it_lies_ahead(
    owner: Person, member: Person, viewer: Person
) -> None:
    a, b = await made(owner, "a", "note"), await made(owner, "b", "note")
    closed, open_one = await add(owner, a, "ABOUT", b), await add(owner, a, "OWNS", b, invalid_at="2999-01-01")
    await owner.call("end_relation", relation_id=closed["id"])
    with pytest.raises(Conflict, match="has ended"):
        await owner.call("end_relation", relation_id=closed["id"], withdraw=True)
    with pytest.raises(ValidationFailed, match="withdraw takes an end back"):
        await owner.call("end_relation", relation_id=open_one["id"], withdraw=True, invalid_at="2999-02-02")
    with pytest.raises(Forbidden):
        await viewer.call("end_relation", relation_id=open_one["id"], withdraw=True)
    secret = await made(owner, "secret", "note", memory_scope="private")
    hidden = await add(owner, secret, "ABOUT", b, invalid_at="2999-01-01")
    with pytest.raises(NotFound):
        await member.call("end_relation", relation_id=hidden["id"], withdraw=True)
    kept = await member.call("end_relation", relation_id=open_one["id"], withdraw=True, reason="it goes on")
    assert kept["invalid_at"] is None
    assert kept["provenance"]["withdrawn"] == {"by": member.user_id, "reason": "it goes on"}


async def test_an_end_where_the_next_one_begins_stays_while_that_is_to_come(owner: Person) -> None:
    part, one, two = (
        await made(owner, "part", "artifact"),
        await made(owner, "1", "topic"),
        await made(owner, "2", "topic"),
    )
    first = await add(owner, part, "PART_OF", one)
    second = await add(owner, part, "PART_OF", two, valid_at="2999-01-01")
    with pytest.raises(Conflict, match="another PART_OF begins"):
        await owner.call("end_relation", relation_id=first["id"], withdraw=True)
    await owner.call("end_relation", relation_id=second["id"], invalid_at=second["valid_at"])
    await owner.call("end_relation", relation_id=first["id"], withdraw=True)
    assert [(each["id"], each["invalid_at"]) for each in await listed(owner, part)] == [(first["id"], None)]


@pytest.mark.parametrize("name", ["DEPENDS_ON", "CHILD_OF", "SUPERSEDES", "PART_OF", "ABOUT"])
async def test_what_has_ended_by_itself_is_answered_as_it_is_and_never_holds_again(owner: Person, name: str) -> None:
    a, b = await made(owner, "a"), await made(owner, "b")
    fact = await add(owner, a, name, b, valid_at="30d", invalid_at="20d")
    await add(owner, *((a, name, await made(owner, "c")) if name == "PART_OF" else (b, name, a)))
    for until in ({}, {"invalid_at": "2999-01-01"}, {"invalid_at": "10d"}, {"invalid_at": "25d"}):
        answer = await owner.call("end_relation", relation_id=fact["id"], **until)
        times = ("valid_at", "invalid_at", "expired_at", "is_current", "provenance")
        assert {key: answer[key] for key in times} == {key: fact[key] for key in times}
    with pytest.raises(Conflict, match="has ended"):
        await owner.call("end_relation", relation_id=fact["id"], withdraw=True)
    moment = owner.app.clock() - 5 * DAY
    held = (await owner.call("temporal", entity_id=a, as_of=moment.isoformat(), known_at="0d"))["edges"]
    assert fact["id"] not in {each["id"] for each in held}


async def test_an_end_is_not_put_off_beyond_the_next_one(owner: Person) -> None:
    part, one, two = [await made(owner, name, "topic") for name in ("part", "1", "2")]
    first = await add(owner, part, "PART_OF", one, invalid_at="2999-01-01")
    second = await add(owner, part, "PART_OF", two, valid_at="2999-02-01", invalid_at="2999-05-01")
    for change in ({"invalid_at": "2999-02-02"}, {"withdraw": True}):
        with pytest.raises(Conflict, match="another PART_OF begins"):
            await owner.call("end_relation", relation_id=first["id"], **change)
    for until in ("2998-12-01", "2999-02-01"):
        put = await owner.call("end_relation", relation_id=first["id"], invalid_at=until)
        assert put["invalid_at"][:10] == until
    for until in ("2999-04-01", "2999-06-01"):
        put = await owner.call("end_relation", relation_id=second["id"], invalid_at=until)
        assert put["invalid_at"][:10] == until


@pytest.mark.parametrize("change", [{"withdraw": True}, {"invalid_at": "2999-02-01"}])
async def test_an_end_is_not_put_off_where_that_closes_a_circle(
    owner: Person, member: Person, change: dict[str, Any]
) -> None:
    a, c = await made(owner, "a", "note"), await made(owner, "c", "note")
    hidden = await made(owner, "b", "note", memory_scope="private")
    fact = await add(owner, a, "CHILD_OF", hidden, invalid_at="2999-01-01")
    await add(owner, hidden, "CHILD_OF", c)
    await add(member, c, "CHILD_OF", a)
    with pytest.raises(InvalidRequest, match=f"{a} -> {hidden} -> {c} -> {a}"):
        await owner.call("end_relation", relation_id=fact["id"], **change)
    await owner.call("end_relation", relation_id=fact["id"], invalid_at="2998-01-01")


async def test_a_fact_told_last_moves_what_was_stated_once_and_is_so_again(owner: Person) -> None:
    first, second, between = [await made(owner, name, "epic") for name in ("e", "f", "g")]
    task = await made(owner, "t", epic_id=first)
    await owner.call("update_entity", entity_id=task, metadata={"epic_id": second})
    (begun,) = [each for each in await listed(owner, task, include_expired=True) if each["target_id"] == first]
    await owner.call("update_entity", entity_id=task, metadata={"epic_id": first})
    told = await add(owner, task, "PART_OF", between, valid_at=begun["valid_at"])
    assert told["ended"] == [begun["id"]], "what the field states today is another fact"
    with pytest.raises(InvalidRequest):
        await owner.call("end_relation", relation_id=(await listed(owner, task))[0]["id"])
