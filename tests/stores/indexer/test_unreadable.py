"""A row of the ledger that cannot be read holds up no other record, in no index, whenever it was damaged."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from stores.ledger.writing import Entry
from tests.stores.indexer.samples import ORG, PATIENCE_S, LetterTokens, World, draft, until
from tests.stores.indexer.test_refusals import caught_up, held, lines, refused

EACH = {"lexical": 1, "graph": 1, "vectors": 1}
NONE = {"lexical": 0, "graph": 0, "vectors": 0}
WHOLE = "{}"
TORN = '{"occurred_at": "2026-0'


def tear(world: World, record_id: str, metadata: str = TORN) -> None:
    with world.ledger._database.write() as connection:
        connection.execute(
            text("UPDATE entities SET metadata = :metadata WHERE id = :id"), {"metadata": metadata, "id": record_id}
        )


def write_torn(world: World, record_id: str = "bad") -> None:
    world.stop()
    others = [draft(f"e{at}", f"kestrel {at}") for at in range(8)]
    world.write(*others[:4], draft(record_id, "bittern"), *others[4:])
    tear(world, record_id)


def take_no_notice(world: World) -> None:
    later = world.write(draft("later", "heron"))
    assert world.indexer.wait_applied(ORG, later, ["later"], PATIENCE_S) == []
    assert world.by_words("heron") == ["later"]
    assert world.by_meaning("later heron", limit=1) == ["later"]
    assert world.by_words("bittern") == []
    assert len(world.by_words("kestrel")) == 8


def test_one_that_is_damaged_while_nothing_runs_is_named_and_holds_nobody_up(world: World) -> None:
    write_torn(world)
    world.start()
    until(lambda: refused(world) == EACH)
    caught_up(world)
    take_no_notice(world)
    assert {name: lines(world)[name].state for name in ("lexical", "graph")} == {"lexical": "ready", "graph": "ready"}
    assert "its row in the ledger is damaged" in lines(world)["lexical"].detail
    assert set(world.indexer.degraded(ORG)) == set(EACH)
    found = world.indexer.check(ORG)
    assert [each.partition(": ")[0] for each in found] == list(EACH)
    assert all("entity bad cannot be " in each and "damaged: JSONDecodeError" in each for each in found)


def test_one_that_is_damaged_before_its_organization_is_first_indexed(world: World) -> None:
    world.write(draft("a", "kestrel"), draft("bad", "bittern"))
    tear(world, "bad")
    world.start(replay_at_most=0)
    until(lambda: refused(world) == EACH)
    assert world.by_words("kestrel") == ["a"]
    assert [record_id for contents in held(world)[:2] for record_id in contents] == ["a", "a"]  # type: ignore[attr-defined]


def test_one_that_is_damaged_while_all_runs_leaves_the_indexes_when_it_is_read_again(world: World) -> None:
    world.write(*(draft(f"e{at}", f"kestrel {at}") for at in range(8)), draft("bad", "bittern"))
    world.settle()
    tear(world, "bad")
    with world.ledger.transaction(ORG, "user-ann") as tx:
        tx._writing.record(_change_of("bad"))
    until(lambda: refused(world) == EACH)
    take_no_notice(world)


def _change_of(record_id: str) -> Entry:
    return Entry("entity", record_id, "update", 2, "episode", "organization", {})


def test_a_rebuild_comes_to_an_end_and_takes_it_once_it_is_mended(world: World) -> None:
    world.write(draft("a", "kestrel"), draft("bad", "bittern"), draft("b", "kestrel"))
    bridge = world.relate("a", "bad")
    world.relate("a", "b")
    world.settle()
    before = held(world)
    tear(world, "bad")
    world.indexer.reindex(ORG)
    assert refused(world) == EACH
    assert world.by_words("bittern") == []
    assert bridge in world.ledger.relations.relation_ids(ORG)
    tear(world, "bad", WHOLE)
    world.indexer.reindex(ORG)
    world.settle()
    assert refused(world) == NONE
    assert held(world) == before
    assert world.by_meaning("bad bittern", limit=1) == ["bad"]
    assert world.indexer.check(ORG) == []


def test_a_damaged_relation_is_left_out_of_the_graph_alone(world: World) -> None:
    world.write(draft("a", "kestrel"), draft("b", "kestrel"))
    world.settle()
    torn, whole = world.relate("a", "b"), world.relate("b", "a")
    world.settle()
    with world.ledger._database.write() as connection:
        connection.execute(text("UPDATE relations SET provenance = 'torn' WHERE id = :id"), {"id": torn})
    world.indexer.reindex(ORG)
    assert refused(world) == NONE | {"graph": 1, "lexical": 0}
    assert held(world)[2] == [whole]
    (found,) = world.indexer.check(ORG)
    assert found.startswith(f"graph: relation {torn} cannot be indexed: its row in the ledger is damaged")


def test_the_vectors_take_it_without_a_start_once_it_has_rested(world: World) -> None:
    write_torn(world)
    world.start(retry_first_s=0.005)
    until(lambda: refused(world).get("vectors") == 1)
    tear(world, "bad", WHOLE)
    until(lambda: refused(world).get("vectors") == 0)
    assert world.by_meaning("bad bittern", limit=1) == ["bad"]


def test_while_it_stays_damaged_the_vectors_ask_for_it_again_and_again_without_naming_it_each_time(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    write_torn(world)
    world.start(retry_first_s=0.005)
    until(lambda: refused(world) == EACH)
    asked: list[int] = []
    read = world.ledger.records.read_entities
    world.ledger.records.read_entities = lambda *given: asked.append(1) or read(*given)  # type: ignore[method-assign,func-returns-value]
    until(lambda: len(asked) >= 2)
    assert lines(world)["vectors"].refused == 1
    take_no_notice(world)
    assert capsys.readouterr().out.count("record_refused") == 3


def test_a_text_that_is_torn_in_the_middle_of_a_character_is_no_worse(world: World) -> None:
    write_torn(world)
    tear(world, "bad", WHOLE)
    with sqlite3.connect(world.folder / "ledger.sqlite") as connection:
        connection.execute("UPDATE entities SET content = CAST(x'6269747465726eff' AS TEXT) WHERE id = 'bad'")
    connection.close()
    world.start()
    until(lambda: refused(world) == EACH)
    take_no_notice(world)
    world.indexer.reindex(ORG)
    until(lambda: refused(world) == EACH)


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
        until(lambda: refused(world) == EACH)
        take_no_notice(world)
        world.indexer.reindex(ORG)
        until(lambda: refused(world) == EACH)
        tear(world, "bad", WHOLE)
        world.indexer.reindex(ORG)
        world.settle()
        assert world.by_words("bittern") == ["bad"]
        assert world.indexer.check(ORG) == []
    finally:
        world.close()
