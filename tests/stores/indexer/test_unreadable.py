"""A row of the ledger that cannot be read holds up no other record, in no index, whenever it was damaged."""

import sqlite3
from pathlib import Path

from sqlalchemy import text

from stores.ledger.store import Entry
from tests.indexes import degraded, differences
from tests.stores.indexer.samples import ORG, LetterTokens, World, draft, until
from tests.stores.indexer.test_refusals import caught_up, held

WHOLE = "{}"
TORN = '{"occurred_at": "2026-0'


def tear(world: World, record_id: str, metadata: str = TORN) -> None:
    with world.ledger._database.write() as connection:
        connection.execute(
            text("UPDATE entities SET metadata = :metadata WHERE id = :id"), {"metadata": metadata, "id": record_id}
        )


def write_torn(world: World) -> None:
    world.stop()
    others = [draft(f"e{at}", f"kestrel {at}") for at in range(8)]
    world.write(*others[:4], draft("bad", "bittern"), *others[4:])
    tear(world, "bad")


def take_no_notice(world: World) -> None:
    later = world.write(draft("later", "heron"))
    assert world.wait_applied(later, ["later"]) == []
    assert world.by_words("heron") == ["later"]
    assert world.by_meaning("later heron", limit=1) == ["later"]
    assert world.by_words("bittern") == []
    assert len(world.by_words("kestrel")) == 8
    assert degraded(world.indexer, ORG) == set()
    (found,) = world.ledger.feed.unreadable(ORG)
    assert found.startswith("entity bad cannot be read: its row in the ledger is damaged")


def test_one_that_is_damaged_while_nothing_runs_holds_nobody_up(world: World) -> None:
    write_torn(world)
    world.start()
    caught_up(world)
    take_no_notice(world)


def test_one_that_is_damaged_while_all_runs_leaves_the_indexes_when_it_is_read_again(world: World) -> None:
    world.write(*(draft(f"e{at}", f"kestrel {at}") for at in range(8)), draft("bad", "bittern"))
    world.settle()
    tear(world, "bad")
    with world.ledger.transaction(ORG, "user-ann") as tx:
        tx.record(Entry("entity", "bad", "update", 2, "episode", "organization", {}))
    until(lambda: world.by_words("bittern") == [])
    take_no_notice(world)


def test_a_rebuild_comes_to_an_end_and_takes_it_once_it_is_mended(world: World) -> None:
    world.write(draft("a", "kestrel"), draft("bad", "bittern"), draft("b", "kestrel"))
    torn, whole = world.relate("a", "bad"), world.relate("a", "b")
    world.settle()
    before = held(world)
    tear(world, "bad")
    with world.ledger._database.write() as connection:
        connection.execute(text("UPDATE relations SET provenance = 'torn' WHERE id = :id"), {"id": torn})
    world.indexer.reindex(ORG)
    assert world.by_words("bittern") == []
    assert held(world)[2] == [whole]
    left_out = [each.partition(" cannot be read: ")[0] for each in world.ledger.feed.unreadable(ORG)]
    assert left_out == ["entity bad", f"relation {torn}"]
    tear(world, "bad", WHOLE)
    with world.ledger._database.write() as connection:
        connection.execute(text("UPDATE relations SET provenance = '{}' WHERE id = :id"), {"id": torn})
    world.indexer.reindex(ORG)
    world.settle()
    assert held(world) == before
    assert world.by_meaning("bad bittern", limit=1) == ["bad"]
    assert differences(world.indexer, ORG) == []


def test_a_text_that_is_torn_in_the_middle_of_a_character_is_indexed_without_it(world: World) -> None:
    write_torn(world)
    tear(world, "bad", WHOLE)
    with sqlite3.connect(world.folder / "ledger.sqlite") as connection:
        connection.execute("UPDATE entities SET content = CAST(x'6269747465726eff' AS TEXT) WHERE id = 'bad'")
    connection.close()
    world.start()
    caught_up(world)
    assert world.by_words("bittern") == ["bad"]
    assert len(world.by_words("kestrel")) == 8


def test_tokens_are_made_of_the_others(world: World, late: LetterTokens) -> None:
    world.write(draft("a", "kestrel", name=""), draft("bad", "bittern", name=""))
    until(lambda: world.tokens("a", "bad") == {"a": 1, "bad": 1})
    tear(world, "bad")
    world.indexer.reindex(ORG, ["vectors"])
    until(lambda: world.tokens("a", "bad") == {"a": 1})
    assert late.failure is None


def test_on_postgresql_it_is_the_same(database: str, tmp_path: Path) -> None:
    world = World(tmp_path, url=database)
    try:
        write_torn(world)
        world.start()
        caught_up(world)
        take_no_notice(world)
        tear(world, "bad", WHOLE)
        world.indexer.reindex(ORG)
        world.settle()
        assert world.by_words("bittern") == ["bad"]
        assert differences(world.indexer, ORG) == []
    finally:
        world.close()
