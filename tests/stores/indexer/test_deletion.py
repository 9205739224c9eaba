"""What is left of an organization after it is deleted: nothing, and nobody else is disturbed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stores.errors import NotFound
from tests.stores.indexer.samples import World, draft, until

GONE, STAYS = "gone", "stays"


@pytest.fixture
def two(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, organizations=[STAYS])
    made.add_shared_organization(GONE)
    for each in (GONE, STAYS):
        made.write(draft("a", f"kestrel of {each}"), org=each)
    yield made
    made.close()


def names(world: World) -> set[str]:
    return {line.organization_id for line in world.indexer.status()}


def watched(world: World) -> bool:
    other = world.open_ledger()
    with other.transaction(STAYS, "somebody") as tx:
        tx.records.create_entity(draft(f"b{tx.sequence}", "heron"))
    other.close()
    until(lambda: bool(world.by_words("heron", org=STAYS)))
    return True


def test_the_indexes_of_a_deleted_organization_are_closed_and_removed(two: World) -> None:
    two.start(poll_s=0.05)
    two.settle(GONE)
    two.settle(STAYS)
    two.ledger.people.delete_organization(GONE)
    assert not (two.indexes / GONE).exists()
    assert [each.id for each in two.indexer._registry.known()] == [STAYS]
    assert names(two) == set(two.indexer.watermarks()) == {STAYS}
    with pytest.raises(NotFound), two.indexer.indexes(GONE):
        pass
    assert watched(two)


def test_whoever_searches_meanwhile_ends_in_peace(two: World) -> None:
    two.start(poll_s=0.05)
    two.settle(GONE)
    with two.indexer.indexes(GONE) as open_:
        two.ledger.people.delete_organization(GONE)
        assert open_.lexical is not None
    until(lambda: not (two.indexes / GONE).exists())
    two.restart()
    assert not (two.indexes / GONE).exists()


def test_a_commit_that_is_announced_late_brings_nothing_back(two: World) -> None:
    two.start(poll_s=0.05)
    two.settle(GONE)
    two.ledger.people.delete_organization(GONE)
    two.indexer.notify(GONE, 1)
    assert watched(two)
    assert names(two) == {STAYS}
    assert not (two.indexes / GONE).exists()


def test_a_deletion_by_another_process_is_found_and_stops_nobody(two: World) -> None:
    two.start(poll_s=0.05)
    two.settle(GONE)
    two.settle(STAYS)
    other = two.open_ledger()
    other.people.delete_organization(GONE)
    other.close()
    until(lambda: not (two.indexes / GONE).exists())
    assert names(two) == {STAYS}
    assert watched(two)


def test_what_was_deleted_while_the_server_stood_still_is_removed_at_its_start(two: World) -> None:
    two.settle(GONE)
    two.settle(STAYS)
    two.stop()
    two.ledger.people.delete_organization(GONE)
    assert (two.indexes / GONE).exists()
    two.start(poll_s=0.05)
    until(lambda: not (two.indexes / GONE).exists())
    assert two.by_words("kestrel", org=STAYS) == ["a"]
    assert names(two) == {STAYS}
