from dataclasses import replace
from typing import Any, Literal

import pytest

from stores.errors import ValidationFailed
from stores.ledger import EntityQuery, Ledger, SortKey, listing
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, EVERYTHING, ORG, create, draft, rename


def ids(ledger: Ledger, **filters: Any) -> list[str]:
    found, total = ledger.records.list_entities(ORG, replace(EVERYTHING, sort_by="name", sort_order="asc", **filters))
    assert total == len(found)
    return [entity.id for entity in found]


@pytest.fixture
def tasks(ledger: Ledger) -> Ledger:
    create(
        ledger,
        draft("a", entity_type="task", tags=("Urgent", "x"), languages=("Python",), project_id="p1", category="Backend",
              metadata={"status": "todo", "priority": "high", "epic_id": "g", "feature": "Search"}),
        draft("b", entity_type="Task", tags=("y",), languages=("rust", "python"), project_id="p2",
              metadata={"status": "DOING", "priority": "low", "complexity": "Simple"}),
        draft("c", entity_type="task", metadata={"status": "archived"}),
        draft("d", entity_type="pattern", category="backend", metadata={"status": 3, "priority": ["high"]}),
        draft("e", entity_type="task", visibility="private:bob"),
        draft("f", entity_type="document", source_id="s1"),
        draft("g", entity_type="Epic", metadata={"status": "archived"}),
    )  # fmt: skip
    return ledger


def spelt(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{key}={sorted(each) if isinstance(each, frozenset) else each!r}" for key, each in value.items()
        )
    return repr(value)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [({}, "abd"), ({"types": ("TASK",)}, "ab"), ({"types": ("pattern", "task")}, "abd"),
     ({"types": ("Document",)}, "f"), ({"include_chunks": True}, "abdf"), ({"include_archived": True}, "abcdg"),
     ({"statuses": ("Archived",)}, "cg"), ({"statuses": ("todo", "doing")}, "ab"), ({"priorities": ("HIGH",)}, "a"),
     ({"tags": ("urgent", "Y")}, "ab"), ({"tags": ("urg",)}, ""), ({"languages": ("PYTHON",)}, "ab"),
     ({"languages": ("rust",), "tags": ("x",)}, ""), ({"category": "BACKEND"}, "ad"),
     ({"project_ids": ("p1", "p3")}, "a"), ({"project_ids": ("P1",)}, ""), ({"epic": "g"}, "a"),
     ({"epic": "g", "visibility": frozenset({"private:bob"})}, ""), ({"epic": "d"}, ""), ({"no_epic": True}, "b"),
     ({"no_epic": True, "types": ("pattern", "Task")}, "b"), ({"complexity": "simple"}, "b"),
     ({"feature": "search"}, "a"), ({"visibility": frozenset({"private:bob"})}, "e"),
     ({"visibility": frozenset({"private:bob", ORGANIZATION})}, "abde"), ({"visibility": frozenset()}, "")],
    ids=spelt,
)  # fmt: skip
def test_a_filter_keeps_exactly_what_it_names(tasks: Ledger, filters: dict[str, Any], expected: str) -> None:
    assert ids(tasks, **filters) == list(expected)
    wanted = replace(EVERYTHING, **filters)
    assert tasks.records.matching_ids(ORG, wanted, [*"abcdefgh", "nowhere"]) == set(expected)
    assert tasks.records.matching_ids(ORG, wanted, "b") == set(expected) & {"b"}
    found, _ = tasks.records.list_entities(ORG, replace(wanted, sort_by="updated_at"))
    assert sorted(each.id for each in found) == list(expected)


@pytest.mark.parametrize("sort_by", ["name", "created_at", "updated_at", "entity_type"])
@pytest.mark.parametrize("sort_order", ["asc", "desc"])
def test_few_matches_come_in_the_order_of_many(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, sort_by: SortKey, sort_order: Literal["asc", "desc"]
) -> None:
    names = ["b", "B", "ä", "", "\U0001f600", "\uffee", "b", "a\u0301"]
    create(ledger, *(draft(f"e{n}", name=name, entity_type="ab"[n % 2]) for n, name in enumerate(names)))
    rename(ledger, "e3", "zz")
    pages: list[list[tuple[list[str], int]]] = []
    for few in (0, 1_500):
        monkeypatch.setattr(listing, "FEW", few)
        query = replace(EVERYTHING, sort_by=sort_by, sort_order=sort_order, limit=3)
        read = [ledger.records.list_entities(ORG, replace(query, offset=offset)) for offset in (0, 3, 6, 9)]
        pages.append([([entity.id for entity in found], total) for found, total in read])
    assert pages[0] == pages[1]
    assert [len(found) for found, _ in pages[0]] == [3, 3, 2, 0]
    assert {total for _, total in pages[0]} == {8}


