from dataclasses import replace

import pytest

from stores.errors import Conflict, NotFound, ValidationFailed
from stores.ledger import Ledger
from stores.records import Chunk, Document
from tests.stores.ledger.samples import ANN, EVERYTHING, ORG, create, delete, draft, relate

PAGE = Document(id="d1", source_id="s1", url="https://docs.example/a?x=%20", title="Títle", content_hash="sha256:1")


def chunk(number: int, *, document_id: str = "d1", source_id: str = "s1") -> Chunk:
    return Chunk(f"{document_id}-c{number}", document_id, source_id, number, "paragraph", ("Top", "“Sub”"))


def add_source(ledger: Ledger, source_id: str = "s1", name: str = "The Docs") -> None:
    create(ledger, draft(source_id, entity_type="source", name=name, metadata={"url": "https://docs.example"}))


def add_chunks(ledger: Ledger, count: int, document: Document = PAGE) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.add_document(document)
        for number in range(count):
            place = chunk(number, document_id=document.id, source_id=document.source_id)
            tx.records.add_chunk(
                place, draft(place.id, entity_type="document", name=document.title, content=f"text {number}")
            )


def sources(ledger: Ledger, **wanted: str) -> list[str]:
    return ledger.records.sources(ORG, visibility=EVERYTHING.visibility, **wanted)


def test_sources_are_found_by_name_and_by_part_of_it_in_any_case(ledger: Ledger) -> None:
    for source_id, name in (("s1", "React Docs"), ("s2", "react docs"), ("s3", "100% Ünïque")):
        add_source(ledger, source_id, name)
    create(ledger, draft("e1", name="React Docs"))
    assert sources(ledger, name="REACT docs") == ["s1", "s2"]
    assert sources(ledger, name="React") == []
    assert sources(ledger, name_contains="act D") == ["s1", "s2"]
    assert sources(ledger, name_contains="% ÜN") == ["s3"]
    assert sources(ledger, name_contains="%a%") == []
    assert sources(ledger) == ["s3", "s1", "s2"]
    long_name = "docs " * 100
    add_source(ledger, "s4", long_name + "A")
    add_source(ledger, "s5", long_name + "B")
    assert sources(ledger, name=long_name + "b") == ["s5"]
    assert sources(ledger, name_contains="docs a") == ["s4"]


def test_a_document_needs_its_source_and_a_chunk_its_document(ledger: Ledger) -> None:
    create(ledger, draft("s1"))
    with pytest.raises(NotFound, match="Source s1"), ledger.transaction(ORG, ANN) as tx:
        tx.records.add_document(PAGE)
    add_source(ledger, "s2")
    add_chunks(ledger, 1, replace(PAGE, id="d2", source_id="s2"))
    with pytest.raises(Conflict), ledger.transaction(ORG, ANN) as tx:
        tx.records.add_document(replace(PAGE, id="d2", source_id="s2"))
    with pytest.raises(NotFound), ledger.transaction(ORG, ANN) as tx:
        tx.records.add_chunk(chunk(1, document_id="d2", source_id="other"), draft("d2-c1"))
    with pytest.raises(Conflict), ledger.transaction(ORG, ANN) as tx:
        tx.records.add_chunk(chunk(0, document_id="d2", source_id="s2"), draft("d2-c0"))
    with pytest.raises(ValidationFailed), ledger.transaction(ORG, ANN) as tx:
        tx.records.add_chunk(chunk(1, document_id="d2", source_id="s2"), draft("another-id"))
    with pytest.raises(NotFound), ledger.transaction(ORG, ANN) as tx:
        tx.records.remove_document("absent")


def test_deleting_a_source_erases_documents_chunks_and_their_relations(ledger: Ledger) -> None:
    add_source(ledger)
    create(ledger, draft("e1"))
    add_chunks(ledger, 3)
    add_chunks(ledger, 1, replace(PAGE, id="d2"))
    relate(ledger, "ABOUT", "e1", "d1-c2", id="r1")
    relate(ledger, "CONTAINS", "s1", "d1-c0", id="r2")
    head = ledger.feed.head(ORG).sequence

    with ledger.transaction(ORG, ANN) as tx:
        tx.records.delete_entity("s1", fields={"why": "test"})

    assert set(ledger.records.revisions(ORG)) == {"e1"}
    assert ledger.records.documents(ORG, "s1") == []
    assert ledger.relations.relation_ids(ORG) == set()
    deleted = ledger.feed.changes(ORG, head, 20)
    assert {row.operation for row in deleted} == {"delete"}
    assert {row.record_id for row in deleted} == {"r1", "r2", "d1-c0", "d1-c1", "d1-c2", "d2-c0", "s1"}
    assert (deleted[-1].record_id, deleted[-1].fields) == ("s1", {"why": "test"})
    found, _ = ledger.records.list_entities(ORG, replace(EVERYTHING, include_chunks=True))
    assert [entity.id for entity in found] == ["e1"]


def test_a_source_of_many_chunks_is_erased_in_one_transaction(ledger: Ledger) -> None:
    add_source(ledger)
    add_chunks(ledger, 1_100)
    delete(ledger, "s1")
    assert ledger.records.revisions(ORG) == {}
    assert ledger.feed.head(ORG).sequence == 2 * 1_101
