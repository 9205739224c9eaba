"""Times in a search: which facts hold at `as_of`, what `since` leaves, what `reference_time` measures from."""

from datetime import timedelta
from typing import Any

import pytest

from stores.ledger import RelationDraft
from tests.people import Person, caught_up

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1)


async def made(person: Person, name: str, content: str = "") -> str:
    return str((await person.call("create_entity", name=name, content=content))["id"])


async def signals(person: Person, entity_id: str, **fields: Any) -> list[str]:
    found = await person.call("search", query="walrus", limit=50, **fields)
    return next((hit["metadata"]["retrieval_signals"] for hit in found["results"] if hit["id"] == entity_id), [])


async def test_the_graph_brings_in_what_was_linked_at_the_moment(owner: Person) -> None:
    animal = await made(owner, "walrus")
    before, during, later = [await made(owner, f"Linked {when}", "granite") for when in ("before", "now", "later")]
    now = owner.app.clock()
    spans = [(before, -30, -5), (during, -5, 5), (later, 5, 30)]
    with owner.app.ledger.transaction(owner.organization_id, owner.user_id) as tx:
        for other, first, last in spans:
            begun, ended = now + first * DAY, now + last * DAY
            tx.relations.add_relation(RelationDraft("ABOUT", animal, other, valid_at=begun, invalid_at=ended))
    await caught_up(owner)
    moments = {None: during, (now + DAY).isoformat(): during, (now + 5 * DAY).isoformat(): later}
    for as_of, linked in moments.items():
        found = {each for each, _, _ in spans if "graph" in await signals(owner, each, as_of=as_of)}
        assert found == {linked}, as_of
    assert await signals(owner, during, as_of="3d") == [], "then it was not there"
    assert "graph" not in await signals(owner, during, use_enhanced=False)


async def test_a_reference_time_is_what_recency_is_measured_from(owner: Person) -> None:
    old = await made(owner, "walrus", "It sleeps.")
    await caught_up(owner)

    async def score(**fields: Any) -> float:
        found = await owner.call("search", query="walrus sleeping somewhere far away", **fields)
        return float(next(hit["score"] for hit in found["results"] if hit["id"] == old))

    plain = await score(boost_recent=False)
    assert await score() > plain
    assert await score(reference_time="9000-01-01T00:00:00+09:00") == plain
    assert await score(reference_time="9000-01-01", boost_recent=False) == plain
    assert await score(temporal_decay_days=0.001, reference_time=(owner.app.clock() + DAY).isoformat()) == plain


async def test_what_was_captured_long_ago_is_not_recent_for_having_been_stored_today(owner: Person) -> None:
    now, names = owner.app.clock(), dict[str, str]()
    for name, days in (("new", 1), ("older", 400), ("old", 90)):
        said = {"captured_at": (now - days * DAY).isoformat()}
        made = await owner.call("create_entity", name="Standup", content="The walrus sleeps.", metadata=said)
        names[made["id"]] = name
    await caught_up(owner)

    async def order(**fields: Any) -> list[str]:
        found = await owner.call("search", query="walrus sleeping somewhere far away", **fields)
        assert len({hit["score"] for hit in found["results"]}) == (1 if fields.get("boost_recent") is False else 3)
        return [names[hit["id"]] for hit in found["results"]]

    assert await order() == ["new", "old", "older"]
    assert sorted(await order(boost_recent=False)) == ["new", "old", "older"]
    unchanged = owner.app.clock()
    # A change is recent, whatever the record says of itself.
    older = next(each for each, name in names.items() if name == "older")
    await owner.call("update_entity", entity_id=older, tags=["mended"])
    await caught_up(owner)
    assert await order() == ["older", "new", "old"]
    assert await order(as_of=unchanged.isoformat()) == ["new", "old", "older"]
