"""Relations by hand: recorded, replaced, ended and listed, with their four times and under the rights of their ends."""

from typing import Any

import pytest

from stores.errors import Conflict, EngrainError, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, caught_up
from tests.tools.records.test_containment import PRIVATE, made
from tests.tools.test_record_scopes import field_of

pytestmark = pytest.mark.anyio


async def add(person: Person, source: str, name: str, target: str, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await person.call(
        "add_relation", source_id=source, name=name, target_id=target, **{"sync": False, **fields}
    )
    return answer


async def listed(person: Person, entity_id: str, **fields: Any) -> list[dict[str, Any]]:
    page = await person.call("list_relations", entity_id=entity_id, **fields)
    assert page["total"] == len(page["relations"])
    return list(page["relations"])


def edges(relations: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {(each["source_id"], each["name"], each["target_id"]) for each in relations}


async def test_a_fact_is_recorded_listed_walked_and_ended(owner: Person) -> None:
    a, b = await made(owner, "A", "note"), await made(owner, "B", "note")
    fact = await add(owner, a, "requires", b, reason="the manual says so", sync=True)
    assert (fact["fact"], fact["source_name"], fact["target_name"]) == ("A requires B", "A", "B")
    assert fact["provenance"] == {"from": "relations", "reason": "the manual says so"}
    assert (fact["is_current"], fact["is_new"], fact["created_at"]) == (True, True, fact["valid_at"])
    assert fact["mutation_receipt"]["affected_records"] == [f"relation:{fact['id']}"]
    walked = await owner.call("explore", mode="related", entity_id=b)
    assert [(each["id"], each["direction"]) for each in walked["entities"]] == [(a, "incoming")]
    again = await add(owner, a, "REQUIRES", b)
    assert (again["id"], again["is_new"]) == (fact["id"], False)
    for entity_id, direction, count in ((a, "outgoing", 1), (a, "incoming", 0), (b, "incoming", 1), (b, "both", 1)):
        assert len(await listed(owner, entity_id, direction=direction)) == count
    assert await listed(owner, a, name="blocks") == []
    ended = await owner.call("end_relation", relation_id=fact["id"], reason="it changed")
    assert ended["expired_at"] == ended["invalid_at"] != ended["valid_at"]
    assert ended["provenance"]["ended"] == {"by": owner.user_id, "reason": "it changed"}
    assert await listed(owner, a) == []
    assert [each["id"] for each in await listed(owner, a, include_expired=True)] == [fact["id"]]
    assert (await owner.call("explore", mode="related", entity_id=b))["entities"] == []
    repeated = await owner.call("end_relation", relation_id=fact["id"], invalid_at="2020-01-01")
    assert repeated["invalid_at"] == ended["invalid_at"], "what has ended stays as it is"
    await caught_up(owner)


async def test_dates_have_every_form_and_make_sense(owner: Person) -> None:
    a, b = await made(owner, "A", "note"), await made(owner, "B", "note")
    past = await add(owner, a, "OWNS", b, valid_at="2020-01-01T00:00:00+02:00", invalid_at="2021-01-01")
    assert (past["valid_at"], past["invalid_at"]) == ("2019-12-31T22:00:00Z", "2021-01-01T00:00:00Z")
    assert (past["is_current"], past["expired_at"]) == (False, None)
    assert (await add(owner, a, "OWNS", b, valid_at="2019-12-31T22:00:00Z", invalid_at="2021-01-01"))["is_new"] is False
    present = await add(owner, a, "OWNS", b, valid_at="2w")
    assert (present["is_current"], present["is_new"]) == (True, True), "the same fact about another time"
    assert (await add(owner, a, "OWNS", b))["id"] == present["id"]
    future = await add(owner, b, "OWNS", a, valid_at="2999-01-01")
    assert future["is_current"] is False
    assert edges(await listed(owner, a)) == {(a, "OWNS", b)}
    assert len(await listed(owner, a, include_expired=True)) == 3
    announced = await owner.call("end_relation", relation_id=present["id"], invalid_at="2999-01-01")
    assert (announced["is_current"], announced["expired_at"]) == (True, None)
    never = await owner.call("end_relation", relation_id=future["id"], invalid_at="2999-01-01")
    assert never["invalid_at"] == never["valid_at"]
    assert never["expired_at"] is not None
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"valid_at": "yesterday"}, "body.valid_at"),
        ({"invalid_at": "2020-02-30"}, "body.invalid_at"),
        ({"valid_at": "2020-01-02", "invalid_at": "2020-01-02"}, "body.invalid_at"),
        ({"invalid_at": "7d"}, "body.invalid_at"),
    ]
    for fields, field in wrong:
        with pytest.raises(ValidationFailed) as refused:
            await add(owner, a, "ABOUT", b, **fields)
        assert field_of(refused.value) == field
    with pytest.raises(ValidationFailed, match="before the beginning"):
        await owner.call("end_relation", relation_id=present["id"], invalid_at="2001-01-01")


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ("a03- b06-", "a03-06 b06-"), ("b06- a03-", "a03-06 b06-"), ("b06- a03- a03-", "a03-06 b06-"),
        ("b06- a03-09", "a03-06 b06-"), ("b06- a03-04", "a03-04 b06-"), ("a03- b06- c08-", "a03-06 b06-08 c08-"),
        ("b06- a03- c08-", "a03-06 b06-08 c08-"), ("b06- c08- a03-", "a03-06 b06-08 c08-"),
        ("c08- b06- a03-", "a03-06 b06-08 c08-"), ("a08- b06- a03-", "a03-06 a08- b06-08"),
        ("c08- b04-05 a03-", "a03-08 b04-05 c08-"), ("a03- c08- b06-", "a03-06 b06-08 c08-"),
        ("c08- a03- b06-", "a03-06 b06-08 c08-"),
        ("a03- c08- a05- b06-", "a03-06 a05-06 b06-08 c08-"),
        # What is said to have ended moves nothing: it does not say what was true afterwards.
        ("a03- c08- b06-07", "a03-08 b06-07 c08-"),
    ],
)  # fmt: skip
async def test_facts_come_out_the_same_in_whichever_order_they_are_told(owner: Person, told: str, known: str) -> None:
    part = await made(owner, "part", "artifact")
    topics = {name: await made(owner, name, "topic") for name in "abc"}
    for fact in told.split():
        since, _, until = fact[1:].partition("-")
        dates = {"valid_at": f"2025-{since}"} | ({"invalid_at": f"2025-{until}"} if until else {})
        await add(owner, part, "PART_OF", topics[fact[0]], **dates)
    facts = await listed(owner, part, include_expired=True)
    spans = [f"{each['target_name']}{each['valid_at'][5:7]}-{(each['invalid_at'] or '')[5:7]}" for each in facts]
    assert sorted(spans) == known.split()
    (current,) = await listed(owner, part)
    assert current["valid_at"] == max(each["valid_at"] for each in facts)
    await caught_up(owner)


