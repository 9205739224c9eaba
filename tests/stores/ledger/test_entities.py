from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.errors import Conflict, ValidationFailed
from stores.ledger import Ledger
from stores.records import EntityDraft
from tests.stores.ledger.samples import ANN, EVERYTHING, ORG, SteppingClock, create, draft, rename, update

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
SHORT_KEY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=10)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHORT_KEY, inner, max_size=3),
    max_leaves=8,
)
DRAFTS = st.builds(
    EntityDraft,
    id=st.just("id"),
    entity_type=TEXT,
    name=TEXT,
    visibility=TEXT,
    memory_scope=TEXT,
    description=TEXT,
    content=TEXT,
    category=st.none() | TEXT,
    languages=st.lists(TEXT, max_size=3).map(tuple),
    tags=st.lists(TEXT, max_size=3).map(tuple),
    metadata=st.dictionaries(SHORT_KEY, JSON, max_size=4),
    source_file=st.none() | TEXT,
    scope_key=st.none() | TEXT,
    project_id=st.none() | TEXT,
    source_id=st.none() | TEXT,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=DRAFTS)
def test_what_is_stored_reads_back_to_the_letter(ledger: Ledger, wanted: EntityDraft) -> None:
    wanted = replace(wanted, id=str(uuid4()))
    with ledger.transaction(ORG, ANN) as tx:
        created = tx.records.create_entity(wanted)

    read = ledger.records.entity(ORG, wanted.id)

    assert read == created
    for name in EntityDraft.__slots__:
        assert getattr(read, name) == getattr(wanted, name)
    assert list(read.metadata) == list(wanted.metadata)
    assert repr(read.metadata) == repr(wanted.metadata)
    many = [wanted.id, "absent"]
    assert ledger.records.entities(ORG, many) == {wanted.id: read}, "as one of many it is read in another way"
    with ledger.transaction(ORG, ANN) as tx:
        assert tx.records.entities(many) == {wanted.id: read}
    brief = ledger.records.briefs(ORG, many)[wanted.id]
    assert brief == tuple(getattr(read, name) for name in brief._fields)
    assert repr(brief.metadata) == repr(wanted.metadata)


def test_many_records_are_stored_together_or_not_at_all(ledger: Ledger) -> None:
    ids = [f"e{number:03}" for number in range(150)]
    drafts = [draft(each, tags=(each, "all"), metadata={"status": each}) for each in ids]
    with ledger.transaction(ORG, ANN) as tx:
        stored = tx.records.create_entities([(each, {"mode": "async"}) for each in drafts])
    assert ledger.records.entities(ORG, ids) == {each.id: each for each in stored}
    changes = ledger.feed.changes(ORG, 0, 1_000)
    assert [(each.sequence, each.record_id) for each in changes] == list(enumerate(ids, start=1))
    assert {(type(each.deferred), each.deferred, each.fields["mode"]) for each in changes} == {(bool, False, "async")}
    labelled = replace(EVERYTHING, tags=("E149",))
    assert [each.id for each in ledger.records.list_entities(ORG, labelled)[0]] == ["e149"]
    more = [draft(f"f{number}") for number in range(99)]
    with pytest.raises(Conflict, match="taken"), ledger.transaction(ORG, ANN, deferred=True) as tx:
        tx.records.create_entities([(each, None) for each in (*more, draft("e149"))])
    assert ledger.records.entity(ORG, "f0") is None
    with ledger.transaction(ORG, ANN, deferred=True) as tx:
        tx.records.create_entities([(each, None) for each in more])
    assert [each.deferred for each in ledger.feed.changes(ORG, 100, 1_000)] == 50 * [False] + 99 * [True]


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "a\0b"}, {"name": "\ud800"}, {"metadata": {"deep": ["\0"]}}, {"metadata": {"\udfff": 1}},
        {"metadata": {"n": float("nan")}}, {"metadata": {"n": 1 << 20_000}}, {"tags": ("\0",)},
        {"languages": ("\ud800",)}, {"project_id": "\0"}, {"id": "\0"}, {"id": ""}, {"id": "x" * 401},
    ],
    ids=[
        "U+0000 in content", "a lone surrogate", "U+0000 deep in metadata", "a lone surrogate as a key", "not a number",
        "a number with 6,000 digits", "U+0000 in a tag", "a lone surrogate in a language", "U+0000 in the project",
        "U+0000 in the id", "no id", "a long id",
    ],
)  # fmt: skip
def test_text_that_a_database_would_corrupt_is_refused(ledger: Ledger, changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailed), ledger.transaction(ORG, ANN) as tx:
        tx.records.create_entity(replace(draft("e1"), **changes))
    assert ledger.feed.head(ORG).sequence == 0


