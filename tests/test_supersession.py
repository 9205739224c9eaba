"""What another record superseded leaves every ranked read, and stays readable by id, in history and as of its time."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.people import Person, caught_up
from tools.catalogue import OPERATIONS

pytestmark = pytest.mark.anyio

WORDS = "the walrus sleeps on the granite shore"
Arguments = dict[str, Any]
RANKED: dict[str, Callable[[str], list[Arguments]]] = {
    "search": lambda _: [
        {"query": WORDS, "limit": 50},
        {"query": WORDS, "use_enhanced": False},
        {"query": "walrus", "boost_recent": False, "include_retrieval_diagnostics": True},
        {"query": WORDS, "types": ["rule"]},
    ],
    "recall": lambda _: [{"query": WORDS, "memory_scope": "organization"}],
    "context": lambda _: [
        {"goal": WORDS, "limit": 50, "layer": "deep_search"},
        {"goal": WORDS, "intent": "review"},
        {"goal": WORDS, "evidence": {"types": ["rule", "topic"]}},
        {"goal": WORDS, "evidence": {"types": ["rule"], "retrieval_mode": "naive"}},
    ],
    "synthesis_plan": lambda _: [{"goal": WORDS}, {"goal": "x", "required_sections": [{"title": WORDS}]}],
    "synthesis_verify": lambda _: [{"goal": WORDS, "output_type": "audit_packet", "depth": "deep"}],
    "synthesis_draft": lambda _: [{"goal": WORDS}, {"goal": WORDS, "output_format": "json"}],
    "explore": lambda hub: [
        {"mode": mode, "entity_id": hub, "depth": depth}
        for mode in ("related", "traverse", "dependencies")
        for depth in (1, 2, 3)
    ],
    "expand_neighbors": lambda hub: [{"entity_ids": [hub]}, {"entity_ids": [hub], "depth": 3, "types": ["rule"]}],
}
"""How each read that ranks or recommends is asked for the records around one."""
NOT_RANKED = {"temporal"}
ASKING = {"query", "goal", "mode", "entity_ids"}
"""Fields by which a read is told what it should find."""


async def said(person: Person, title: str) -> str:
    kept = await person.call("store_raw_memory", title=title, raw_content=WORDS, memory_scope="organization")
    return str(kept["id"])


async def world(person: Person) -> tuple[str, str, str, str]:
    hub = (await person.call("create_entity", name="hub", entity_type="topic"))["id"]
    rule = {"entity_type": "rule", "content": f"{WORDS}."}
    made_of = [{"raw_memory_id": await said(person, title)} for title in ("old", "new")]
    links = [f"depends_on:{hub}"]
    old = (await person.call("create_entity", name="old", related_to=links, metadata=made_of[0], **rule))["id"]
    then = person.app.clock().isoformat()
    links = [f"supersedes:{old}", f"depends_on:{hub}"]
    new = (await person.call("create_entity", name="new", related_to=links, metadata=made_of[1], **rule))["id"]
    await caught_up(person)
    return hub, old, new, then


def test_every_read_that_is_asked_for_something_is_judged_here() -> None:
    asked = {
        operation.name
        for operation in OPERATIONS
        if (operation.scope == "read" or operation.name.startswith("synthesis_"))
        and operation.roles is not None
        and ASKING & operation.request.model_fields.keys()
    }
    assert asked == RANKED.keys() | NOT_RANKED


@pytest.mark.parametrize("operation", RANKED)
async def test_the_superseded_is_in_no_ranked_read(owner: Person, member: Person, operation: str) -> None:
    hub, old, new, _ = await world(owner)
    for person in (owner, member):
        for arguments in RANKED[operation](hub):
            answer = json.dumps(await person.call(operation, **arguments))
            assert new in answer, arguments
            assert old not in answer, arguments


async def test_the_superseded_is_not_named_as_similar(owner: Person) -> None:
    _, old, new, _ = await world(owner)
    added = await owner.call("add", title="new", content=f"{WORDS}.", entity_type="rule", conflict_threshold=0.3)
    named = {hit["id"] for hit in added["conflicts"]}
    assert new in named
    assert old not in named


async def test_the_superseded_stays_readable_by_id_in_history_and_as_of_its_time(owner: Person) -> None:
    _, old, new, then = await world(owner)
    assert (await owner.call("get_entity", entity_id=old))["name"] == "old"
    assert (await owner.call("fetch_slice", entity_id=old))["content"] == f"{WORDS}."
    assert old in json.dumps(await owner.call("explore", types=["rule"])), "a list is not ranked"
    for mode in ("history", "timeline", "conflicts"):
        answer = await owner.call("temporal", mode=mode, entity_id=old)
        assert (new, "SUPERSEDES", old) in {
            (edge["source_id"], edge["name"], edge["target_id"]) for edge in answer["edges"]
        }, mode
    past = await owner.call("search", query=WORDS, as_of=then)
    assert [hit["id"] for hit in past["results"] if hit["type"] == "rule"] == [old]
    facts = await owner.call("temporal", entity_id=old, as_of=then)
    assert [edge["name"] for edge in facts["edges"]] == ["DEPENDS_ON"]


async def test_a_supersession_that_was_called_off_retires_nothing(owner: Person) -> None:
    hub, old, new, _ = await world(owner)
    facts = (await owner.call("temporal", mode="conflicts", entity_id=old))["edges"]
    with owner.app.ledger.transaction(owner.organization_id, owner.user_id) as tx:
        tx.relations.end_relation(facts[0]["id"])
    await caught_up(owner)
    for operation, questions in RANKED.items():
        for arguments in questions(hub):
            answer = json.dumps(await owner.call(operation, **arguments))
            assert new in answer, (operation, arguments)
            assert old in answer, (operation, arguments)