async def test_what_a_field_states_is_ended_by_the_field_alone(owner: Person) -> None:
    epic, other = await made(owner, "e", "epic"), await made(owner, "o", "epic")
    task = await made(owner, "t", epic_id=epic)
    [stated] = await listed(owner, task)
    for refusal in (owner.call("end_relation", relation_id=stated["id"]), add(owner, task, "PART_OF", other)):
        with pytest.raises(InvalidRequest, match=r"metadata\.epic_id"):
            await refusal
    assert (await add(owner, task, "PART_OF", epic))["id"] == stated["id"]
    first = await made(owner, "first")
    by_hand = await add(owner, task, "DEPENDS_ON", first)
    await owner.call("update_entity", entity_id=task, metadata={"depends_on": [first]})
    await owner.refused("end_relation", InvalidRequest, match=r"metadata\.depends_on", relation_id=by_hand["id"])
    await owner.call("update_entity", entity_id=task, metadata={"depends_on": [], "epic_id": None})
    assert await listed(owner, task) == []


async def test_circles_of_work_and_supersession_are_refused_and_others_are_not(owner: Person) -> None:
    a, b = await made(owner, "a"), await made(owner, "b")
    await add(owner, a, "DEPENDS_ON", b)
    with pytest.raises(InvalidRequest, match=f"{b} -> {a} -> {b}"):
        await add(owner, b, "DEPENDS_ON", a)
    x, y = await made(owner, "x", "artifact"), await made(owner, "y", "artifact")
    for source, target in ((x, y), (y, x)):
        await add(owner, source, "DEPENDS_ON", target)
    await add(owner, x, "SUPERSEDES", y)
    with pytest.raises(InvalidRequest, match=f"{y} -> {x} -> {y}"):
        await add(owner, y, "SUPERSEDES", x)
    with pytest.raises(InvalidRequest, match="not related to itself"):
        await add(owner, x, "ABOUT", x)
    await caught_up(owner)
    found = await owner.call("explore", mode="dependencies", entity_id=y)
    assert {(each["id"], each["direction"]) for each in found["entities"]} == {(x, "outgoing"), (x, "incoming")}


