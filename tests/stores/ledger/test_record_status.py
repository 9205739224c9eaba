from dataclasses import replace
from datetime import datetime

import pytest

from stores.ledger import Ledger
from stores.ledger.encoding import from_micros, to_micros
from stores.records import Entity, JsonValue
from tests.stores.ledger.samples import ANN, ORG, SteppingClock, create, delete, draft, relate, rename

ALL = frozenset({"organization", "private:x"})


@pytest.mark.parametrize(
    ("said", "expected"),
    [("2021-03-04T05:06:07Z", "2021-03-04T05:06:07+00:00"), ("2021", "2021-12-31T23:59:59.999999+00:00"),
     ("9999", None), ("the other day", None), (["2021"], None)],
)  # fmt: skip
def test_what_was_not_changed_is_as_old_as_its_capture_time_says(
    ledger: Ledger, said: JsonValue, expected: str | None
) -> None:
    create(ledger, draft("told", metadata={"captured_at": said}), draft("quoted", content='"captured_at": "2021"'))
    told = ledger.records.entity(ORG, "told")
    wanted = told.created_at if expected is None else datetime.fromisoformat(expected)
    found = ledger.records.statuses(ORG, ["told", "quoted"], visibility=ALL)
    assert (from_micros(found["told"].recent_us), found["quoted"].recent_us) == (wanted, found["quoted"].created_us)

    changed = rename(ledger, "told", "told again")
    again = ledger.records.statuses(ORG, ["told"], visibility=ALL)["told"]
    assert again.recent_us == to_micros(changed.updated_at) == again.updated_us


def seen(ledger: Ledger, *ids: str) -> dict[str, tuple[str, int]]:
    found = ledger.records.statuses(ORG, ids, visibility=ALL)
    return {each: (status.visibility, status.updated_us) for each, status in found.items()}


def truth(ledger: Ledger, *ids: str) -> dict[str, tuple[str, int]]:
    return {
        each: (entity.visibility, to_micros(entity.updated_at))
        for each, entity in ledger.records.entities(ORG, ids).items()
    }


def test_what_is_remembered_follows_every_change(ledger: Ledger, populated_url: str, clock: SteppingClock) -> None:
    ids = ("a", "b", "c", "d")
    create(ledger, draft("a"), draft("b"), draft("c"))
    assert seen(ledger, *ids) == truth(ledger, *ids)
    other = Ledger.open(populated_url, clock=clock)

    def hide(entity: Entity) -> Entity:
        return replace(entity, visibility="private:x", memory_scope="private")

    def rewrite(entity: Entity) -> Entity:
        return replace(entity, content=f"{entity.content}!")

    for write in (
        lambda tx: tx.records.update_entity("a", hide),
        lambda tx: tx.records.delete_entity("b"),
        lambda tx: tx.records.create_entity(draft("d")),
        lambda tx: [
            tx.records.update_entity("c", rewrite),
            tx.records.update_entity("c", hide),
            tx.records.update_entity("c", rewrite),
        ],
    ):
        with other.transaction(ORG, ANN) as tx:
            write(tx)
        for _ in range(2):
            assert seen(ledger, *ids) == truth(ledger, *ids)
    other.close()


def test_what_is_remembered_does_not_survive_a_full_memory(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.ledger.row_cache.MOST_RECORDS", 3)
    monkeypatch.setattr("stores.ledger.row_cache.MOST_CHANGES", 3)
    ids = tuple("abcdef")
    create(ledger, *map(draft, ids))
    assert seen(ledger, *ids) == truth(ledger, *ids)
    with ledger.transaction(ORG, ANN) as tx:
        for each in ids:
            tx.records.update_entity(each, lambda entity: replace(entity, content="new"))
    assert seen(ledger, *ids) == truth(ledger, *ids)


def test_a_supersession_by_another_process_is_seen_at_once(
    ledger: Ledger, populated_url: str, clock: SteppingClock
) -> None:
    create(ledger, *map(draft, "abcd"))
    other = Ledger.open(populated_url, clock=clock)
    keys = frozenset({"organization"})
    expected: set[str] = set()
    assert ledger.records.superseded(ORG, "abcd", visibility=keys) == expected
    for source, target in ("ab", "bc", "ad"):
        relate(other, "SUPERSEDES", source, target)
        expected.add(target)
        for _ in range(2):
            assert ledger.records.superseded(ORG, "abcd", visibility=keys) == expected
            assert ledger.records.superseded(ORG, "a", visibility=keys) == set()
    delete(other, "b")
    assert ledger.records.superseded(ORG, "abcd", visibility=keys) == {"d"}
    other.close()
