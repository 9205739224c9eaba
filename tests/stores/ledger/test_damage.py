"""Rows that somebody, or a disk, damaged: each stands in nobody's way, and none passes for whole."""

import pytest
from sqlalchemy import text

from stores.errors import RecordUnreadable
from stores.ledger import Ledger
from stores.records import ORGANIZATION, Capture
from tests.stores.ledger.samples import ANN, EVERYTHING, ORG, SteppingClock, create, draft, relate, relations_of, update

MANY = 40


def damage(ledger: Ledger, table: str, column: str, value: object, *record_ids: str) -> None:
    with ledger._database.write() as connection:
        for each in record_ids:
            connection.execute(
                text(f"UPDATE {table} SET {column} = :value WHERE id = :id"), {"value": value, "id": each}
            )


def several(ledger: Ledger, count: int = MANY) -> list[str]:
    return [each.id for each in create(ledger, *(draft(f"e{at:03}") for at in range(count)))]


@pytest.mark.parametrize(
    ("column", "value"),
    [("metadata", '{"a": '), ("metadata", "null"), ("metadata", "[1]"), ("tags", "{}x"), ("languages", "[1, 2]")],
)
@pytest.mark.parametrize("count", [3, MANY])
def test_of_records_read_together_the_damaged_ones_alone_are_missing(
    ledger: Ledger, column: str, value: str, count: int
) -> None:
    ids = several(ledger, count)
    damage(ledger, "entities", column, value, ids[0], ids[2])
    assert set(ledger.records.entities(ORG, [*ids, "nowhere"])) == set(ids) - {ids[0], ids[2]}
    with pytest.raises(RecordUnreadable, match=ids[0]) as refused:
        ledger.records.entity(ORG, ids[0])
    assert refused.value.visibility == ORGANIZATION


def test_lists_leave_it_out_and_count_it(ledger: Ledger) -> None:
    several(ledger, 5)
    damage(ledger, "entities", "tags", "torn", "e001")
    entities, total = ledger.records.list_entities(ORG, EVERYTHING)
    assert (sorted(each.id for each in entities), total) == (["e000", "e002", "e003", "e004"], 5)
    briefs, total = ledger.records.list_briefs(ORG, EVERYTHING)
    assert (sorted(each.id for each in briefs), total) == (["e000", "e002", "e003", "e004"], 5)


def test_a_damaged_relation_is_left_out_of_lists_and_hinders_no_new_one(ledger: Ledger) -> None:
    several(ledger, 3)
    torn = relate(ledger, "RELATED_TO", "e000", "e001").id
    whole = relate(ledger, "RELATED_TO", "e000", "e002").id
    damage(ledger, "relations", "provenance", "torn", torn)
    assert [each.id for each in relations_of(ledger, ORG, "e000")] == [whole]
    assert set(ledger.relations.by_ids(ORG, [torn, whole])) == {whole}
    other = relate(ledger, "RELATED_TO", "e000", "e001").id
    assert {each.id for each in relations_of(ledger, ORG, "e000", history=True)} == {whole, other}


def test_a_damaged_change_is_followed_without_its_fields(ledger: Ledger) -> None:
    several(ledger, 2)
    with ledger._database.write() as connection:
        connection.execute(text("UPDATE changes SET fields = 'torn' WHERE record_id = 'e000'"))
    assert [(each.record_id, each.fields) for each in ledger.feed.changes(ORG, 0, 10)] == [("e000", {}), ("e001", {})]


def test_a_past_revision_that_is_damaged_is_as_if_it_were_not_there(ledger: Ledger, clock: SteppingClock) -> None:
    several(ledger, 2)
    then = clock.now
    for each in ("e000", "e001"):
        update(ledger, each, content="later")
    damage(ledger, "entity_revisions", "metadata", "torn", "e000")
    assert set(ledger.records.entities_at(ORG, ["e000", "e001"], then)) == {"e001"}
    with pytest.raises(RecordUnreadable, match="e000"):
        ledger.records.entity_at(ORG, "e000", then)
    assert ledger.records.entity_at(ORG, "e001", then) is not None
    replaced = ledger.records.replaced_since(ORG, then, visibility=frozenset({ORGANIZATION}), limit=10)
    assert [each.id for each in replaced] == ["e001"]
    assert ledger.records.entities(ORG, ["e000"])["e000"].content == "later"


def test_what_was_said_before_and_is_damaged_can_be_said_again(ledger: Ledger, clock: SteppingClock) -> None:
    def keep(memory_id: str) -> None:
        capture = Capture(memory_id, "rest", clock(), {}, None, "")
        with ledger.transaction(ORG, ANN) as tx:
            tx.memories.create_memory(draft(memory_id, content="the same"), capture)

    keep("m1")
    damage(ledger, "raw_memories", "provenance", "torn", "m1")
    with pytest.raises(RecordUnreadable, match="raw memory m1"):
        ledger.memories.memory(ORG, "m1")
    assert ledger.memories.by_ids(ORG, ["m1"]) == {}
    keep("m2")
    assert set(ledger.memories.by_ids(ORG, ["m1", "m2"])) == {"m2"}


@pytest.mark.parametrize("populated_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("torn", ["content = CAST(x'66ff61' AS TEXT)", "name = CAST(x'66ff61' AS TEXT)"])
@pytest.mark.parametrize("count", [3, MANY])
def test_bytes_that_are_no_character_are_replaced(ledger: Ledger, torn: str, count: int) -> None:
    ids = several(ledger, count)
    with ledger._database.write() as connection:
        connection.execute(text(f"UPDATE entities SET {torn} WHERE id = 'e001'"))
    found = ledger.records.entities(ORG, ids)
    assert set(found) == set(ids)
    assert "f\ufffda" in (found["e001"].content, found["e001"].name)
    assert ledger.feed.unreadable(ORG) == []
