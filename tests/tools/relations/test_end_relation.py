"""Ends that are announced, changed and taken back, by whoever may; and what was known of them before."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from stores.errors import Conflict, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, caught_up
from tests.tools.relations.test_relations import add, made

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


async def test_a_future_end_is_withdrawn_by_who_may_set_it(owner: Person, member: Person, viewer: Person) -> None:
    a, b = await made(owner, "a", "note"), await made(owner, "b", "note")
    closed, open_one = await add(owner, a, "ABOUT", b), await add(owner, a, "OWNS", b, invalid_at="2999-01-01")
    await owner.call("end_relation", relation_id=closed["id"])
    await owner.refused("end_relation", Conflict, match="has ended", relation_id=closed["id"], withdraw=True)
    with pytest.raises(ValidationFailed, match="withdraw takes an end back"):
        await owner.call("end_relation", relation_id=open_one["id"], withdraw=True, invalid_at="2999-02-02")
    await viewer.refused("end_relation", Forbidden, relation_id=open_one["id"], withdraw=True)
    secret = await made(owner, "secret", "note", memory_scope="private")
    hidden = await add(owner, secret, "ABOUT", b, invalid_at="2999-01-01")
    await member.refused("end_relation", NotFound, relation_id=hidden["id"], withdraw=True)
    kept = await member.call("end_relation", relation_id=open_one["id"], withdraw=True, reason="it goes on")
    assert kept["invalid_at"] is None
    assert kept["provenance"]["withdrawn"] == {"by": member.user_id, "reason": "it goes on"}


@pytest.mark.parametrize("change", [{"withdraw": True}, {"invalid_at": "2999-02-01"}])
async def test_an_end_is_not_put_off_into_a_circle(owner: Person, member: Person, change: dict[str, Any]) -> None:
    a, c = await made(owner, "a", "note"), await made(owner, "c", "note")
    hidden = await made(owner, "b", "note", memory_scope="private")
    fact = await add(owner, a, "CHILD_OF", hidden, invalid_at="2999-01-01")
    await add(owner, hidden, "CHILD_OF", c)
    await add(member, c, "CHILD_OF", a)
    with pytest.raises(InvalidRequest, match=f"{a} -> {hidden} -> {c} -> {a}"):
        await owner.call("end_relation", relation_id=fact["id"], **change)
    await owner.call("end_relation", relation_id=fact["id"], invalid_at="2998-01-01")
