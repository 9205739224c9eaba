"""What the indexer does after stops, restores, damage and changes of the model."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.graph import GraphIndex
from stores.index import IndexBatch
from stores.indexer import Indexer, IndexerOptions, IndexName
from stores.indexer.feed import Feed
from stores.lexical import LexicalIndex
from stores.lexical.schema import FORMAT
from stores.records import Change, Position
from stores.vectors import VectorState
from tests.indexes import degraded, differences
from tests.stores.indexer.samples import ORG, PATIENCE_S, HashEmbedder, World, draft, until

WORDS = ("kestrel", "heron", "bittern", "quagga", "zanzibar")
INDEXES: tuple[IndexName, ...] = ("lexical", "graph", "vectors")

History = list[tuple[str, int, int, str, bool]]

steps = st.lists(
    st.tuples(
        st.sampled_from(("create", "update", "delete", "relate")),
        st.integers(0, 5),
        st.integers(0, 5),
        st.sampled_from(WORDS),
        st.booleans(),
    ),
    max_size=14,
)


def play(world: World, history: History) -> None:
    for action, first, second, word, deferred in history:
        one, other = f"e{first}", f"e{second}"
        there = world.ledger.records.revisions(ORG)
        if action == "create" and one not in there:
            world.write(draft(one, word), deferred=deferred)
        elif action == "update" and one in there:
            world.update(one, content=f"{word} {second}")
        elif action == "delete" and one in there:
            world.delete(one)
        elif action == "relate" and one in there and other in there and one != other:
            world.relate(one, other)


def answers(world: World) -> list[object]:
    with world.indexer.indexes(ORG) as open_:
        assert open_.lexical is not None
        assert open_.vectors is not None
        contents = [dict(sorted(each.contents().items())) for each in (open_.lexical, open_.graph, open_.vectors)]
        relations = sorted(open_.graph.relation_ids())
    words = [sorted(world.by_words(word)) for word in WORDS]
    meanings = [world.by_meaning(word) for word in WORDS]
    return [*contents, relations, words, meanings]


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=steps, more=steps)
def test_a_rebuild_equals_what_was_followed(
    history: History, more: History, tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = World(tmp_path_factory.mktemp("world"))
    try:
        world.start()
        play(world, history)
        world.restart()
        play(world, more)
        world.settle()
        followed = answers(world)
        assert differences(world.indexer, ORG) == []
        world.indexer.reindex(ORG)
        assert answers(world) == followed
        world.stop()
        shutil.rmtree(world.indexes)
        world.start(replay_at_most=0)
        world.settle()
        assert answers(world) == followed
        assert differences(world.indexer, ORG) == []
    finally:
        world.close()


def test_applying_the_feed_twice_changes_nothing(world: World, tmp_path: Path) -> None:
    play(world, [("create", at, 0, WORDS[at % 5], False) for at in range(6)])
    play(world, [("relate", 0, 1, "", False), ("update", 2, 1, "quagga", False), ("delete", 3, 0, "", False)])
    feed = Feed(world.ledger, ORG, IndexerOptions(batch_changes=3, batch_characters=1_000))
    lexical, graph = LexicalIndex(tmp_path / "words"), GraphIndex(tmp_path / "graph")

    def replay() -> list[object]:
        position = feed.origin()
        while changes := feed.changes(position):
            batch = feed.batch(position, changes)
            lexical.apply(batch)
            graph.apply(batch)
            position = batch.position
        return [dict(lexical.contents()), dict(graph.contents()), graph.relation_ids(), lexical.position()]

    once = replay()
    assert replay() == once
    assert once[0] == once[1] == world.ledger.records.revisions(ORG)
    lexical.close()
    graph.close()


def test_after_a_clean_stop_nothing_is_embedded_again(world: World) -> None:
    world.write(draft("a", "kestrel"), draft("b", "heron"))
    world.relate("a", "b")
    world.settle()
    before = len(world.embedder.texts)
    world.restart()
    world.settle()
    assert answers(world)[0] == {"a": 1, "b": 1}
    assert len(world.embedder.texts) == before


def test_what_the_vector_lane_had_not_done_is_resumed_and_nothing_twice(world: World) -> None:
    world.hold()
    begun = world.embedder.begun
    world.write(*[draft(f"bulk{at}", "bulk") for at in range(20)], deferred=True)
    until(lambda: world.embedder.begun > begun)
    urgent = world.write(draft("urgent"))
    until(lambda: world.queued(interactive=True) == 1)
    world.embedder.gate.set()
    world.wait_applied(urgent, ["urgent"])
    world.restart()
    world.settle()
    assert differences(world.indexer, ORG) == []
    assert world.embedder.texts.count("urgent") == 1


def test_new_writes_while_stopped_are_caught_up_without_anybody_asking(world: World) -> None:
    world.write(draft("a"))
    world.settle()
    world.stop()
    last = world.write(draft("b", "heron"))
    world.start()
    until(lambda: world.indexer.applied(ORG, last))


@pytest.mark.parametrize("written_after", [0, 2, 9], ids=["head below", "head between", "head above the watermarks"])
def test_an_older_copy_of_the_ledger_rebuilds_its_indexes(world: World, written_after: int) -> None:
    world.write(draft("old", "kestrel"))
    world.settle()
    world.stop()
    world.ledger.close()
    copy = sqlite3.connect(world.folder / "ledger.sqlite")
    copy.execute("VACUUM INTO ?", (str(world.folder / "backup"),))
    copy.close()
    world.ledger = world.open_ledger()
    world.write(draft("lost", "heron"), draft("changed", "lost text"))
    world.update("changed", content="lost again")
    world.settle()
    world.stop()
    world.ledger.close()
    for each in world.folder.glob("ledger.sqlite*"):
        each.unlink()
    (world.folder / "backup").rename(world.folder / "ledger.sqlite")
    world.ledger = world.open_ledger()
    for at in range(written_after):
        if at == 1:
            world.write(draft("changed", "bittern"))
        elif at == 2:
            world.update("changed", content="quagga")
        else:
            world.write(draft(f"new{at}", "bittern"))
    world.settle()
    assert differences(world.indexer, ORG) == []
    assert world.by_words("heron") == []
    assert world.by_words("kestrel") == ["old"]
    if written_after > 2:
        assert world.by_meaning("changed quagga", limit=1) == ["changed"]


def test_a_restored_ledger_is_noticed_by_changes_that_were_applied_ahead_of_the_others(world: World) -> None:
    world.write(draft("old"))
    world.settle()
    head = world.ledger.feed.head(ORG)
    with world.indexer.indexes(ORG) as open_:
        ahead = VectorState(head, Position(head.epoch, head.sequence + 2, "another"))
        open_.vectors.replace([], ["old"], ahead)
    world.stop()
    world.write(draft("a"), draft("b"), draft("c"))
    world.settle()
    assert differences(world.indexer, ORG) == []


def test_a_pruned_feed_makes_a_follower_that_is_behind_rebuild(world: World) -> None:
    world.write(draft("a", "kestrel"), draft("b"))
    world.settle()
    world.stop()
    world.write(draft("c", "heron"))
    last = world.write(draft("d"))
    world.ledger.feed.prune_feed(datetime(2999, 1, 1, tzinfo=UTC), {ORG: last})
    world.settle()
    assert world.by_words("heron") == ["c"]
    assert differences(world.indexer, ORG) == []


def damage_lexical(folder: Path) -> None:
    for each in folder.rglob("meta.json"):
        each.write_text("{")


def damage_all_files(folder: Path) -> None:
    for each in folder.rglob("*"):
        if each.is_file():
            each.write_bytes(b"damaged" * 100)


@pytest.mark.parametrize(
    ("name", "damage"),
    [("lexical", damage_lexical), ("graph", damage_all_files), ("vectors", damage_all_files)],
    ids=["lexical", "graph", "vectors"],
)
def test_a_damaged_index_is_rebuilt_while_the_others_serve(
    world: World, name: IndexName, damage: Callable[[Path], None]
) -> None:
    assert world.embedder is not None
    world.write(draft("a", "kestrel"), draft("b", "heron"))
    world.relate("a", "b")
    world.settle()
    world.stop()
    damage(world.indexes / ORG / name)
    for each in (world.indexes / ORG / name).rglob("current"):
        each.write_text("0001")
    world.write(draft("c", "bittern"))

    def another_serves() -> bool:
        with world.indexer.indexes(ORG) as opened:
            return (opened.graph if name == "lexical" else opened.lexical) is not None

    until(another_serves)
    world.settle()
    assert differences(world.indexer, ORG) == []
    assert world.by_words("kestrel") == ["a"]
    assert world.by_meaning("heron")[0] == "b"
    until(lambda: len([each for each in (world.indexes / ORG / name).iterdir() if each.is_dir()]) == 1)


def test_an_index_that_was_left_half_filled_is_not_read_before_it_is_whole(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        world.write(draft(name, "kestrel"))
    world.settle()
    readable, read = 2, Feed.changes

    def halfway(feed: Feed, after: Position, limit: int | None = None) -> list[Change]:
        return read(feed, after, limit) if after.sequence < readable else []

    monkeypatch.setattr(Feed, "changes", halfway)
    monkeypatch.setattr("stores.indexer.indexer.OPEN_TIMEOUT_S", 0.2)
    world.stop()
    monkeypatch.setattr("stores.lexical.schema.FORMAT", FORMAT + 1)
    for _ in range(2):
        world.restart(batch_changes=1)
        until(lambda: ("lexical", readable) in [(line.index, line.watermark) for line in world.indexer.status()])
        with world.indexer.indexes(ORG) as opened:
            assert opened.lexical is None
            assert "lexical" in opened.degraded
    readable = 99
    world.settle()
    assert not list((world.indexes / ORG).glob("lexical/*.incomplete"))
    assert sorted(world.by_words("kestrel")) == ["a", "b", "c"]
    world.restart()
    assert sorted(world.by_words("kestrel")) == ["a", "b", "c"]


def test_another_model_is_taken_up_without_losing_the_words(world: World) -> None:
    world.write(*[draft(f"e{at}", f"kestrel {at}") for at in range(10)])
    world.settle()
    world.stop()
    other = HashEmbedder("hash-2", 32)
    other.gate.clear()
    world.embedder = other
    world.start()
    assert len(world.by_words("kestrel")) == 10
    until(lambda: "vectors" in degraded(world.indexer, ORG))
    other.gate.set()
    world.settle()
    assert degraded(world.indexer, ORG) == set()
    assert differences(world.indexer, ORG) == []
    assert len(world.by_meaning("kestrel")) == 10


def test_another_model_is_taken_up_after_the_start_without_anybody_asking(world: World) -> None:
    world.write(draft("a", "kestrel"))
    world.settle()
    world.stop()
    world.embedder = HashEmbedder("hash-2", 32)
    world.start()
    until(lambda: world.embedder is not None and len(world.embedder.texts) == 1)


def test_an_interrupted_rebuild_of_the_vectors_is_resumed(world: World) -> None:
    world.write(*[draft(f"e{at}", f"kestrel {at}") for at in range(100)])
    world.settle()
    world.stop()
    slow = HashEmbedder("hash-2")
    world.embedder = slow
    world.start(commit_records=8)
    until(lambda: len(slow.turns) > 3)
    world.stop()
    world.start()
    world.settle()
    assert differences(world.indexer, ORG) == []
    assert len(slow.texts) <= 100 + world.options.passages_per_turn, "at most the turn under way is taken again"


def test_after_an_unclean_stop_the_indexes_are_compared_with_the_ledger(world: World) -> None:
    world.write(draft("a", "kestrel"), draft("b", "heron"))
    world.settle()
    with world.indexer.indexes(ORG) as open_:
        state = open_.vectors.state()
        assert state is not None
        open_.vectors.replace([], ["a"], state)
    world.stop()
    (world.indexes / ORG / "watermarks.json").unlink()
    world.settle()
    until(lambda: differences(world.indexer, ORG) == [])
    assert world.by_meaning("kestrel")[0] == "a"


CHILD = """
import sys, threading
from pathlib import Path
from tests.stores.indexer.samples import ORG, World, draft

