import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

from stores.embedding import Passage
from stores.index import IndexBatch, Item
from stores.indexer import IndexStatus
from stores.indexer.embedding_worker import LONGEST
from stores.lexical import LexicalIndex
from stores.records import ORGANIZATION, IndexFilter, Position
from stores.vectors import VectorState
from tests.indexes import degraded, differences
from tests.stores.indexer.samples import EVERYONE, ORG, PATIENCE_S, HashEmbedder, World, draft, until, vectors_of


def states(lines: Sequence[IndexStatus]) -> dict[str, str]:
    return {line.index: line.state for line in lines}


def test_a_write_is_found_by_words_by_meaning_and_in_the_graph_once_the_wait_is_over(world: World) -> None:
    world.start()
    sequence = world.write(draft("a", "the kestrel hovers"), draft("b", "a heron waits"))
    world.relate("a", "b")
    assert world.wait_applied(sequence + 1, ["a", "b"]) == []
    assert world.by_words("kestrel") == ["a"]
    assert world.by_meaning("a heron waits")[0] == "b"
    with world.indexer.indexes(ORG) as open_:
        assert len(open_.graph.relation_ids()) == 1
        assert open_.degraded == set()
    assert differences(world.indexer, ORG) == []


def test_an_update_of_metadata_alone_reaches_the_filters_and_embeds_nothing(world: World) -> None:
    world.write(draft("a", "the kestrel hovers", metadata={"status": "open"}))
    world.settle()
    world.update("a", metadata={"status": "done"})
    world.settle()
    assert len(world.embedder.texts) == 1, "the text is the same: nothing to embed"
    done = IndexFilter(frozenset({ORGANIZATION}), {"status": frozenset({"done"})})
    with world.indexer.indexes(ORG) as open_:
        vector = world.embedder.embed_query("kestrel")
        assert [hit.record_id for hit in open_.vectors.search(vector, filter=done, limit=5)] == ["a"]
        assert [hit.record_id for hit in open_.lexical.search("kestrel", filter=done, limit=5).hits] == ["a"]


def test_a_wait_that_runs_out_names_the_indexes_that_are_still_without_the_write(world: World) -> None:
    world.hold()
    sequence = world.write(draft("a", "the kestrel hovers"))
    assert world.wait_applied(sequence, ["a"], 0.5) == ["vectors"]
    assert asyncio.run(world.indexer.applied_within(ORG, sequence, ["a"], 0.3)) == ["vectors"]
    assert world.by_words("kestrel") == ["a"]
    assert not world.indexer.applied(ORG, sequence)
    world.embedder.gate.set()
    world.settle()
    assert world.indexer.applied(ORG, sequence)


def test_waiting_in_an_event_loop_takes_no_thread_and_ends_when_the_write_is_in(world: World) -> None:
    world.write(draft("first"))
    world.settle()

    async def write_and_wait() -> list[list[str]]:
        sequences = [world.write(draft(f"e{number}", "words")) for number in range(20)]
        waits = [world.indexer.applied_within(ORG, each, [f"e{at}"], PATIENCE_S) for at, each in enumerate(sequences)]
        return await asyncio.gather(*waits)

    assert asyncio.run(write_and_wait()) == [[]] * 20
    assert differences(world.indexer, ORG) == []


def test_writes_of_several_waiting_callers_share_a_commit(world: World) -> None:
    world.restart(gather_further_s=1.0, commit_after_s=1.0)
    sequence = world.write(draft("first"))
    world.settle()
    with patch.object(LexicalIndex, "apply", autospec=True, side_effect=LexicalIndex.apply) as applied:
        waiting = [world.indexer._registry.get(ORG).wait(sequence + 2, []) for _ in range(3)]
        for each in "ab":
            world.write(draft(each))
        assert [each.result(PATIENCE_S) for each in waiting] == [[], [], []]
    assert [len(call.args[1].items) for call in applied.call_args_list] == [2]


