from stores.ledger import ABOUT, BESIDE, Ledger, RelationDraft
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, ORG, OTHER, create, draft, relate

EVERYBODY = frozenset({ORGANIZATION})


def say(ledger: Ledger, note: str, subject: str, *, name: str = ABOUT, visibility: str = ORGANIZATION) -> str:
    with ledger.transaction(ORG, ANN) as tx:
        return tx.relations.add_relation(
            RelationDraft(name, note, subject, visibility=visibility, provenance=BESIDE)
        ).id


def notes(ledger: Ledger, subject: str, visibility: frozenset[str] = EVERYBODY, limit: int = 50) -> list[str]:
    return [note.id for note in ledger.records.notes_about(ORG, subject, visibility=visibility, limit=limit)]


def test_notes_about_a_record_are_read_newest_first_by_whoever_may(ledger: Ledger) -> None:
    create(ledger, draft("t", entity_type="task"), draft("u", entity_type="task"))
    for name in ("n1", "n2", "n3"):
        create(ledger, draft(name, entity_type="note"))
        say(ledger, name, "t")
    say(ledger, "n1", "t", visibility="private:ann")
    create(ledger, draft("hidden", entity_type="note", visibility="private:ann"), draft("guide", entity_type="guide"))
    say(ledger, "hidden", "t", visibility="private:ann")
    say(ledger, "guide", "t")
    say(ledger, "n1", "u", name="RELATED_TO")
    relate(ledger, ABOUT, "n2", "u", provenance={"from": "related_to"})
    assert notes(ledger, "t") == ["n3", "n2", "n1"]
    assert notes(ledger, "t", limit=2) == ["n3", "n2"]
    assert notes(ledger, "t", EVERYBODY | {"private:ann"}) == ["hidden", "n3", "n2", "n1"]
    assert notes(ledger, "u") == []
    with ledger.transaction(ORG, ANN) as tx:
        assert [note.id for note in tx.records.notes_about("t")] == ["hidden", "n3", "n2", "n1"]
    assert ledger.records.notes_about(OTHER, "t", visibility=EVERYBODY, limit=5) == []


def test_what_is_not_about_it_any_more_is_no_note_of_it(ledger: Ledger) -> None:
    create(ledger, draft("t", entity_type="task"), draft("n", entity_type="note"))
    relation = say(ledger, "n", "t")
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation(relation)
        assert tx.records.notes_about("t") == []
    assert notes(ledger, "t") == []
