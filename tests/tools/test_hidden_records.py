"""What a caller may not read answers as what does not exist does, to the letter, and takes nothing from others."""

from typing import Any

import pytest

from stores.errors import Conflict, EngrainError
from tests.people import Person

pytestmark = pytest.mark.anyio

PRIVATE = {"memory_scope": "private"}


async def refusal(person: Person, operation: str, hidden: str, /, **fields: Any) -> tuple[Any, ...]:
    error = await person.refused(operation, EngrainError, **fields)
    said = (type(error), error.code, error.message, error.remediation, str(error.details))
    return tuple(part.replace(hidden, "<id>") if isinstance(part, str) else part for part in said)


def calls(entity_id: str, seen: str) -> list[tuple[str, dict[str, Any]]]:
    named: dict[str, Any] = {"entity_id": entity_id}
    return [
        ("update_entity", named | {"name": "h", "idempotency_key": "again"}),
        ("update_entity", named | {"name": "h", "idempotency_key": "again"}),
        ("delete_entity", named),
        ("get_entity", named),
        ("fetch_slice", named),
        ("fetch_slice", named | {"project": "p"}),
        ("expand_neighbors", {"entity_ids": [entity_id]}),
        ("explore", {"mode": "related", **named}),
        ("explore", {"mode": "traverse", "depth": 3, **named}),
        ("explore", {"mode": "dependencies", **named}),
        ("add", {"title": "x", "content": "x", "entity_type": "task", "depends_on": [entity_id]}),
        ("create_entity", {"name": "x", "entity_type": "task", "metadata": {"epic_id": entity_id}}),
        ("create_entity", {"name": "x", "entity_type": "task", "metadata": {"parent_task_id": entity_id}}),
        ("add_relation", {"source_id": seen, "name": "ABOUT", "target_id": entity_id}),
        ("add_relation", {"source_id": seen, "name": "SUPERSEDES", "target_id": entity_id}),
        ("bulk_relations", {"relations": [{"source_id": seen, "name": "ABOUT", "target_id": entity_id}]}),
        ("list_relations", {"entity_id": entity_id}),
        ("ingest_documents", {"source_id": entity_id, "documents": [{"url": "u", "content": "c"}]}),
    ]


async def hidden_ids(author: Person) -> list[tuple[str, str]]:
    note = (await author.call("create_entity", name="n", entity_type="note", metadata=PRIVATE))["id"]
    task = (await author.call("create_entity", name="t", entity_type="task", metadata=PRIVATE))["id"]
    page = [{"url": "u", "content": "words"}]
    source = (await author.call("ingest_documents", source_name="S", documents=page))["source_id"]
    chunk = (await author.call("list_entities", entity_type="document"))["entities"][0]["id"]
    await author.call("update_entity", entity_id=source, metadata=PRIVATE)
    unknown = "00000000-0000-4000-8000-000000000000"
    return [(note, "note_000000000000"), (task, unknown), (source, "source_000000000000"), (chunk, unknown)]


async def test_a_hidden_record_answers_as_an_unknown_one(owner: Person, member: Person) -> None:
    seen = (await owner.call("create_entity", name="seen"))["id"]
    for hidden, unknown in await hidden_ids(member):
        for (operation, fields), (_, others) in zip(calls(hidden, seen), calls(unknown, seen), strict=True):
            said = await refusal(owner, operation, hidden, **fields)
            assert said == await refusal(owner, operation, unknown, **others), (operation, fields)
        assert (await member.call("get_entity", entity_id=hidden))["id"] == hidden


async def test_an_answer_is_repeated_no_longer_than_its_records_are_readable(owner: Person, member: Person) -> None:
    said = []
    withdrawals: dict[str, dict[str, Any]] = {"update_entity": {"metadata": PRIVATE}, "delete_entity": {}}
    for operation, fields in withdrawals.items():
        made = (await owner.call("create_entity", name="once"))["id"]
        write: dict[str, Any] = {"entity_id": made, "name": "changed", "idempotency_key": made}
        assert not (await member.run("update_entity", **write)).replayed
        assert (await member.run("update_entity", **write)).replayed
        await owner.call(operation, entity_id=made, **fields)
        said.append(await refusal(member, "update_entity", made, **write))
    assert said[0] == said[1]
    assert said[0][0] is Conflict
    assert "was carried out" in said[0][2]
    assert "was deleted or may not be read by you any more" in said[0][2]
    assert "with a new key" in said[0][3]


async def test_a_hidden_source_is_no_source_that_a_search_could_name(owner: Person, member: Person) -> None:
    await hidden_ids(member)
    said = []
    for name in ("S", "nobody's"):
        for field in ("source", "source_name"):
            found = await owner.call("search", query="words", **{field: name}, include_retrieval_diagnostics=True)
            said.append((found["total"], sorted(found["filters"].keys() - {field})))
    assert said[:2] == said[2:]


async def test_hidden_neighbours_take_no_place_among_those_that_are_shown(owner: Person, member: Person) -> None:
    hub = (await owner.call("create_entity", name="Hub"))["id"]
    near = (await owner.call("create_entity", name="near", related_to=[hub]))["id"]
    notes = [{"name": f"n{i}", "related_to": [hub], "metadata": PRIVATE} for i in range(60)]
    await member.call("bulk_create_entities", entities=notes)
    for limit in (1, 5, 50):
        read = await owner.call("get_entity", entity_id=hub, related_limit=limit)
        assert [each["id"] for each in read["related"]] == [near]
    assert len((await member.call("get_entity", entity_id=hub, related_limit=50))["related"]) == 50
    moved = (await member.call("create_entity", name="moved", related_to=[hub]))["id"]
    assert len((await owner.call("get_entity", entity_id=hub, related_limit=2))["related"]) == 2
    await member.call("update_entity", entity_id=moved, metadata=PRIVATE)
    read = await owner.call("get_entity", entity_id=hub, related_limit=1)
    assert [each["id"] for each in read["related"]] == [near]