def test_a_task_of_an_epic_that_is_hidden_or_gone_is_one_without(tasks: Ledger) -> None:
    create(tasks, draft("h", entity_type="epic", visibility="private:ann"))
    create(tasks, draft("i", entity_type="task", metadata={"epic_id": "h"}))
    every = EVERYTHING.visibility | {"private:ann"}
    assert (ids(tasks, epic="h"), ids(tasks, no_epic=True)) == ([], ["b", "i"])
    assert (ids(tasks, epic="h", visibility=every), ids(tasks, no_epic=True, visibility=every)) == (["i"], ["b"])
    with tasks.transaction(ORG, ANN) as tx:
        tx.records.delete_entity("h")
        tx.records.delete_entity("g")
    assert (ids(tasks, epic="g"), ids(tasks, no_epic=True, visibility=every)) == ([], ["a", "b", "i"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ÜBER", "u"), ("straße", "s"), ("STRASSE", "s"), ("100%", "p"), ("0_o", "p"), ("%", "p"), ("_", "p"),
     ("\\", "b"), ("café", "c"), ("cafe\u0301", "c"), ("cat\ndog", ""), ("ΟΔΟΣ", "g")],
)  # fmt: skip
def test_a_search_is_literal_and_knows_no_case_in_any_script(ledger: Ledger, text: str, expected: str) -> None:
    create(
        ledger,
        draft("u", name="Fahrt über Land"),
        draft("s", name="x", description="Hauptstraße 3"),
        draft("p", name="at 100%", description="0_o"),
        draft("b", name="C:\\temp"),
        draft("c", name="Café"),
        draft("g", name="οδος"),
        draft("x", name="cat", description="dog"),
    )
    assert ids(ledger, search=text) == list(expected)


def test_a_search_text_of_any_length_is_answered_or_refused(ledger: Ledger) -> None:
    assert ids(ledger, search="\U0001f600%" * 1_000) == []
    with pytest.raises(ValidationFailed):
        ids(ledger, search="x" * 2_001)
    with pytest.raises(ValidationFailed):
        ids(ledger, search="\0")


def test_names_sort_without_case_and_every_key_in_both_orders(ledger: Ledger) -> None:
    for entity_id, name, entity_type in (("1", "banana", "task"), ("2", "Apple", "idea"), ("3", "äpfel", "plan")):
        create(ledger, draft(entity_id, name=name, entity_type=entity_type))
    rename(ledger, "1", "banana")
    for key, expected in (("name", "213"), ("created_at", "123"), ("updated_at", "231"), ("entity_type", "231")):
        for order, wanted in (("asc", expected), ("desc", expected[::-1])):
            found, _ = ledger.records.list_entities(ORG, replace(EVERYTHING, sort_by=key, sort_order=order))  # type: ignore[arg-type]
            assert [entity.id for entity in found] == list(wanted), (key, order)


def test_long_words_are_compared_as_far_as_they_are_indexed(ledger: Ledger) -> None:
    word = "😀" * 400
    create(ledger, draft("e", name=word, tags=(word,), category=word, entity_type=word, metadata={"feature": word}))
    assert ids(ledger, tags=(word,), category=word, types=(word,), feature=word) == ["e"]


def test_the_longest_keys_fit_every_index_together(ledger: Ledger) -> None:
    long_id, word = "😀" * 100, "😀" * 5_000
    fullest = draft(long_id, name=word, entity_type=word, category=word, visibility=long_id, project_id=long_id,
                    source_id=long_id, tags=(word,), metadata={"status": word, "epic_id": word})  # fmt: skip
    create(ledger, fullest)
    query = EntityQuery(visibility=frozenset({long_id}), types=(word,), statuses=(word,), include_chunks=True)
    assert ledger.records.list_entities(ORG, query)[1] == 1
    for changes in ({"visibility": long_id + "x"}, {"project_id": long_id + "x"}, {"source_id": "x" * 401}):
        with pytest.raises(ValidationFailed, match="400 bytes"):
            create(ledger, replace(draft("e"), **changes))  # type: ignore[arg-type]
