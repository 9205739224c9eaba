"""Facts over time: as at a moment, every version, and what was called off; for whoever may read them."""

from datetime import datetime
from typing import Any

import pytest

from stores.errors import ValidationFailed
from tests.people import Person

pytestmark = pytest.mark.anyio


async def made(person: Person, name: str, *links: str, **metadata: str) -> str:
    fields: dict[str, Any] = {"name": name, "related_to": list(links) or None, "metadata": metadata or None}
    return str((await person.call("create_entity", **fields))["id"])


def end(person: Person, relation_id: str, invalid_at: datetime | None = None) -> None:
    with person.app.ledger.transaction(person.organization_id, person.user_id) as tx:
        tx.relations.end_relation(relation_id, invalid_at=invalid_at)


def said(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    assert answer["total"] == len(answer["edges"])
    return [(edge["source_name"], edge["name"], edge["target_name"]) for edge in answer["edges"]]


async def test_history_is_as_at_a_moment_under_the_names_of_then(owner: Person) -> None:
    old = await made(owner, "old")
    before = owner.app.clock().isoformat()
    new = await made(owner, "new", f"supersedes:{old}")
    while_so = owner.app.clock().isoformat()
    await owner.call("update_entity", entity_id=old, name="ancient")
    edge = (await owner.call("temporal", entity_id=old))["edges"][0]
    end(owner, edge["id"])
    assert (edge["source_id"], edge["target_id"], edge["is_current"]) == (new, old, True)
    assert (edge["fact"], edge["expired_at"], edge["invalid_at"]) == ("new supersedes ancient", None, None)
    now = await owner.call("temporal", entity_id=old)
    assert (said(now), now["mode"], now["entity_id"]) == ([], "history", old)
    assert now["message"] == "No facts that held of ancient."
    earlier = await owner.call("temporal", entity_id=old, as_of=before)
    assert (said(earlier), earlier["message"]) == ([], f"No facts that held of old, as at {before}.")
    then = await owner.call("temporal", entity_id=old, as_of=while_so)
    assert said(then) == [("new", "SUPERSEDES", "old")]
    assert then["edges"][0]["fact"] == "new supersedes old", "in the names of then"
    assert datetime.fromisoformat(then["as_of"]) == datetime.fromisoformat(while_so)
    assert not then["edges"][0]["is_current"]
    ended = await owner.call("temporal", include_expired=True)
    assert said(ended) == [("new", "SUPERSEDES", "ancient")]
    assert ended["entity_id"] is None


async def test_a_timeline_has_every_version_and_conflicts_what_was_called_off(owner: Person) -> None:
    hub = await made(owner, "hub")
    await made(owner, "a", hub)
    await made(owner, "b", hub)
    await made(owner, "c", f"supersedes:{hub}")
    first = (await owner.call("temporal", entity_id=hub))["edges"][-1]
    end(owner, first["id"])
    timeline = await owner.call("temporal", mode="timeline", entity_id=hub)
    assert [names[0] for names in said(timeline)] == ["c", "b", "a"]
    assert [edge["is_current"] for edge in timeline["edges"]] == [True, True, False]
    conflicts = await owner.call("temporal", mode="conflicts")
    assert said(conflicts) == [("c", "SUPERSEDES", "hub"), ("a", "RELATED_TO", "hub")]
    assert said(await owner.call("temporal", mode="conflicts", entity_id=hub)) == said(conflicts)
    page = await owner.call("temporal", mode="timeline", limit=2)
    assert (page["total"], page["has_more"], timeline["has_more"]) == (2, True, False)
    assert page["message"].endswith("there are more: raise limit, or name an entity.")


async def test_who_reaches_every_bound_is_told_a_way_to_the_rest(owner: Person) -> None:
    hub = await made(owner, "hub")
    for wave in range(2):
        notes = [{"name": f"{wave} {number}", "related_to": [hub]} for number in range(128)]
        await owner.call("bulk_create_entities", entities=notes)
    asked = {"entity_id": hub, "limit": 200}
    page = await owner.call("temporal", mode="timeline", **asked)
    assert "raise limit" not in page["message"]
    assert "name an entity" not in page["message"]
    assert "known_at" in page["message"]
    seen = {edge["id"] for edge in page["edges"]}
    rest = await owner.call("temporal", mode="timeline", known_at=page["edges"][-1]["created_at"], **asked)
    assert len(seen | {edge["id"] for edge in rest["edges"]}) == 256
    unnamed = await owner.call("temporal", limit=200)
    assert unnamed["message"].endswith("there are more: name an entity.")
    fewer = await owner.call("temporal", entity_id=hub, limit=5)
    assert fewer["message"].endswith("there are more: raise limit.")


@pytest.mark.parametrize("nonsense", [" ", 5, 1.5, True, ["7d"], {}, "7" * 300])
async def test_what_is_no_text_is_refused_as_a_date_with_the_forms_too(owner: Person, nonsense: Any) -> None:
    ends = {"source_id": "a", "name": "ABOUT", "target_id": "b"}
    for operation, field, fields in (
        ("temporal", "as_of", {}),
        ("temporal", "known_at", {}),
        ("search", "as_of", {"query": "q"}),
        ("search", "since", {"query": "q"}),
        ("search", "reference_time", {"query": "q"}),
        ("get_entity", "as_of", {"entity_id": "a"}),
        ("add_relation", "valid_at", ends),
        ("add_relation", "invalid_at", ends),
        ("end_relation", "invalid_at", {"relation_id": "a"}),
        ("read_audit", "start_time", {}),
    ):
        with pytest.raises(ValidationFailed, match=rf"^{field} is not a date: use an ISO 8601.*7d, 2w") as refused:
            await owner.call(operation, **fields, **{field: nonsense})
        assert refused.value.details == {"field": f"body.{field}", "expected": "date"}