def test_when_the_server_stops_waits_end_at_once_and_name_what_is_missing(world: World) -> None:
    world.hold()
    sequence = world.write(draft("a"))

    async def stop_while_somebody_waits() -> tuple[list[str], list[str]]:
        waiting = asyncio.create_task(world.indexer.applied_within(ORG, sequence, ["a"], PATIENCE_S))
        await asyncio.to_thread(until, lambda: world.wait_applied(sequence, ["a"], 0.2) == ["vectors"])
        world.indexer.end_waits()
        found = await asyncio.wait_for(waiting, 2)
        return found, await asyncio.wait_for(world.indexer.applied_within(ORG, sequence, ["a"], PATIENCE_S), 2)

    assert asyncio.run(stop_while_somebody_waits()) == (["vectors"], ["vectors"])


def test_without_an_embedder_there_are_no_vectors_and_nobody_waits_for_them(world: World) -> None:
    world.embedder = None
    world.start()
    sequence = world.write(draft("a", "the kestrel hovers"))
    assert world.wait_applied(sequence, ["a"]) == []
    assert world.indexer.applied(ORG, sequence)
    with world.indexer.indexes(ORG) as open_:
        assert open_.vectors is None
        assert open_.degraded == set()
    assert states(world.indexer.status()) == {"lexical": "ready", "graph": "ready"}


def test_a_model_that_fails_is_named_and_not_waited_for_and_catches_up_later(world: World) -> None:
    world.write(draft("first", "one"))
    world.settle()
    world.embedder.failure = RuntimeError("no route to host")
    sequence = world.write(draft("a", "the kestrel hovers"))
    assert world.wait_applied(sequence, ["a"]) == ["vectors"]
    assert "vectors" in degraded(world.indexer, ORG)
    assert world.by_words("kestrel") == ["a"]
    until(lambda: world.indexer.applied(ORG, sequence))
    world.embedder.failure = None
    until(lambda: world.by_meaning("kestrel")[:1] == ["a"])
    until(lambda: degraded(world.indexer, ORG) == set())


def test_a_record_that_the_model_refuses_holds_nobody_up_and_is_named(world: World) -> None:
    world.embedder.refused = "poison"
    world.start()
    poison = world.write(draft("a", "poison"))
    others = [world.write(draft(f"e{at}", f"kestrel {at}"), deferred=True) for at in range(20)]
    until(lambda: all(world.indexer.applied(ORG, each) for each in others))
    until(lambda: vectors_of(world).refused == 1)
    last = world.write(draft("last", "heron"))
    assert world.wait_applied(last, ["last"]) == []
    assert not world.indexer.applied(ORG, poison)
    world.update("a", content="an antidote")
    world.settle()
    assert degraded(world.indexer, ORG) == set()


class Unready(HashEmbedder):
    failures = 2

    def split(self, text: str) -> list[Passage]:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the file is damaged")
        return super().split(text)


def test_a_model_that_cannot_be_loaded_at_first_is_asked_for_again(world: World) -> None:
    world.embedder = Unready()
    sequence = world.write(draft("a", "the kestrel hovers"))
    world.start(retry_first_s=0.2)
    assert world.wait_applied(sequence, ["a"]) in ([], ["vectors"])
    assert world.by_words("kestrel") == ["a"]
    world.settle()
    assert world.by_meaning("kestrel") == ["a"]


def test_listeners_hear_of_progress_and_can_ask_about_single_changes(world: World) -> None:
    heard: list[tuple[str, int]] = []
    world.start()
    world.indexer.on_applied.append(lambda organization_id, sequence: heard.append((organization_id, sequence)))
    last = world.write(*[draft(f"e{number}") for number in range(5)])
    until(lambda: (ORG, last) in heard)
    assert all(world.indexer.applied(ORG, sequence) for sequence in range(1, last + 1))
    assert not world.indexer.applied(ORG, last + 1)


