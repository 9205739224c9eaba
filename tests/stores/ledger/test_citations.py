"""Citations: each counts once, is on disk when the transaction has ended, and goes with its record."""

import pytest

from stores.errors import NotFound, ValidationFailed
from stores.ledger import Cited, Citing, Ledger
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, create, delete, draft

OPEN = frozenset({ORGANIZATION})
EVERY = ("a", "b", "mine", "hers", "elsewhere", "nothing")


def cite(ledger: Ledger, *ids: str, session: str = "s1", by: str = ANN, visible: frozenset[str] = OPEN) -> Cited:
    with ledger.transaction(ORG, by) as tx:
        return tx.memories.cite(ids, Citing(visible, session, "search"))


def test_what_one_may_not_read_is_as_what_does_not_exist(ledger: Ledger) -> None:
    create(ledger, draft("mine", visibility="private:ann"), draft("hers", visibility="private:eve"))
    create(ledger, draft("elsewhere"), organization_id=OTHER)
    visible = OPEN | {"private:ann"}
    found = cite(ledger, "hers", "mine", "elsewhere", "nothing", visible=visible)
    assert found == Cited({"mine": "private:ann"}, (), ("hers", "elsewhere", "nothing"))
    assert [(each.record_id, each.visibility) for each in ledger.memories.citations(ORG, EVERY)] == [
        ("mine", "private:ann")
    ]


def test_a_citation_survives_and_grows_no_feed(ledger: Ledger, second: Ledger) -> None:
    create(ledger, draft("a"))
    before = ledger.feed.head(ORG)
    cite(ledger, "a")
    assert ledger.feed.head(ORG) == before
    assert [each.record_id for each in second.memories.citations(ORG, EVERY)] == ["a"]


def test_what_is_undone_counts_nothing(ledger: Ledger) -> None:
    create(ledger, draft("a"))

    def fail() -> None:
        with ledger.transaction(ORG, ANN) as tx:
            assert tx.memories.cite(["a"], Citing(OPEN, "s", "search")).counted
            tx.records.delete_entity("nothing")

    with pytest.raises(NotFound):
        fail()
    with pytest.raises(ValidationFailed):
        cite(ledger, "a", session="s\0")
    assert ledger.memories.citations(ORG, EVERY) == []


def test_citations_go_with_their_record_and_with_their_user(ledger: Ledger) -> None:
    create(ledger, draft("a"), draft("b"))
    for by in (ANN, BOB):
        cite(ledger, "a", "b", by=by)
    delete(ledger, "a")
    assert [each.record_id for each in ledger.memories.citations(ORG, EVERY)] == ["b", "b"]
    ledger.people.delete_user(BOB)
    assert [each.record_id for each in ledger.memories.citations(ORG, EVERY)] == ["b"]
