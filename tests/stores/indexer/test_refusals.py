"""What becomes of records that an index cannot take. They are real: rows of the ledger that were damaged from outside.

A revision that is no number is refused by Tantivy, by the graph's engine and by Arrow alike.
"""

import json
import resource
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from stores.graph import GraphIndex
from stores.index import Index
from stores.indexer import IndexerOptions, IndexName, IndexStatus
from stores.indexer.faults import MOST, Refusal, Refusals, admit, divide, is_of_the_machine
from stores.indexer.feed import Feed
from stores.lexical import LexicalIndex
from tests.indexes import degraded, differences
from tests.stores.indexer.samples import ORG, HashEmbedder, Vectors, World, draft, until

FOLLOWERS: tuple[IndexName, ...] = ("lexical", "graph")


def change_row(world: World, statement: str, *values: object) -> None:
    connection = sqlite3.connect(world.folder / "ledger.sqlite")
    with connection:
        connection.execute(statement, values)
    connection.close()


def spoil(world: World, record_id: str, revision: object = "many") -> None:
    change_row(world, "UPDATE entities SET revision = ? WHERE id = ?", revision, record_id)


def write_spoilt(world: World, record_id: str = "bad", *, around: int = 12) -> None:
    world.stop()
    others = [draft(f"e{at}", f"kestrel {at}") for at in range(around)]
    world.write(*others[: around // 2], draft(record_id, "bittern"), *others[around // 2 :])
    spoil(world, record_id)


def lines(world: World) -> Mapping[str, IndexStatus]:
    return {line.index: line for line in world.indexer.status() if line.organization_id == ORG}


def refused(world: World) -> dict[str, int]:
    return {name: line.refused for name, line in lines(world).items()}


def held(world: World) -> list[object]:
    with world.indexer.indexes(ORG) as open_:
        assert open_.lexical is not None
        contents = [dict(sorted(each.contents().items())) for each in (open_.lexical, open_.graph)]
        return [*contents, sorted(open_.graph.relation_ids())]


def caught_up(world: World) -> None:
    head = world.ledger.feed.head(ORG).sequence
    until(lambda: all((line := lines(world).get(name)) and line.watermark == head for name in FOLLOWERS))


def test_a_record_that_cannot_be_indexed_holds_nobody_up_and_is_named(world: World) -> None:
    write_spoilt(world)
    world.start()
    until(lambda: refused(world) == {"lexical": 1, "graph": 1, "vectors": 1})
    caught_up(world)
    for name in FOLLOWERS:
        assert lines(world)[name].state == "ready"
    assert degraded(world.indexer, ORG) == {"lexical", "graph", "vectors"}
    later = world.write(draft("later", "heron"))
    assert world.wait_applied(later, ["later"]) == []
    assert world.by_words("heron") == ["later"]
    assert world.by_words("bittern") == []
    assert len(world.by_words("kestrel")) == 10
    until(lambda: len(differences(world.indexer, ORG)) == 3)
    found = differences(world.indexer, ORG)
    assert [each.partition(": ")[0] for each in found] == ["lexical", "graph", "vectors"]
    assert all("entity bad cannot be" in each for each in found)


@pytest.mark.parametrize("deed", ["change", "delete"])
def test_a_later_change_of_the_record_brings_it_in_and_deleting_it_ends_the_matter(world: World, deed: str) -> None:
    write_spoilt(world)
    world.start()
    until(lambda: refused(world) == {"lexical": 1, "graph": 1, "vectors": 1})
    spoil(world, "bad", 1)
    if deed == "change":
        world.update("bad", content="heron")
    else:
        world.delete("bad")
    world.settle()
    assert refused(world) == {"lexical": 0, "graph": 0, "vectors": 0}
    assert degraded(world.indexer, ORG) == set()
    assert world.by_words("heron") == (["bad"] if deed == "change" else [])
    assert (world.by_meaning("bad heron", limit=1) == ["bad"]) == (deed == "change")
    assert differences(world.indexer, ORG) == []
    assert not list((world.indexes / ORG).rglob("*.refused*"))


def test_a_rebuild_leaves_out_the_same_records_and_takes_them_once_they_are_mended(world: World) -> None:
    world.embedder = None
    write_spoilt(world)
    for each in ("e3", "e8"):
        world.relate(each, "bad")
        world.relate("bad", each)
    world.relate("e3", "e8")
    world.start()
    caught_up(world)
    followed = held(world)
    found = differences(world.indexer, ORG)
    assert len(found) == 2, found
    world.indexer.reindex(ORG)
    assert held(world) == followed
    assert refused(world) == {"lexical": 1, "graph": 1}
    assert differences(world.indexer, ORG) == found
    spoil(world, "bad", 1)
    world.indexer.reindex(ORG)
    assert refused(world) == {"lexical": 0, "graph": 0}
    assert differences(world.indexer, ORG) == []


def test_a_change_that_cannot_be_indexed_takes_out_what_the_record_said_before(world: World) -> None:
    world.write(draft("bad", "heron"), draft("other"))
    world.relate("bad", "other")
    world.settle()
    world.stop()
    world.update("bad", content="bittern")
    spoil(world, "bad")
    world.start()
    until(lambda: refused(world) == {"lexical": 1, "graph": 1, "vectors": 1})
    assert world.by_words("heron") == []
    assert world.by_meaning("heron") == ["other"]
    followed = held(world)
    assert followed[1] == {"other": 1}
    assert followed[2] == []
    world.indexer.reindex(ORG, FOLLOWERS)
    assert held(world) == followed


def test_a_relation_that_cannot_be_indexed_leaves_the_others(world: World) -> None:
    world.write(*[draft(f"e{at}") for at in range(10)])
    world.settle()
    world.stop()
    ids = [world.relate(f"e{at}", f"e{at + 1}") for at in range(9)]
    # More than the graph's engine has memory for.
    change_row(world, "UPDATE relations SET name = hex(zeroblob(40000000)) WHERE id = ?", ids[4])
    world.start()
    caught_up(world)
    assert refused(world) == {"lexical": 0, "graph": 1, "vectors": 0}
    assert held(world)[2] == sorted({*ids} - {ids[4]})
    (found,) = differences(world.indexer, ORG)
    assert found.startswith(f"graph: relation {ids[4]} cannot be indexed: ")
    assert list(degraded(world.indexer, ORG)) == ["graph"]


def test_what_was_refused_is_known_after_a_restart(world: World) -> None:
    world.embedder = None
    write_spoilt(world)
    world.start()
    caught_up(world)
    world.restart()
    until(lambda: world.indexer.surveyed)
    assert refused(world) == {"lexical": 1, "graph": 1}, "nobody has opened them yet"
    with world.indexer.indexes(ORG) as open_:
        assert set(open_.degraded) == {"lexical", "graph"}


def test_after_an_unclean_stop_what_was_refused_is_no_reason_to_rebuild(world: World) -> None:
    world.embedder = None
    write_spoilt(world)
    world.relate("e1", "bad")
    world.start()
    caught_up(world)
    world.stop()
    generations = {each.parent.name: each.read_text() for each in (world.indexes / ORG).glob("*/current")}
    (world.indexes / ORG / "watermarks.json").unlink()
    world.start()
    until(lambda: all(line.state == "ready" for line in lines(world).values()))
    assert len(differences(world.indexer, ORG)) == 2
    assert {each.parent.name: each.read_text() for each in (world.indexes / ORG).glob("*/current")} == generations


def damage_links(world: World) -> None:
    with world.indexer.indexes(ORG) as open_:
        open_.graph._sessions.writer.command("DROP TABLE Link")


def test_an_index_that_refuses_what_a_new_one_takes_is_rebuilt_and_says_so_all_the_while(world: World) -> None:
    world.write(draft("a"), draft("b"))
    world.settle()
    world.restart(gather_s=0.1, gather_unhurried_s=0.1, retry_first_s=0.05)
    world.settle()
    damage_links(world)
    relation = world.relate("a", "b")
    head = world.ledger.feed.head(ORG).sequence
    until(lambda: "graph" in degraded(world.indexer, ORG))
    silent = []

    def healed() -> bool:
        is_named = "graph" in degraded(world.indexer, ORG)
        is_in = world.indexer.applied(ORG, head) and lines(world)["graph"].watermark == head
        if not is_named and not is_in:
            silent.append(lines(world)["graph"])
        return is_in and not is_named

    until(healed)
    assert silent == [], "it is tried again, and searches are told nothing"
    world.settle()
    assert held(world)[2] == [relation]
    assert refused(world)["graph"] == 0
    assert differences(world.indexer, ORG) == []


def test_an_index_that_cannot_be_opened_is_missing_in_searches_as_long_as_it_is_failed(world: World) -> None:
    world.write(draft("a", "kestrel"))
    folder = world.indexes / ORG
    folder.mkdir(parents=True)
    (folder / "lexical").write_text("a file stands where the folder should be")
    world.start(retry_first_s=0.2)
    until(lambda: "lexical" in lines(world) and lines(world)["lexical"].state == "failed")
    with world.indexer.indexes(ORG) as open_:
        assert open_.lexical is None
        assert "lexical" in open_.degraded
    (folder / "lexical").unlink()
    world.settle()
    assert world.by_words("kestrel") == ["a"]
    assert degraded(world.indexer, ORG) == set()


class Spoiling(HashEmbedder):
    spoilt: str | None = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = super().embed_documents(texts)
        for at, text in enumerate(texts):
            if self.spoilt is not None and self.spoilt in text:
                vectors[at] = np.nan
        return vectors


def test_a_record_whose_vectors_the_index_refuses_is_left_out_until_it_changes(world: World) -> None:
    world.embedder = embedder = Spoiling()
    embedder.spoilt = "poison"
    world.write(*[draft(f"e{at}", f"kestrel {at}") for at in range(20)], draft("a", "poison"))
    world.start()
    until(lambda: refused(world).get("vectors") == 1)
    until(lambda: len(world.by_meaning("kestrel", limit=30)) == 20)
    last = world.write(draft("last", "heron"))
    assert world.wait_applied(last, ["last"]) == []
    embedder.spoilt = None
    world.update("a", content="cured")
    world.settle()
    assert degraded(world.indexer, ORG) == set()
    assert world.by_meaning("a cured", limit=1) == ["a"]
    assert differences(world.indexer, ORG) == []


def test_a_reindex_ends_where_a_record_cannot_be_embedded(world: World) -> None:
    embedder = world.embedder
    world.write(*[draft(f"e{at}", f"kestrel {at}") for at in range(20)], draft("a", "poison"))
    world.settle()
    embedder.refused = "poison"
    world.restart(cached_texts=0)
    world.indexer.reindex(ORG, ["vectors"])
    assert refused(world)["vectors"] == 1
    embedder.refused = None
    until(lambda: refused(world)["vectors"] == 0)
    world.restart()
    world.settle()
    assert differences(world.indexer, ORG) == []
    until(lambda: not list((world.indexes / ORG).rglob("*.incomplete")))


@contextmanager
def little_room() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", FOLLOWERS)
def test_where_no_room_is_left_no_record_is_to_blame(world: World, name: IndexName) -> None:
    text = " ".join(f"word{number}" for number in range(300))
    world.write(*[draft(f"e{at}{'x' * 300}", f"{text} {at}") for at in range(400)])
    feed = Feed(world.ledger, ORG, IndexerOptions(batch_changes=1_000, batch_characters=10**9))
    batch = feed.batch(feed.origin(), feed.changes(feed.origin()))
    folder = world.folder / name
    index: Index = LexicalIndex(folder) if name == "lexical" else GraphIndex(folder)

    try:
        with little_room(), pytest.raises((RuntimeError, ValueError)) as failed:
            admit(index, batch, feed.origin(), lambda: None)
        assert is_of_the_machine(failed.value)
        assert not index.contents()
    finally:
        index.close()


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        MemoryError(),
        RuntimeError("lance error: LanceError(IO): No space left on device (os error 28), structural.rs:258:9"),
        ValueError("Failed to open file for write: 'IoError { io_error: Custom { kind: StorageFull } }'"),
    ],
    ids=["disk", "memory", "vectors", "words"],
)
def test_an_attempt_that_fails_at_the_machine_ends_the_search_for_a_record(error: Exception) -> None:
    def attempt(_: Sequence[str]) -> None:
        raise error

    with pytest.raises(type(error)):
        divide(["a", "b"], attempt, "together")


def test_dividing_finds_each_of_several_and_attempts_all_others() -> None:
    bad = {3, 4, 17}
    taken: set[int] = set()

    def attempt(items: Sequence[int]) -> None:
        if bad.intersection(items):
            raise ValueError(f"one of {len(items)}")
        taken.update(items)

    found = divide(range(20), attempt, "all")
    assert {item for item, _ in found} == bad
    assert taken == set(range(20)) - bad


def test_an_index_that_refuses_too_many_is_of_no_use(tmp_path: Path) -> None:
    refusals = Refusals(tmp_path / "0001")
    why = Refusal("entity", "no reason")
    assert refusals.note({"a": why}, {"a"}) == ["a"]
    assert refusals.note({"a": why}, {"a"}) == [], "it was said before"
    with pytest.raises(RuntimeError, match="refuses"):
        refusals.note({str(at): why for at in range(MOST)}, ())
    assert Refusals(tmp_path / "0001").book == {"a": why}
    assert json.loads((tmp_path / "0001.refused").read_text()) == {"a": list(why)}