def test_a_listener_that_raises_disturbs_nobody(world: World) -> None:
    def raising(_organization_id: str, _sequence: int) -> None:
        raise RuntimeError("not today")

    world.start()
    world.indexer.on_applied.append(raising)
    world.write(draft("a"))
    world.settle()


def test_interactive_writes_are_embedded_before_bulk_writes_of_the_same_organization(world: World) -> None:
    world.hold()
    begun = world.embedder.begun
    world.write(*[draft(f"bulk{number}", "bulk") for number in range(60)], deferred=True)
    until(lambda: world.embedder is not None and world.embedder.begun > begun)
    sequence = world.write(draft("urgent", "urgent"))
    until(lambda: world.queued(interactive=True) == 1)
    world.embedder.gate.set()
    assert world.wait_applied(sequence, ["urgent"]) == []
    world.settle()
    order = [text.split("\n")[0] for text in world.embedder.texts]
    # Up to one turn was under way when the urgent one came.
    assert order.index("urgent") <= 1 + 2 * world.options.passages_per_turn
    assert differences(world.indexer, ORG) == []


def test_a_long_record_is_found_by_words_at_once_and_lets_others_through(world: World) -> None:
    world.hold()
    words = " ".join(f"word{number}" for number in range(55_000))
    long = world.write(draft("long", words[:500_000] + " zanzibar", description="quagga"))
    short = world.write(draft("short", "brief"))
    until(lambda: world.by_words("zanzibar") == ["long"])
    until(lambda: world.queued(interactive=True) == 1)
    assert not world.indexer.applied(ORG, long)
    world.embedder.gate.set()
    assert world.wait_applied(short, ["short"]) == []
    place = next(at for at, turn in enumerate(world.embedder.turns) if "short\nbrief" in turn)
    assert place <= 3, "the short record waited for the long one"
    world.settle()
    assert world.by_meaning("zanzibar", limit=1) == ["long"]
    assert max(len(turn) for turn in world.embedder.turns) <= world.options.passages_per_turn


def test_turns_grow_while_the_model_is_quick_until_it_fails(world: World) -> None:
    world.start(passages_at_most=64)
    world.hold()
    world.write(*[draft(f"quick{number}", "words") for number in range(400)], deferred=True)
    until(lambda: world.queued(interactive=False) > 112)
    world.embedder.gate.set()
    world.settle()
    turns = world.embedder.turns
    assert max(len(turn) for turn in turns) == 64
    before, world.embedder.failure = len(turns), RuntimeError("not today")
    world.write(*[draft(f"more{number}", "other words") for number in range(100)], deferred=True)
    until(lambda: "vectors" in degraded(world.indexer, ORG))
    world.embedder.failure = None
    world.settle()
    assert next(len(turn) for turn in turns[before:] if len(turn) > 1) == world.options.passages_per_turn
    world.restart(quick_turn_s=0.0)
    world.write(*[draft(f"slow{number}", "more words") for number in range(100)], deferred=True)
    world.settle()
    assert max(len(turn) for turn in turns[-12:]) == world.options.passages_per_turn


def test_a_record_that_changes_while_it_is_embedded_ends_with_its_last_text(world: World) -> None:
    world.write(draft("a", "kestrel " * 2_000))
    world.settle()
    world.embedder.gate.clear()
    world.update("a", content="heron " * 2_000)
    world.update("a", content="bittern")
    world.embedder.gate.set()
    world.settle()
    with world.indexer.indexes(ORG) as open_:
        assert open_.vectors.contents()["a"] == 3
        hits = open_.vectors.search(world.embedder.embed_query("a bittern"), filter=EVERYONE, limit=1)
    assert hits[0].score > 0.99


