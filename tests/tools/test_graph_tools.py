from typing import Any

import pytest

from stores.errors import NotFound, ValidationFailed
from tests.people import Person

pytestmark = pytest.mark.anyio


async def chain(person: Person) -> list[str]:
    ids: list[str] = []
    for name in "ABCD":
        link = [f"depends_on:{ids[-1]}"] if ids else None
        made = await person.call("create_entity", name=name, content=f"Text {name}", related_to=link, sync=True)
        ids.append(made["id"])
    return ids


async def test_a_walk_goes_through_the_filters_of_a_list(owner: Person) -> None:
    hub = (await owner.call("create_entity", name="hub"))["id"]
    project = (await owner.call("create_entity", name="P", entity_type="project", related_to=[hub]))["id"]
    within = {"project_id": project}
    epic = (await owner.call("create_entity", name="E", entity_type="epic", metadata=within, related_to=[hub]))["id"]
    tasks: list[dict[str, Any]] = [
        {"status": "doing", "priority": "high", "project_id": project, "epic_id": epic, "complexity": "simple"},
        {"status": "todo", "priority": "low", "project_id": project, "feature": "Tea"},
        {"status": "archived", "epic_id": epic, "feature": "coffee"},
    ]
    for number, metadata in enumerate(tasks):
        await owner.call("create_entity", name=f"t{number}", entity_type="task", metadata=metadata, related_to=[hub])
    note = {"name": "n", "entity_type": "note", "category": "Cafe\u0301", "languages": ["Python"], "tags": ["Warm"]}
    await owner.call("create_entity", **note, related_to=[hub])
    odd = {"status": "Archived", "epic_id": 7}
    await owner.call("create_entity", name="odd", metadata=odd, related_to=[hub], sync=True)
    filters: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {"P", "E", "t0", "t1", "n"}), ({"types": ["task", "note"]}, {"t0", "t1", "n"}),
        ({"language": "python"}, {"n"}), ({"category": "CAF\u00c9"}, {"n"}), ({"tags": "cold, warm"}, {"n"}),
        ({"project": project}, {"E", "t0", "t1"}), ({"project_ids": [project]}, {"E", "t0", "t1"}),
        ({"epic": epic}, {"t0"}), ({"no_epic": True, "types": ["task", "episode"], "include_archived": True}, {"t1"}),
        ({"no_epic": True}, {"t1"}), ({"no_epic": True, "types": ["note", "epic"]}, set()),
        ({"complexity": "SIMPLE"}, {"t0"}), ({"feature": "tea"}, {"t1"}), ({"status": "Doing,todo"}, {"t0", "t1"}),
        ({"status": "ARCHIVED"}, {"t2", "odd"}), ({"priority": "high"}, {"t0"}),
        ({"include_archived": True, "types": ["task"]}, {"t0", "t1", "t2"}),
    ]  # fmt: skip
    for given, names in filters:
        walked = await owner.call("explore", mode="related", entity_id=hub, **given)
        listed = await owner.call("explore", **given)
        assert {entity["name"] for entity in walked["entities"]} == names, given
        assert {entity["name"] for entity in listed["entities"]} - {"hub"} == names, given
        assert (walked["total"], walked["actual_total"]) == (len(names), len(names)), given
    pages = [await owner.call("explore", mode="related", entity_id=hub, limit=2, offset=at) for at in (0, 2, 4)]
    assert [page["has_more"] for page in pages] == [True, True, False]
    assert {entity["name"] for page in pages for entity in page["entities"]} == {"P", "E", "t0", "t1", "n"}


async def test_a_task_is_always_shown_with_its_assignees(owner: Person) -> None:
    hub = (await owner.call("create_entity", name="hub"))["id"]
    for name, assignees in (("none", {}), ("null", {"assignees": None}), ("ann", {"assignees": ["Ann"]})):
        task = {"name": name, "entity_type": "task", "metadata": assignees}
        await owner.call("create_entity", **task, related_to=[hub], sync=True)
    for how in ({}, {"mode": "related", "entity_id": hub}):
        found = await owner.call("explore", types=["task"], **how)
        shown = {entity["name"]: entity["metadata"]["assignees"] for entity in found["entities"]}
        assert shown == {"none": [], "null": [], "ann": ["Ann"]}
    (other,) = (await owner.call("explore", types=["episode"]))["entities"]
    assert "assignees" not in other["metadata"]


async def test_tasks_of_an_epic_and_of_none_are_not_asked_for_at_once(owner: Person) -> None:
    epic = (await owner.call("create_entity", name="E", entity_type="epic", sync=True))["id"]
    for how in ({}, {"mode": "related", "entity_id": epic}):
        refused = await owner.refused("explore", ValidationFailed, match="no_epic", epic=epic, no_epic=True, **how)
        assert refused.details["field"] == "body.no_epic"


