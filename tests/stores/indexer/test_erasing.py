"""What is deleted goes from the files of the indexes, however soon their organization is closed."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from stores.tokens import FILE
from tests.indexes import differences
from tests.stores.indexer.samples import ORG, LetterTokens, World, draft, level, until

SECRET = "zxquokka"
OTHER = "other"


def holds(world: World, org: str = ORG) -> bool:
    for folder, _, names in os.walk(world.indexes / org):
        for name in names:
            with suppress(FileNotFoundError):  # What is written anew takes the place of what was.
                if SECRET.encode() in (Path(folder) / name).read_bytes():
                    return True
    return False


def rows(world: World, org: str = ORG) -> int:
    with world.indexer.indexes(org) as indexes:
        return int(indexes.vectors._table._table.count_rows())


def deleted(world: World, org: str = ORG) -> None:
    texts = [draft(f"n{number}", f"heron number {number}") for number in range(12)]
    world.write(draft("a", f"kestrel {SECRET}"), *texts, org=org)
    world.settle(org)
    world.delete("a", org=org)
    world.settle(org)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_what_was_deleted_before_a_stop_is_erased_after_the_start_without_a_question(world: World, how: str) -> None:
    world.start()
    deleted(world)
    before = rows(world)
    world.stop()
    assert holds(world)
    if how == "killed":
        (world.indexes / ORG / "watermarks.json").unlink()
    world.start()
    until(lambda: not holds(world))
    until(lambda: rows(world) < before)
    assert world.by_words("heron")
    assert differences(world.indexer, ORG) == []
    world.restart()
    until(lambda: world.indexer.surveyed)
    world.indexer._supervisor._step()
    assert world.indexer._registry.known() == [], "nothing is left to erase"


def test_what_was_deleted_before_its_organization_made_room_is_erased_when_there_is_room_again(world: World) -> None:
    world.add_organization(OTHER)
    world.start(open_limit=1, poll_s=0.05)
    deleted(world)
    world.write(draft("b", "heron"), org=OTHER)
    assert world.by_words("heron", org=OTHER) == ["b"]
    until(lambda: not holds(world))
    assert len(world.by_words("heron")) == 10


def test_two_that_have_something_to_erase_do_not_keep_each_other_from_it(world: World) -> None:
    world.add_organization(OTHER)
    world.start()
    deleted(world)
    deleted(world, OTHER)
    world.stop()
    assert holds(world)
    assert holds(world, OTHER)
    world.start(open_limit=1, poll_s=0.05)
    until(lambda: not holds(world) and not holds(world, OTHER))


def test_what_is_replaced_is_erased_as_well(world: World) -> None:
    world.start()
    texts = [draft(f"n{number}", f"heron number {number}") for number in range(12)]
    world.write(draft("a", f"kestrel {SECRET}"), *texts)
    world.settle()
    world.update("a", content="kestrel")
    world.settle()
    world.restart()
    until(lambda: not holds(world))


def test_without_late_interaction_no_vectors_of_tokens_stay(world: World, late: LetterTokens) -> None:
    world.write(draft("a", "the kestrel hovers"))
    level(world)
    assert [*world.indexes.rglob(FILE)]
    world.late = None
    world.restart()
    assert world.by_words("kestrel") == ["a"]
    until(lambda: not [*world.indexes.rglob(f"{FILE}*")])
    world.late = late
    world.restart()
    level(world)
    assert world.tokens("a") == {"a": 4}


def test_without_a_model_a_rebuild_removes_its_vectors(world: World) -> None:
    world.write(draft("a", "the kestrel hovers"))
    world.settle()

    def tables() -> list[Path]:
        return [*(world.indexes / ORG / "vectors").rglob("*.lance")]

    assert tables()
    embedder, world.embedder = world.embedder, None
    world.restart()
    world.delete("a")
    world.settle()
    assert tables()
    world.indexer.reindex(ORG)
    assert tables() == []
    world.embedder = embedder
    world.restart()
    world.write(draft("b", "a heron"))
    world.settle()
    assert world.by_meaning("heron") == ["b"]


def test_a_graph_of_many_deleted_records_is_written_anew_in_a_quiet_moment(world: World) -> None:
    world.start(quiet_s=0.05)
    world.write(*[draft(f"e{at}") for at in range(10)])
    relation = world.relate("e0", "e1")
    world.settle()
    for at in range(5, 10):
        world.delete(f"e{at}")
    world.settle()
    with world.indexer.indexes(ORG) as open_:
        before = open_.graph
        assert before.compact(), "a tenth is buried"
    world.clock.turn(60)

    def is_anew() -> bool:
        with world.indexer.indexes(ORG) as open_:
            return open_.graph is not before and not open_.graph.compact()

    until(is_anew)
    world.settle()
    with world.indexer.indexes(ORG) as open_:
        assert (len(open_.graph.contents()), open_.graph.relation_ids()) == (5, {relation})
    assert differences(world.indexer, ORG) == []