world = World.__new__(World)
World.__init__(world, Path(sys.argv[1]), organizations=())
world.start(commit_records=4)
done = threading.Semaphore(0)

def write(writer):
    for at in range(10_000):
        world.write(draft(f"{sys.argv[2]}-{writer}-{at}", "kestrel " * (at % 50)), deferred=at % 3 == 0)
        if at % 5 == 4:
            world.relate(f"{sys.argv[2]}-{writer}-{at}", f"{sys.argv[2]}-{writer}-{at - 1}")
            world.delete(f"{sys.argv[2]}-{writer}-{at - 2}")
        done.release()

for writer in range(3):
    threading.Thread(target=write, args=(writer,), daemon=True).start()
for _ in range(int(sys.argv[3])):
    done.acquire()
print("enough", flush=True)
threading.Event().wait()
"""


def test_a_killed_process_recovers_with_nothing_lost_and_nothing_left_over(world: World, tmp_path: Path) -> None:
    for attempt, writes in enumerate((15, 60, 150)):
        world.stop()
        world.ledger.close()
        script = textwrap.dedent(CHILD)
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path), str(attempt), str(writes)],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        )  # fmt: skip
        while "enough" not in (line := child.stdout.readline()):
            assert line or child.poll() is None, "the child ended by itself"
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        world.ledger = world.open_ledger()
        world.settle()
        assert len(world.ledger.records.revisions(ORG)) > writes // 2
        assert differences(world.indexer, ORG) == []


def test_two_indexers_cannot_share_a_folder(world: World) -> None:
    world.start()
    second = Indexer(world.ledger, world.indexes, embedder=None, options=world.options, clock=world.clock)
    with pytest.raises(RuntimeError, match="open in this process already"):
        second.start()


@pytest.mark.parametrize("lost", ["graph", "graph/*/*.db*"])
def test_an_index_that_is_read_anew_from_the_feed_answers_nothing_before_it_is_whole(
    world: World, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    world.start()
    play(world, [("create", at, 0, WORDS[at % 5], False) for at in range(6)])
    play(world, [("relate", 0, 1, "", False), ("relate", 1, 2, "", False)])
    world.settle()
    world.stop()
    found = list(world.indexes.glob(f"**/{lost}"))
    assert found
    for each in found:
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    whole, gate = GraphIndex.apply, threading.Event()

    def late(self: GraphIndex, batch: IndexBatch) -> None:
        assert gate.wait(PATIENCE_S)
        whole(self, batch)

    monkeypatch.setattr(GraphIndex, "apply", late)
    monkeypatch.setattr("stores.indexer.organization.GRAPH_TIMEOUT_S", 0.05)
    world.start()
    with world.indexer.indexes(ORG) as open_:
        assert open_.graph is None
        assert "graph" in open_.degraded
    gate.set()
    world.settle()
    with world.indexer.indexes(ORG) as open_:
        assert len(list(open_.graph.relation_ids())) == 2
