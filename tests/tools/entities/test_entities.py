"""Entities: stored to the letter, changed without loss, listed in order, seen by those who may."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from auth.visibility import private_key
from stores.errors import Conflict, InvalidRequest, NotFound, ValidationFailed
from stores.ledger import Ledger
from tests.people import Person

pytestmark = pytest.mark.anyio

FULL = {
    "name": "Retry with jitter", "description": "How we retry",
    "content": "Back off exponentially — ünïcödé \U0001f600 kept.", "entity_type": "pattern",
    "category": "resilience", "languages": ["python"], "tags": ["net"],
    "metadata": {"severity": 3, "nested": {"a": [1, None]}},
}  # fmt: skip


async def test_what_is_created_reads_back_to_the_letter(owner: Person) -> None:
    made = await owner.call("create_entity", **FULL, sync=True)
    read = await owner.call("get_entity", entity_id=made["id"])
    assert {key: read[key] for key in FULL if key != "metadata"} == {
        key: FULL[key] for key in FULL if key != "metadata"
    }
    assert FULL["metadata"].items() <= read["metadata"].items()  # type: ignore[attr-defined]  # the fixture's own dict
    assert read["created_at"] == made["created_at"] is not None


async def test_a_document_can_be_written_by_hand_and_read_whole(owner: Person) -> None:
    made = await owner.call("create_entity", name="Manual", entity_type="document", content="Warm the pot.")
    assert str(uuid.UUID(made["id"])) == made["id"], "as the id of every document is"
    read = await owner.call("get_entity", entity_id=made["id"])
    assert (read["entity_type"], read["content"]) == ("document", "Warm the pot.")
    assert "chunk_index" not in read["metadata"], "it is no chunk of anything"
    piece = await owner.call("fetch_slice", entity_id=made["id"])
    assert (piece["content"], piece["pieces"], piece["truncated"]) == ("Warm the pot.", [], False)
    listed = await owner.call("list_entities", entity_type="document")
    assert [entity["id"] for entity in listed["entities"]] == [made["id"]]


async def test_an_asynchronous_answer_has_no_timestamps_but_the_record_is_there(owner: Person) -> None:
    made = await owner.call("create_entity", name="note")
    assert (made["created_at"], made["updated_at"], made["entity_type"], made["description"]) == (
        None, None, "episode", "",
    )  # fmt: skip
    assert (await owner.call("get_entity", entity_id=made["id"]))["created_at"] is not None


async def test_a_project_is_always_created_synchronously_and_active(owner: Person) -> None:
    made = await owner.call("create_entity", name="P", entity_type="project")
    assert made["created_at"] is not None
    assert made["metadata"]["status"] == "active"
    with pytest.raises(ValidationFailed, match="on_hold"):
        await owner.call("update_entity", entity_id=made["id"], metadata={"status": "paused"})
    archived = await owner.call("update_entity", entity_id=made["id"], metadata={"status": "archived"})
    assert archived["metadata"]["status"] == "archived"


async def test_an_update_changes_only_what_it_names_and_merges_metadata(owner: Person) -> None:
    made = await owner.call("create_entity", **FULL)
    changed = await owner.call("update_entity", entity_id=made["id"], name="New", metadata={"severity": None, "x": 1})
    assert (changed["name"], changed["content"], changed["revision"]) == ("New", FULL["content"], 2)
    assert (changed["metadata"]["severity"], changed["metadata"]["x"], changed["metadata"]["nested"]) == (
        None, 1, {"a": [1, None]},
    )  # fmt: skip


async def test_a_stale_revision_is_a_conflict_and_changes_nothing(owner: Person) -> None:
    made = await owner.call("create_entity", name="a")
    await owner.call("update_entity", entity_id=made["id"], name="b", expected_revision=1)
    await owner.refused("update_entity", Conflict, entity_id=made["id"], name="c", expected_revision=1)
    await owner.refused("delete_entity", Conflict, entity_id=made["id"], expected_revision=1)
    assert (await owner.call("get_entity", entity_id=made["id"]))["name"] == "b"


@contextmanager
def just_before_the_transaction(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> Iterator[None]:
    """Let a change of somebody else commit when the next transaction is about to begin."""
    begin = Ledger.transaction
    pending = [change]

    def interleaved(ledger: Ledger, *args: Any, **kwargs: Any) -> Any:
        if pending:
            pending.pop()()
        return begin(ledger, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "transaction", interleaved)
        yield
    assert not pending, "nothing was interleaved"


@pytest.mark.parametrize(
    ("change", "expected_revision", "refusal"),
    [("hide", None, NotFound), ("hide", 1, NotFound), ("rename", 1, Conflict), ("delete", 1, NotFound)],
)
async def test_a_delete_decides_by_what_is_there_when_it_happens(
    owner: Person,
    member: Person,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    expected_revision: int | None,
    refusal: type[Exception],
) -> None:
    made = await member.call("create_entity", name="mine")

    def interfere() -> None:
        with member.app.ledger.transaction(member.organization_id, member.user_id) as tx:
            if change == "delete":
                tx.records.delete_entity(made["id"])
            elif change == "rename":
                tx.records.update_entity(made["id"], lambda entity: replace(entity, name="renamed"))
            else:
                hidden = private_key(member.user_id)
                tx.records.update_entity(made["id"], lambda entity: replace(entity, visibility=hidden))

    with just_before_the_transaction(monkeypatch, interfere), pytest.raises(refusal):
        await owner.call("delete_entity", entity_id=made["id"], expected_revision=expected_revision)
    assert (await member.call("list_entities"))["total"] == (0 if change == "delete" else 1)


async def test_an_empty_update_is_refused(owner: Person) -> None:
    made = await owner.call("create_entity", name="a")
    await owner.refused("update_entity", InvalidRequest, match="Nothing to change", entity_id=made["id"])


async def test_pages_cover_the_list_without_overlap(owner: Person) -> None:
    await owner.call("bulk_create_entities", entities=[{"name": f"n{i}", "entity_type": "note"} for i in range(7)])
    pages = [
        await owner.call("list_entities", page=page, page_size=3, sort_by="name", sort_order="asc")
        for page in (1, 2, 3)
    ]
    assert [entity["name"] for page in pages for entity in page["entities"]] == [f"n{i}" for i in range(7)]
    assert [page["has_more"] for page in pages] == [True, True, False]
    assert {page["total"] for page in pages} == {7}


async def test_list_filters(owner: Person) -> None:
    await owner.call("create_entity", **FULL)
    await owner.call("create_entity", name="other", entity_type="rule", description="100% sure")
    found = {
        "type": await owner.call("list_entities", entity_type="pattern"),
        "language": await owner.call("list_entities", language="Python"),
        "category": await owner.call("list_entities", category="resilience"),
        "search": await owner.call("list_entities", search="RETRY"),
    }
    assert {name: page["total"] for name, page in found.items()} == dict.fromkeys(found, 1)
    assert (await owner.call("list_entities", search="0% s"))["total"] == 1
    assert (await owner.call("list_entities", search="%"))["total"] == 1


async def test_a_private_project_hides_its_tasks(owner: Person, member: Person, viewer: Person) -> None:
    project = await member.call("create_entity", name="P", entity_type="project", metadata={"visibility": "private"})
    task = await member.call("create_entity", name="T", entity_type="task", metadata={"project_id": project["id"]})
    assert (task["metadata"]["status"], task["metadata"]["priority"]) == ("todo", "medium")
    assert (await owner.call("get_entity", entity_id=task["id"]))["name"] == "T"
    await viewer.refused("get_entity", NotFound, entity_id=task["id"])
    await member.call("update_entity", entity_id=project["id"], metadata={"visibility": "org"})
    assert (await viewer.call("get_entity", entity_id=task["id"]))["name"] == "T"
    await member.call("delete_entity", entity_id=project["id"])
    assert (await viewer.call("get_entity", entity_id=task["id"]))["name"] == "T"


async def test_related_entities_are_named_with_direction(owner: Person) -> None:
    old = await owner.call("create_entity", name="Old rule", entity_type="rule")
    new = await owner.call("create_entity", name="New rule", entity_type="rule", related_to=[f"supersedes:{old['id']}"])
    read = await owner.call("get_entity", entity_id=new["id"])
    assert read["related"] == [
        {
            "id": old["id"], "name": "Old rule", "entity_type": "rule", "relationship": "SUPERSEDES",
            "direction": "outgoing",
        }
    ]  # fmt: skip
    assert (await owner.call("get_entity", entity_id=old["id"], include_summary=False))["related"] is None


async def test_a_relation_to_nothing_stores_nothing(owner: Person) -> None:
    await owner.refused("create_entity", NotFound, match="nowhere", name="x", related_to=["requires:nowhere"])
    with pytest.raises(NotFound):
        await owner.call("bulk_create_entities", entities=[{"name": "ok"}, {"name": "x", "related_to": ["nowhere"]}])
    assert (await owner.call("list_entities"))["total"] == 0


async def test_a_refused_request_frees_its_idempotency_key(owner: Person) -> None:
    await owner.refused("create_entity", NotFound, idempotency_key="k", name="x", related_to=["nowhere"])
    await owner.refused("create_entity", NotFound, idempotency_key="k", name="x", related_to=["nowhere"])
    assert not (await owner.run("create_entity", idempotency_key="k", name="x")).replayed


async def test_what_a_source_is_holds_for_its_chunks(owner: Person, member: Person) -> None:
    page = [{"url": "a.md", "content": "# A\n\nFlibbertigibbet."}]
    source = await owner.call("ingest_documents", source_name="Docs", documents=page, sync=True)
    assert (await member.call("list_entities", entity_type="document"))["total"] == 1
    unfiltered = (await member.call("list_entities"))["entities"]
    assert {each["entity_type"] for each in unfiltered} == {"source", "document"}
    await owner.call("update_entity", entity_id=source["source_id"], name="Papers")
    assert (await member.call("list_entities", entity_type="document"))["entities"][0]["name"] == "Papers"
    await owner.call("update_entity", entity_id=source["source_id"], metadata={"memory_scope": "private"})
    assert (await member.call("list_entities", entity_type="document"))["total"] == 0
    assert (await owner.call("list_entities", entity_type="document"))["total"] == 1


async def test_a_record_that_moves_into_a_private_project_is_hidden_with_it(owner: Person, member: Person) -> None:
    project = await owner.call("create_entity", name="P", entity_type="project", metadata={"memory_scope": "private"})
    assert project["metadata"]["visibility"] == "private"
    made = await owner.call("create_entity", name="a")
    await owner.call("update_entity", entity_id=made["id"], metadata={"project_id": project["id"]})
    for hidden in (project["id"], made["id"]):
        await member.refused("get_entity", NotFound, entity_id=hidden)


async def test_a_record_made_private_by_an_admin_stays_its_authors(owner: Person, member: Person) -> None:
    made = await member.call("create_entity", name="a")
    await owner.call("update_entity", entity_id=made["id"], metadata={"memory_scope": "private"})
    assert (await member.call("get_entity", entity_id=made["id"]))["metadata"]["scope_key"] == member.user_id
    await owner.refused("get_entity", NotFound, entity_id=made["id"])


async def test_nothing_goes_into_a_project_that_the_writer_cannot_see(owner: Person, member: Person) -> None:
    hidden = await owner.call("create_entity", name="P", entity_type="project", metadata={"visibility": "private"})
    private = await member.call("create_entity", name="a", metadata={"memory_scope": "private"})
    within, page = {"project_id": hidden["id"]}, [{"url": "u", "content": "c"}]
    writes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("create_entity", {"name": "t", "metadata": within}),
        ("update_entity", {"entity_id": private["id"], "metadata": within}),
        ("ingest_documents", {"source_name": "D", "project": hidden["id"], "documents": page}),
    )
    for operation, fields in writes:
        await member.refused(operation, NotFound, match="no project", **fields)
    assert (await member.call("list_entities"))["total"] == 1


async def test_a_category_is_cleared_by_null(owner: Person) -> None:
    made = await owner.call("create_entity", name="a", category="c")
    assert (await owner.call("update_entity", entity_id=made["id"], category=None))["category"] is None


async def test_ingesting_again_restores_a_chunk_that_was_changed_or_deleted(owner: Person) -> None:
    page = [{"url": "a.md", "content": "Right words."}]
    source = (await owner.call("ingest_documents", source_name="Docs", documents=page))["source_id"]

    async def chunk() -> dict[str, object]:
        listed = await owner.call("list_entities", entity_type="document")
        return dict(listed["entities"][0])

    await owner.call("update_entity", entity_id=(await chunk())["id"], content="Wrong words.")
    await owner.call("ingest_documents", source_id=source, documents=page)
    assert (await chunk())["content"] == "Right words."
    await owner.call("delete_entity", entity_id=(await chunk())["id"])
    await owner.call("ingest_documents", source_id=source, documents=page)
    assert (await chunk())["content"] == "Right words."


async def test_the_last_of_two_documents_with_one_address_counts(owner: Person) -> None:
    pages = [{"url": "u", "content": "first"}, {"url": "u", "content": "second"}]
    source = (await owner.call("ingest_documents", source_name="Docs", documents=pages))["source_id"]
    again = await owner.call("ingest_documents", source_id=source, documents=pages[:1])
    assert (again["skipped"], again["chunk_count"]) == (0, 1)
    assert (await owner.call("list_entities", entity_type="document"))["entities"][0]["content"] == "first"
    with pytest.raises(InvalidRequest, match="source_name"):
        await owner.call("ingest_documents", source_id=source, source_name="Other", documents=pages)


async def test_an_empty_filter_of_a_list_filters_nothing(owner: Person) -> None:
    await owner.call("create_entity", name="Kettle")
    for field in ("entity_type", "language", "category", "search", "project_ids"):
        assert (await owner.call("list_entities", **{field: ""}))["total"] == 1, field