async def test_neighbours_come_with_relationship_direction_and_text(owner: Person, member: Person) -> None:
    a, b, _, _ = await chain(owner)
    expanded = await owner.call("expand_neighbors", entity_ids=[a], content_max_chars=4)
    assert expanded["results"][0]["neighbors"] == [
        {
            "id": b, "type": "episode", "name": "B", "content": "Text", "relationship": "DEPENDS_ON",
            "direction": "incoming", "distance": 1, "other_relations": [],
        }
    ]  # fmt: skip
    assert (await owner.call("expand_neighbors", entity_ids=[a], include_incoming=False))["total"] == 0
    told = await owner.call("remember", title="Tide", content="The tide comes at noon.", related_to=[a])
    expanded = await owner.call("expand_neighbors", entity_ids=[told["raw_memory_id"]])
    assert [each["id"] for each in expanded["results"][0]["neighbors"]] == [a]
    assert expanded["results"][0]["entity_id"] == told["raw_memory_id"]
    fact = await owner.call("add_relation", source_id=told["raw_memory_id"], name="ABOUT", target_id=b)
    assert (fact["source_id"], fact["target_id"]) == (told["id"], b)
    for name, rows, fields in (
        ("list_relations", "relations", {}), ("temporal", "edges", {}), ("explore", "entities", {"mode": "related"}),
    ):  # fmt: skip
        by_memory = await owner.call(name, entity_id=told["raw_memory_id"], **fields)
        assert by_memory[rows] == (await owner.call(name, entity_id=told["id"], **fields))[rows]
        assert len(by_memory[rows]) == 2
        await member.refused(name, NotFound, match=told["raw_memory_id"], entity_id=told["raw_memory_id"], **fields)
    later = await owner.call("add", title="Ebb", content="x", related_to=[f"supersedes:{told['raw_memory_id']}"])
    assert [each["target_id"] for each in (await owner.call("list_relations", entity_id=later["id"]))["relations"]] == [
        told["id"]
    ]
    await owner.refused("expand_neighbors", NotFound, entity_ids=["nowhere"])


async def test_several_ids_are_expanded_in_one_call(owner: Person) -> None:
    ids = await chain(owner)
    project = await owner.call("create_entity", name="P", entity_type="project", related_to=ids[:1])
    task = {"metadata": {"project_id": project["id"]}, "entity_type": "task"}
    await owner.call("create_entity", name="T", **task, related_to=ids[:2], sync=True)

    async def names(*seeds: str, **fields: Any) -> list[set[str]]:
        expanded = await owner.call("expand_neighbors", entity_ids=list(seeds), **fields)
        assert [result["entity_id"] for result in expanded["results"]] == list(dict.fromkeys(seeds))
        assert expanded["total"] == sum(len(result["neighbors"]) for result in expanded["results"])
        return [{neighbor["name"] for neighbor in result["neighbors"]} for result in expanded["results"]]

    assert await names(*ids) == [{"B", "P", "T"}, {"A", "C", "T"}, {"B", "D"}, {"C"}]
    assert await names(ids[3], ids[0], ids[3], depth=2) == [{"C", "B"}, {"B", "C", "P", "T"}]
    assert await names(*ids[:2], types=["project", "task"]) == [{"P", "T"}, {"T"}]
    assert await names(*ids[:2], project=project["id"], limit=1) == [{"T"}, {"T"}]
    assert [len(found) for found in await names(*ids, limit=1)] == [1, 1, 1, 1]


async def test_a_slice_of_an_entity_is_its_content_cut_where_asked(owner: Person) -> None:
    made = await owner.call("create_entity", name="Long", content="x" * 100)
    piece = await owner.call("fetch_slice", entity_id=made["id"], content_max_chars=10)
    assert (piece["content"], piece["truncated"]) == ("x" * 10, True)
    await owner.refused("fetch_slice", NotFound, match="project", entity_id=made["id"], project="elsewhere")


async def test_adding_names_what_is_similar_and_never_refuses_it(owner: Person) -> None:
    first = await owner.call("add", title="Deploy on Mondays", content="We deploy on Mondays only.", entity_type="rule")
    again = await owner.call("add", title="Deploy on Mondays", content="We deploy on Mondays only.", entity_type="rule")
    assert (first["conflicts"], [hit["id"] for hit in again["conflicts"]]) == ([], [first["id"]])
    assert again["id"] != first["id"]
    newer = await owner.call(
        "add", title="Deploy daily", content="We deploy every day.", entity_type="rule",
        related_to=[f"supersedes:{first['id']}", f"supersedes:{again['id']}"],
    )  # fmt: skip
    found = await owner.call("search", query="when do we deploy")
    assert [hit["id"] for hit in found["results"]] == [newer["id"]]