async def test_a_fact_needs_two_readable_ends_and_a_source_to_write(owner: Person, member: Person) -> None:
    mine, hidden = await made(member, "m", "note"), await made(owner, "h", "note", **PRIVATE)
    for source, target in ((mine, hidden), (hidden, mine), (mine, "nowhere"), ("nowhere", mine)):
        with pytest.raises(NotFound):
            await add(member, source, "ABOUT", target)
    project = await made(owner, "P", "project")
    within = await made(owner, "w", "note", project_id=project)
    with pytest.raises(Forbidden):
        await add(member, within, "ABOUT", mine)
    with pytest.raises(Forbidden):
        await add(member, mine, "SUPERSEDES", within)
    await add(member, mine, "ABOUT", within)
    fact = await add(owner, within, "ABOUT", mine)
    await member.refused("end_relation", Forbidden, relation_id=fact["id"])
    secret = await add(owner, hidden, "ABOUT", mine)
    await member.refused("end_relation", NotFound, relation_id=secret["id"])
    assert edges(await listed(member, mine)) == {(mine, "ABOUT", within), (within, "ABOUT", mine)}
    assert len(await listed(owner, mine)) == 3
    await member.refused("list_relations", NotFound, entity_id=hidden)


async def test_who_may_read_a_fact_follows_its_ends(owner: Person, member: Person) -> None:
    a, b = await made(owner, "a", "note"), await made(member, "b", "note")
    await add(owner, a, "ABOUT", b)
    for scope, count in (("private", 0), ("organization", 1)):
        await owner.call("update_entity", entity_id=a, metadata={"memory_scope": scope})
        assert len(await listed(member, b)) == count
    await owner.call("delete_entity", entity_id=a)
    assert await listed(member, b, include_expired=True) == []


async def test_many_facts_are_recorded_together_or_not_at_all(owner: Person) -> None:
    ids = [await made(owner, name, "note") for name in "abcd"]
    facts = [
        {"source_id": source, "name": "REFERENCES", "target_id": target}
        for source in ids
        for target in ids
        if source != target
    ]
    broken = [*facts, {"source_id": ids[0], "name": "ABOUT", "target_id": "nowhere"}]
    head = owner.app.ledger.feed.head(owner.organization_id)
    refused = await owner.refused("bulk_relations", NotFound, relations=broken)
    assert field_of(refused) == "body.relations.12.target_id"
    invalid = await owner.refused("bulk_relations", ValidationFailed, relations=[{**facts[0], "invalid_at": "7d"}])
    assert field_of(invalid) == "body.relations.0.invalid_at"
    assert owner.app.ledger.feed.head(owner.organization_id) == head
    stored = await owner.call("bulk_relations", relations=[*facts, facts[0]], sync=True)
    assert (stored["total"], stored["new"], len(set(stored["relation_ids"]))) == (13, 12, 12)
    assert stored["relation_ids"][0] == stored["relation_ids"][12]
    walked = await owner.call("explore", mode="related", entity_id=ids[0])
    assert {each["id"] for each in walked["entities"]} == set(ids[1:])
    assert (await owner.call("bulk_relations", relations=facts))["new"] == 0
    moved = [{"source_id": ids[0], "name": "PART_OF", "target_id": target} for target in ids[1:]]
    await owner.call("bulk_relations", relations=moved)
    assert edges(await listed(owner, ids[0], name="PART_OF")) == {(ids[0], "PART_OF", ids[3])}
    await caught_up(owner)


async def test_a_list_is_paged_and_says_when_there_is_more(owner: Person) -> None:
    hub = await made(owner, "hub", "note")
    spokes = [{"name": f"n{number}", "related_to": [hub]} for number in range(7)]
    await owner.call("bulk_create_entities", entities=spokes)
    seen: list[str] = []
    for offset, more in ((0, True), (3, True), (6, False)):
        page = await owner.call("list_relations", entity_id=hub, limit=3, offset=offset)
        assert (page["total"], page["has_more"]) == (7, more)
        seen += [each["id"] for each in page["relations"]]
    assert len(set(seen)) == 7


async def test_a_repeated_request_is_applied_once_and_its_answer_goes_with_its_ends(owner: Person) -> None:
    a, b = await made(owner, "a", "note"), await made(owner, "b", "note")
    write = {"source_id": a, "name": "ABOUT", "target_id": b, "idempotency_key": "once"}
    first = (await owner.run("add_relation", **write)).body()
    await owner.call("end_relation", relation_id=first["id"])
    repeated = await owner.run("add_relation", **write)
    assert (repeated.replayed, repeated.body()["id"]) == (True, first["id"])
    assert await listed(owner, a) == []
    await owner.call("delete_entity", entity_id=b)
    await owner.refused("add_relation", Conflict, **write)


@pytest.mark.parametrize("name", ["KNOWS", "", "related"])
async def test_an_unknown_relationship_is_refused(owner: Person, name: str) -> None:
    a, b = await made(owner, "a", "note"), await made(owner, "b", "note")
    with pytest.raises(EngrainError) as refused:
        await add(owner, a, name, b)
    assert refused.value.code == "validation_error"