def test_the_check_finds_what_is_missing_superfluous_or_stale_and_a_rebuild_mends_it(world: World) -> None:
    world.write(draft("a", "kestrel"), draft("b", "heron"))
    world.relate("a", "b")
    world.settle()
    with world.indexer.indexes(ORG) as open_:
        position, state = open_.lexical.position(), open_.vectors.state()
        open_.lexical.apply(IndexBatch([Item("entity", "a")], position))
        severed = [Item("relation", each) for each in world.ledger.relations.relation_ids(ORG)]
        open_.graph.apply(IndexBatch(severed, position))
        open_.vectors.replace([], ["b"], state)
    found = differences(world.indexer, ORG)
    assert len(found) == 3
    assert "lexical: entity a is missing" in found
    assert "vectors: entity b is missing" in found
    assert found[1].startswith("graph: relation")
    world.indexer.reindex(ORG)
    assert differences(world.indexer, ORG) == []
    assert world.by_words("kestrel") == ["a"]
    assert world.by_meaning("heron")[0] == "b"
    world.write(draft("c", "bittern"))
    world.settle()
    assert world.by_words("bittern") == ["c"]


def test_what_a_rebuild_has_still_to_embed_is_pending_and_no_difference(world: World) -> None:
    # Too long for its vectors to be remembered.
    text = "the kestrel hovers " * 200
    assert len(world.embedder.split(text)) > LONGEST
    world.write(*[draft(f"e{at}", text) for at in range(20)])
    world.settle()
    with world.indexer.indexes(ORG) as open_:
        state = open_.vectors.state()
        assert state is not None
        open_.vectors.replace([], [f"e{at}" for at in range(1, 20)], state)
    world.embedder.gate.clear()
    rebuilding = threading.Thread(target=world.indexer.reindex, args=[ORG, ["vectors"]])
    rebuilding.start()
    until(lambda: any(each.pending > 15 for each in world.indexer.status()))
    assert states(world.indexer.status())["vectors"] == "rebuilding"
    found = {each.index: each for each in world.indexer.examine(ORG)}
    assert [each.differences for each in found.values()] == [[], [], []]
    assert found["vectors"].pending > 15
    assert found["lexical"].pending == 0
    world.embedder.gate.set()
    rebuilding.join(PATIENCE_S)
    assert [(each.pending, each.differences) for each in world.indexer.examine(ORG, PATIENCE_S)] == [(0, [])] * 3


def test_writes_and_searches_go_on_during_a_rebuild(world: World) -> None:
    world.write(*[draft(f"old{at}", f"kestrel {at}") for at in range(300)])
    world.settle()
    with ThreadPoolExecutor(1) as pool:
        rebuilding = pool.submit(world.indexer.reindex, ORG)
        for at in range(20):
            sequence = world.write(draft(f"new{at}", f"heron {at}"))
            assert world.wait_applied(sequence, [f"new{at}"]) == []
            assert f"new{at}" in world.by_words(f"new{at}")
        world.delete("old7")
        rebuilding.result(PATIENCE_S)
    world.settle()
    assert differences(world.indexer, ORG) == []
    assert world.ledger.records.revisions(ORG).keys() == {f"old{at}" for at in range(300) if at != 7} | {
        f"new{at}" for at in range(20)
    }


def test_what_was_deleted_is_erased_in_a_quiet_moment(world: World) -> None:
    world.start(quiet_s=0.05)
    world.write(draft("a", "kestrel"), draft("b", "heron"))
    world.settle()
    world.delete("a")
    world.settle()
    with world.indexer.indexes(ORG) as open_:
        assert open_.lexical.erasable
        world.clock.turn(60)
        until(lambda: open_.lexical is not None and not open_.lexical.erasable)
    assert world.by_words("heron") == ["b"]
    assert differences(world.indexer, ORG) == []


def test_the_watermark_of_an_unwritten_state_is_not_invented(world: World) -> None:
    state = VectorState(Position("e", 3, "b"), Position("e", 5, "c"))
    assert VectorState.from_json(state.to_json()) == state
    world.start()
    assert world.indexer.watermarks() == {}
    last = world.write(draft("a"))
    world.settle()
    until(lambda: world.indexer.watermarks() == {ORG: last})