def test_a_caller_may_go_on_after_a_conflict(ledger: Ledger) -> None:
    create(ledger, draft("e1"))
    with ledger.transaction(ORG, ANN) as tx:
        with pytest.raises(Conflict):
            tx.records.create_entity(draft("e1"))
        tx.records.create_entity(draft("e2"))
    assert set(ledger.records.revisions(ORG)) == {"e1", "e2"}


def test_an_update_sees_what_the_transaction_wrote_before(ledger: Ledger) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.create_entity(draft("e1", name="a"))
        tx.records.update_entity("e1", lambda entity: replace(entity, name=entity.name + "b"))
        tx.records.update_entity("e1", lambda entity: replace(entity, name=entity.name + "c"))
        assert tx.records.entity("e1") == tx.records.entity("e1")
    read = ledger.records.entity(ORG, "e1")
    assert (read.name, read.revision) == ("abc", 3)


def test_a_clock_that_was_set_back_does_not_break_as_of(ledger: Ledger, clock: SteppingClock) -> None:
    [first] = create(ledger, draft("e1", name="one"))
    clock.now -= timedelta(days=1)
    second = rename(ledger, "e1", "two")
    assert second.updated_at == first.updated_at
    assert ledger.records.entity_at(ORG, "e1", first.updated_at) == second


def test_more_ids_than_fit_one_statement_are_read(ledger: Ledger) -> None:
    ids = [f"e{number:04}" for number in range(1_203)]
    create(ledger, *(draft(entity_id) for entity_id in ids))
    assert list(ledger.records.entities(ORG, [*ids, "absent", *ids])) == ids
    assert ledger.records.revisions(ORG) == dict.fromkeys(ids, 1)


def test_what_changed_since_is_read_of_visible_records_alone_up_to_a_limit(
    ledger: Ledger, clock: SteppingClock
) -> None:
    create(ledger, draft("a"), draft("b"), draft("hidden", visibility="private:x"), draft("unchanged"))
    then = clock()
    for entity_id in ("a", "b", "hidden"):
        rename(ledger, entity_id, "again")
    keys = frozenset({"organization"})

    def names(limit: int, visibility: frozenset[str] = keys) -> list[tuple[str, str]]:
        read = ledger.records.replaced_since(ORG, then, visibility=visibility, limit=limit)
        return [(entity.id, entity.name) for entity in read]

    assert names(2) == names(9) == [("b", "b"), ("a", "a")]
    assert names(2, keys | {"private:x"}) == [("hidden", "hidden"), ("b", "b")]
    assert ledger.records.replaced_since(ORG, clock(), visibility=keys, limit=9) == []


def test_what_operations_look_for_is_found_on_either_database(ledger: Ledger) -> None:
    metadata: dict[str, Any] = {"status": "todo", "assignees": ["Ada L.", "ada l.", "", 7]}
    task = draft("task_ab1", entity_type="task", project_id="p", metadata=metadata)
    before = ledger.feed.head(ORG).sequence
    [made, *_] = create(ledger, task, draft("task_a%"), draft("Task_ab2"), draft("task_ab0", visibility="private:x"))
    visible = EVERYTHING.visibility
    found = ledger.records.readable_with_prefix(ORG, ["task_ab", "task_a", "task%"], visibility=visible, limit=9)
    assert [each.id for each in found] == ["task_ab1", "task_a%"]
    assert ledger.records.readable_with_prefix(ORG, ["task_a", "Task"], visibility=visible, limit=2) == found[::-1]
    tally = ledger.records.task_tally(ORG, "p", visible, since=made.created_at)
    assert (tally.by_status, [each.name for each in tally.assignees]) == ({"todo": 1}, ["Ada L."])
    asked: dict[str, Any] = {"types": frozenset({"task"}), "visibility": visible, "limit": 9}
    with ledger.transaction(ORG, ANN) as tx:
        assert tx.records.written_since(before, **asked) == ["task_ab1"]
    assert (tally.created, tally.completed) == ((made.created_at,), ())
    moves = ("done", "doing", "done", "done", "archived")
    moved = [update(ledger, "task_ab1", metadata={"status": each}) for each in moves]
    tally = ledger.records.task_tally(ORG, "p", visible, since=made.created_at + timedelta(microseconds=1))
    assert (tally.created, tally.completed) == ((), (moved[2].updated_at,))
    update(ledger, "task_ab1", metadata={"status": "todo"})
    assert ledger.records.task_tally(ORG, "p", visible, since=made.created_at).completed == ()
