"""Who may read a relation follows from who may read its two ends, now and then; the facts stay as they were."""

from typing import Any

import pytest

from stores.errors import Forbidden
from stores.records import Relation
from tests.people import Person, caught_up
from tests.stores.ledger.samples import relations_of

pytestmark = pytest.mark.anyio

PRIVATE = {"memory_scope": "private"}
OPEN = {"memory_scope": "organization"}


async def note(person: Person, name: str, **fields: Any) -> str:
    return str((await person.call("create_entity", name=name, content="walrus", sync=True, **fields))["id"])


async def found(person: Person, **fields: Any) -> tuple[set[str], int]:
    fields |= {"query": "walrus", "types": ["episode"], "limit": 50, "include_retrieval_diagnostics": True}
    answer = await person.call("search", **fields)
    dropped = answer["filters"]["graph_retrieval"]["lifecycle_gate"]["superseded_dropped"]
    return {hit["id"] for hit in answer["results"]}, dropped


async def related(person: Person, entity_id: str) -> set[str]:
    return {each["id"] for each in (await person.call("get_entity", entity_id=entity_id))["related"]}


async def walked(person: Person, entity_id: str) -> set[str]:
    explored = await person.call("explore", mode="related", entity_id=entity_id)
    expanded = await person.call("expand_neighbors", entity_ids=[entity_id])
    names = {each["id"] for each in explored["entities"]}
    assert names == {each["id"] for each in expanded["results"][0]["neighbors"]}
    return names


def relations(person: Person, entity_id: str) -> list[Relation]:
    return relations_of(person.app.ledger, person.organization_id, entity_id, history=True)


async def test_a_draft_that_is_opened_retires_what_it_supersedes_for_everybody(owner: Person, member: Person) -> None:
    old = await note(owner, "X")
    draft = await note(member, "Y", related_to=[f"supersedes:{old}"], metadata=PRIVATE)
    assert await found(owner) == ({old}, 0)
    assert await found(member) == ({draft}, 1)
    before = relations(member, draft)
    await member.call("update_entity", entity_id=draft, metadata=OPEN)
    await caught_up(member)
    for person in (owner, member):
        assert await found(person) == ({draft}, 1)
        assert await related(person, old) == {draft}
        assert await related(person, draft) == {old}
        assert await walked(person, old) == {draft}
    after = relations(member, draft)
    assert [(each.visibility, other.visibility) for each, other in zip(before, after, strict=True)] == [
        (f"private:{member.user_id}", "organization")
    ]
    times = [(each.id, each.fact, each.created_at, each.expired_at, each.valid_at, each.invalid_at) for each in before]
    assert times == [
        (each.id, each.fact, each.created_at, each.expired_at, each.valid_at, each.invalid_at) for each in after
    ]


async def test_a_record_that_is_hidden_retires_nothing_for_others_any_more(owner: Person, member: Person) -> None:
    old = await note(member, "X")
    new = await note(owner, "Y", related_to=[f"supersedes:{old}"])
    assert await found(member) == ({new}, 1)
    await owner.call("update_entity", entity_id=new, metadata=PRIVATE)
    await caught_up(member)
    assert await found(member) == ({old}, 0)
    assert await related(member, old) == await walked(member, old) == set()
    assert await found(owner) == ({new}, 1)
    assert await related(owner, old) == await walked(owner, old) == {new}
    assert [each.visibility for each in relations(owner, new)] == [f"private:{owner.user_id}"]


async def test_a_target_that_is_hidden_and_shown_again_takes_its_relations_along(owner: Person, member: Person) -> None:
    target = await note(member, "T")
    linked = await note(owner, "L", related_to=[target])
    await member.call("update_entity", entity_id=target, metadata=PRIVATE)
    await caught_up(member)
    assert await related(owner, linked) == await walked(owner, linked) == set()
    assert await related(member, target) == await walked(member, target) == {linked}
    await member.call("update_entity", entity_id=target, metadata=OPEN)
    await caught_up(member)
    assert await related(owner, linked) == await walked(owner, linked) == {target}


async def test_the_chunks_of_a_source_take_their_relations_along(owner: Person, member: Person) -> None:
    page = [{"url": "u", "content": "walrus"}]
    source = (await owner.call("ingest_documents", source_name="S", documents=page, sync=True))["source_id"]
    chunk = (await owner.call("list_entities", entity_type="document"))["entities"][0]["id"]
    linked = await note(member, "L", related_to=[chunk])
    await owner.call("update_entity", entity_id=source, metadata=PRIVATE)
    assert await related(member, linked) == set()
    assert await related(owner, linked) == {chunk}
    await owner.call("update_entity", entity_id=source, metadata=OPEN)
    assert await related(member, linked) == {chunk}


async def test_nobody_retires_by_opening_a_draft_what_they_may_not_change(owner: Person, member: Person) -> None:
    project = (await owner.call("create_entity", name="P", entity_type="project"))["id"]
    old = await note(owner, "X", metadata={"project_id": project})
    draft = await note(member, "Y", related_to=[f"supersedes:{old}"], metadata=PRIVATE)
    await member.refused("update_entity", Forbidden, match=old, entity_id=draft, metadata=OPEN)
    assert await found(owner) == ({old}, 0)
    await owner.call("update_entity", entity_id=project, metadata={"visibility": "private"})
    await member.call("update_entity", entity_id=draft, metadata=OPEN)
    await caught_up(member)
    assert await found(owner) == ({old, draft}, 0), "what the author cannot see, it does not retire"
    await owner.call("update_entity", entity_id=old, metadata={"project_id": None, "memory_scope": "organization"})
    assert await found(owner) == ({old, draft}, 0), "nor when it comes into sight"


async def test_the_past_is_retired_by_what_was_readable_then(owner: Person, member: Person) -> None:
    old = await note(owner, "X")
    draft = await note(member, "Y", related_to=[f"supersedes:{old}"], metadata=PRIVATE)
    while_hidden = owner.app.clock().isoformat()
    await member.call("update_entity", entity_id=draft, metadata=OPEN)
    while_open = owner.app.clock().isoformat()
    await caught_up(member)
    assert await found(owner, as_of=while_hidden) == ({old}, 0)
    assert await found(member, as_of=while_hidden) == ({draft}, 1)
    assert await found(owner, as_of=while_open) == ({draft}, 1)
    await member.call("update_entity", entity_id=draft, metadata=PRIVATE)
    await caught_up(member)
    assert await found(owner, as_of=while_open) == ({old}, 0)
    assert await found(member, as_of=while_open) == ({draft}, 1)
