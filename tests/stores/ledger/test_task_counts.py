from dataclasses import replace

from stores.ledger import Ledger, Move, RelationDraft
from stores.records import ORGANIZATION, EntityDraft, JsonObject
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, create, delete, draft

OPEN = frozenset({ORGANIZATION})
MINE = OPEN | {"private:ann"}


def task(task_id: str, *, visibility: str = ORGANIZATION, project: str | None = "p", **metadata: object) -> EntityDraft:
    found: JsonObject = {"status": "todo", "priority": "medium", **metadata}  # type: ignore[dict-item]
    return draft(task_id, entity_type="task", visibility=visibility, project_id=project, metadata=found)


def move(ledger: Ledger, task_id: str, **metadata: object) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.update_entity(task_id, lambda entity: replace(entity, metadata={**entity.metadata, **metadata}))


def test_assignees_are_one_in_any_case_of_letters_and_keep_their_spelling(ledger: Ledger) -> None:
    create(
        ledger,
        task("a", assignees=["Ada L.", "Bob", "Ada L."]),
        task("b", assignees=["ada l."], status="done"),
        task("c", assignees=["Bob"], visibility="private:ann"),
        task("d", assignees=["Ada L."], status="archived"),
        task("e", assignees="Ada L."),
        task("f", assignees=["", 7, None, "Étienne"]),
    )
    seen = ledger.records.task_tally(ORG, "p", OPEN).assignees
    assert [(each.name, dict(each.by_status)) for each in seen] == [
        ("Ada L.", {"todo": 1, "done": 1}),
        ("Bob", {"todo": 1}),
        ("Étienne", {"todo": 1}),
    ]
    assert [each.total for each in ledger.records.task_tally(ORG, "p", MINE).assignees] == [2, 2, 1]


def test_relations_are_counted_where_they_hold_and_both_ends_are_visible(ledger: Ledger, clock: SteppingClock) -> None:
    create(ledger, draft("a"), draft("b"), draft("hidden", visibility="private:ann"))
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.add_relation(RelationDraft("BLOCKS", "a", "b"))
        ended = tx.relations.add_relation(RelationDraft("BLOCKS", "b", "a"))
        tx.relations.add_relation(RelationDraft("TOUCHES", "a", "hidden"))
        tx.relations.add_relation(RelationDraft("OWNS", "a", "b", visibility="private:ann"))
    then = clock()
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation(ended.id)
    assert ledger.relations.relation_counts(ORG, OPEN) == {"BLOCKS": 1}
    assert ledger.relations.relation_counts(ORG, OPEN, at=then) == {"BLOCKS": 2}
    assert ledger.relations.relation_counts(ORG, MINE) == {"BLOCKS": 1, "OWNS": 1, "TOUCHES": 1}
    assert ledger.relations.relation_counts(OTHER, MINE) == {}


def test_a_history_names_each_status_once_when_it_came(ledger: Ledger) -> None:
    create(ledger, task("a"), draft("note", entity_type="note", metadata={"status": "done"}))
    for change in ({"status": "doing"}, {"text": "not a move"}, {"status": "done"}, {"status": "todo"}):
        move(ledger, "a", **change)
    [found] = ledger.records.task_histories(ORG, ["a", "note", "absent"])
    assert [(each.revision, each.status) for each in found.moves] == [
        (1, "todo"),
        (2, "doing"),
        (4, "done"),
        (5, "todo"),
    ]
    assert found.moves[0] == Move(1, "todo", found.created_at)
    assert (found.project_id, found.visibility) == ("p", ORGANIZATION)
    revised = ledger.records.entity(ORG, "a")
    assert found.moves[-1].at == revised.updated_at
    assert ledger.records.task_ids(ORG) == ["a"]
    delete(ledger, "a")
    assert ledger.records.task_histories(ORG, ["a"]) == ledger.records.task_ids(ORG) == []
