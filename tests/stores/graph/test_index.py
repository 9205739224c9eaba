from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from stores.graph import Edge, GraphIndex, NeighbourQuery
from stores.graph import index as graph_index
from stores.records import ORGANIZATION, Position
from tests.stores.disk import on_disk
from tests.stores.graph.drafts import ENGINE, EVERYTHING, NOW, batch, entities, entity, relation

DAY = timedelta(days=1)


def near(found: Sequence[Edge]) -> list[tuple[str, str, str]]:
    return [(origin, direction, other) for origin, other, _, direction in found]


def reopened(graph: GraphIndex, folder: Path) -> GraphIndex:
    graph.close()
    return GraphIndex(folder, engine=ENGINE, clock=lambda: NOW)


def test_neighbours_come_per_origin_in_its_order_and_the_latest_first(graph: GraphIndex) -> None:
    relations = [
        relation("1", "a", "b", valid_at=NOW - 2 * DAY),
        relation("2", "a", "c", valid_at=NOW - DAY),
        relation("3", "c", "b", valid_at=NOW - DAY),
    ]
    graph.apply(batch(entities("abc"), relations))
    assert near(graph.neighbours(["c", "a", "c", "nobody"], query=EVERYTHING)) == [
        ("c", "incoming", "a"), ("c", "outgoing", "b"), ("a", "outgoing", "c"), ("a", "outgoing", "b"),
    ]  # fmt: skip


def test_rare_visible_edges_of_a_hub_are_found_and_the_limit_holds(graph: GraphIndex) -> None:
    ids = [f"n{number}" for number in range(600)]
    relations = [relation(each, "hub", each, visibility="private:somebody") for each in ids[1:]]
    graph.load([entities(["hub", *ids])], [relations, [relation("seen", "hub", "n0")]], Position("epoch", 1, ""))
    assert near(graph.neighbours(["hub"], query=EVERYTHING)) == [("hub", "outgoing", "n0")]
    insider = NeighbourQuery(frozenset({ORGANIZATION, "private:somebody"}), limit_per_id=5)
    assert len(graph.neighbours(["hub"], query=insider)) == 5
    assert graph.walks(["hub"], depth=1, query=insider)["hub"].capped


def test_the_many_outgoing_edges_of_a_hub_do_not_hide_a_recent_incoming_one(graph: GraphIndex) -> None:
    ids = [f"n{number}" for number in range(600)]
    old = [relation(each, "hub", each, valid_at=NOW - DAY) for each in ids]
    graph.load([entities(["hub", *ids])], [old, [relation("new", "n0", "hub")]], Position("epoch", 1, ""))
    found = graph.neighbours(["hub"], query=replace(EVERYTHING, limit_per_id=3))
    assert near(found)[0] == ("hub", "incoming", "n0")
    assert len(found) == 3


def test_nothing_of_a_failed_batch_is_kept_and_the_next_one_works(graph: GraphIndex) -> None:
    graph.apply(batch([entity("a")]))
    broken = replace(entity("c"), revision="not a number")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        graph.apply(batch([entity("b"), broken, entity("d")], sequence=2))
    assert graph.contents() == {"a": 1}
    assert graph.position() == Position("epoch", 1, "batch 1")
    graph.apply(batch([entity("e")], sequence=2))
    assert graph.contents() == {"a": 1, "e": 1}


def test_a_rebuild_replaces_the_graph(graph: GraphIndex, tmp_path: Path) -> None:
    graph.apply(batch(entities("xy"), [relation("old", "x", "y")]))
    pages = [entities("ab"), [], entities("c")]
    graph.load(pages, [[relation("r", "a", "b")], [relation("s", "c", "absent")]], Position("epoch", 9, "last"))
    for look in ("at once", "after reopening"):
        assert graph.contents() == {"a": 1, "b": 1, "c": 1}, look
        assert graph.relation_ids() == {"r"}, look
        assert graph.position() == Position("epoch", 9, "last"), look
        graph = reopened(graph, tmp_path / "graph")
    graph.apply(batch([entity("absent")], [relation("t", "b", "c")]))
    assert graph.relation_ids() == {"r", "s", "t"}
    graph.close()


def test_compaction_keeps_what_is_known_and_tells_of_what_was_deleted(graph: GraphIndex, tmp_path: Path) -> None:
    graph.apply(batch(entities("abcd"), [relation("r", "a", "b"), relation("s", "c", "d"), relation("t", "a", "z")]))
    graph.apply(batch(gone=["doomed", "c", "d"], severed=["s"], sequence=2))
    before = graph.neighbours(["a"], query=EVERYTHING)
    assert graph.compact()
    assert graph.contents() == {"a": 1, "b": 1}
    assert graph.relation_ids() == {"r"}
    assert graph.position() == Position("epoch", 2, "batch 2")
    assert graph.neighbours(["a"], query=EVERYTHING) == before
    graph.close()
    assert on_disk(tmp_path / "graph", b"RELATED_TO")
    assert not on_disk(tmp_path / "graph", b"must not keep")


def test_a_checkpoint_comes_by_itself_after_enough_transactions(
    graph: GraphIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_index, "_CHECKPOINT_TRANSACTIONS", 3)
    log = tmp_path / "graph" / f"{ENGINE}-1.db.wal"
    for number in range(3):
        assert number == 0 or log.stat().st_size > 0
        graph.apply(batch([entity(f"n{number}")], sequence=number))
    assert not log.exists() or log.stat().st_size == 0
    assert len(graph.contents()) == 3


def test_reads_go_on_beside_writes_and_checkpoints(graph: GraphIndex) -> None:
    graph.apply(batch(entities(["hub", "n"]), [relation("r", "hub", "n")]))

    def read(_: int) -> set[str]:
        return {other for _, _, other in near(graph.neighbours(["hub"], query=EVERYTHING))}

    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(read, range(300))
        for number in range(60):
            graph.apply(batch([entity(f"n{number}")], [relation(f"r{number}", "hub", f"n{number}")]))
            if number % 20 == 10:
                graph.checkpoint()
        assert all("n" in answer for answer in answers)
    assert len(graph.relation_ids()) == 61


def test_a_graph_is_not_opened_twice(graph: GraphIndex, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="open in this process already"):
        GraphIndex(tmp_path / "elsewhere" / ".." / "graph", engine=ENGINE)


def test_a_closed_graph_says_so_and_closes_again_without_harm(graph: GraphIndex) -> None:
    graph.close()
    graph.close()
    for use in (graph.position, graph.checkpoint, lambda: graph.apply(batch())):
        with pytest.raises(RuntimeError, match="is closed"):
            use()


def test_what_another_engine_or_schema_left_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir()
    for name in ("former-0.db", "former-0.db.wal", "rebuilt.db"):
        (folder / name).write_bytes(b"old")
    GraphIndex(folder, engine=ENGINE).close()
    assert {path.name for path in folder.iterdir()} <= {f"{ENGINE}-1.db", f"{ENGINE}-1.db.wal"}


def test_any_text_is_an_id(graph: GraphIndex) -> None:
    odd = ["", "'", '"', "\\", "{id}", "$id", "日本語", "\n", "a" * 2_000]
    graph.apply(batch(entities(odd), [relation(each, each, "'") for each in odd]))
    assert set(graph.contents()) == set(odd)
    assert graph.relation_ids() == set(odd)
    graph.load([entities(odd)], [[relation(each, each, "'") for each in odd]], Position("epoch", 1, ""))
    assert set(graph.contents()) == set(odd)
    assert graph.relation_ids() == set(odd)
