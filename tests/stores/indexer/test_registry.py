"""How many organizations are open, and what one of them costs the others."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stores.embedding import EmbeddingFailed
from stores.errors import NotFound
from tests.indexes import differences
from tests.stores.indexer.samples import PATIENCE_S, LetterTokens, World, draft, until

MANY = [f"org-{number:03d}" for number in range(100)]
PAIR = ["big", "small"]


@pytest.fixture
def two(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, organizations=PAIR)
    yield made
    made.close()


@pytest.mark.slow
def test_a_hundred_organizations_are_indexed_with_four_places(tmp_path: Path) -> None:
    world = World(tmp_path, organizations=MANY)
    try:
        world.start(open_limit=4, poll_s=0.05)
        last = {each: world.write(draft("a", f"kestrel of {each}"), org=each) for each in MANY}
        until(lambda: all(world.indexer.applied(each, last[each]) for each in MANY), 4 * PATIENCE_S)
        until(lambda: len(world.indexer._registry.known()) <= 4)
        assert {line.state for line in world.indexer.status()} == {"ready"}
        assert len(world.indexer.status()) == 3 * len(MANY)
        for each in MANY[::20]:
            assert world.by_words(f'"{each}"', org=each) == ["a"]
            assert differences(world.indexer, each) == []
    finally:
        world.close()


def test_organizations_that_only_wait_for_token_vectors_make_room(tmp_path: Path) -> None:
    world = World(tmp_path, organizations=MANY[:8])
    world.late = LetterTokens()
    world.late.failure = EmbeddingFailed("not today")
    try:
        world.start(open_limit=2, poll_s=0.05, late_after_s=0.0, retry_at_most_s=0.05, busy_quantum_s=PATIENCE_S)
        for each in MANY[:8]:
            sequence = world.write(draft("a", f"kestrel of {each}"), org=each)
            until(lambda each=each, sequence=sequence: world.indexer.applied(each, sequence))
            until(lambda: len(world.indexer._registry.known()) <= 2)
        world.late.failure = None
        until(lambda: not any(line.pending for line in world.indexer.status()))
        assert all(world.tokens("a", org=each) == {"a": 4} for each in MANY[:8])
    finally:
        world.close()


def test_an_organization_without_any_change_is_ready(two: World) -> None:
    two.start()
    until(lambda: two.indexer.surveyed)
    assert {(line.state, line.pending) for line in two.indexer.status()} == {("ready", 0)}
    assert len(two.indexer.status()) == 3 * len(PAIR)


def test_an_organization_in_use_is_not_closed_to_make_room(two: World) -> None:
    two.start(open_limit=1, poll_s=0.05)
    two.write(draft("a", "kestrel"), org="big")
    two.settle("big")
    with two.indexer.indexes("big") as open_:
        two.write(draft("b", "heron"), org="small")
        two.settle("small")
        assert two.by_words("heron", org="small") == ["b"]
        assert len(open_.lexical.contents()) == len(open_.vectors.contents()) == 1
    until(lambda: [each.id for each in two.indexer._registry.known()] == ["small"])
    assert two.by_words("kestrel", org="big") == ["a"]


def test_an_organization_with_work_left_keeps_its_place(two: World) -> None:
    two.start(open_limit=1, poll_s=0.05)
    two.write(draft("first"), org="big")
    two.settle("big")
    two.embedder.gate.clear()
    two.write(draft("b"), org="big")
    until(lambda: two.queued(interactive=True, org="big") == 1 or bool(two.embedder and two.embedder.gate))
    two.by_words("nothing", org="small")
    pause = threading.Event()
    pause.wait(0.3)
    assert "big" in [each.id for each in two.indexer._registry.known()]
    two.embedder.gate.set()
    two.settle("big")


def test_the_bulk_import_of_one_organization_does_not_delay_the_write_of_another(two: World) -> None:
    two.write(draft("first"), org="big")
    two.write(draft("first"), org="small")
    two.settle("big")
    two.settle("small")
    two.embedder.gate.clear()
    begun = two.embedder.begun
    two.write(*[draft(f"bulk{at}", "bulk") for at in range(500)], org="big", deferred=True)
    until(lambda: two.embedder.begun > begun and two.queued(interactive=False, org="big") > 8)
    sequence = two.write(draft("urgent"), org="small")
    until(lambda: two.queued(interactive=True, org="small") == 1)
    before = len(two.embedder.turns)
    two.embedder.gate.set()
    assert two.wait_applied(sequence, ["urgent"], org="small") == []
    place = next(at for at, turn in enumerate(two.embedder.turns) if "urgent" in turn)
    assert place <= before + 1, "at most the turn that was under way goes first"
    two.settle("big")
    assert differences(two.indexer, "big") == []


def test_two_imports_take_turns(two: World) -> None:
    for each in PAIR:
        two.write(draft("first"), org=each)
        two.settle(each)
    two.embedder.gate.clear()
    two.write(*[draft(f"big{at}") for at in range(40)], org="big", deferred=True)
    two.write(*[draft(f"small{at}") for at in range(40)], org="small", deferred=True)
    until(lambda: two.queued(interactive=False, org="big") > 8 and two.queued(interactive=False, org="small") > 8)
    two.embedder.gate.set()
    two.settle("big")
    two.settle("small")
    turns = ["big" if turn[0].startswith("big") else "small" for turn in two.embedder.turns[3:11]]
    assert abs(turns.count("big") - turns.count("small")) <= 2


def test_an_organization_that_the_ledger_does_not_know_is_not_opened(two: World) -> None:
    with pytest.raises(NotFound), two.indexer.indexes("../elsewhere"):
        pass
    assert two.indexer._registry.known() == []
    assert not (two.indexes / ".." / "elsewhere").exists()
