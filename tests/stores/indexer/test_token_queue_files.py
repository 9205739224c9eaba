"""Files of token vectors that are damaged or cannot be made: one organization's alone, and derived data."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from stores.tokens import TokensUnusable
from stores.tokens.store import FILE
from tests.stores.indexer.samples import ORG, LetterTokens, World, draft, level, until, vectors_of, waiting

MANY = [f"n{number}" for number in range(40)]
TEXT = "heron " * 199
PAGE = 4_096


def tokens_in(text: str) -> int:
    return sum(len(text[each.start : each.end].split()) for each in LetterTokens().split(text))


HELD = {each: tokens_in(f"{each}\n{TEXT}".strip()) for each in MANY}


def file_of(world: World, org: str = ORG) -> Path:
    (found,) = (world.indexes / org).rglob(FILE)
    return found


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[8 * PAGE :] = b"\xff" * (len(content) - 8 * PAGE)
    file.write_bytes(content)


def change(statement: str) -> Callable[[Path], None]:
    def changed(file: Path) -> None:
        with sqlite3.connect(file) as connection:
            connection.execute(statement)
        connection.close()

    return changed


DAMAGES = {
    "flipped": flip,
    "cut": change("UPDATE passages SET vectors = substr(vectors, 1, 33)"),
    "of text": change("UPDATE passages SET vectors = 'text'"),
}
damages = pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)


@pytest.fixture
def many(world: World, late: LetterTokens) -> World:
    world.write(*(draft(each, TEXT) for each in MANY))
    level(world)
    assert world.tokens(*MANY) == HELD
    return world


def spoil(world: World, damage: Callable[[Path], None], org: str = ORG) -> None:
    file = file_of(world, org)
    world.stop()
    damage(file)
    world.start()


@damages
def test_a_file_whose_damage_a_search_meets_is_made_anew(
    many: World, late: LetterTokens, damage: Callable[[Path], None]
) -> None:
    spoil(many, damage)
    late.gate.clear()
    with pytest.raises(TokensUnusable):
        many.tokens(*MANY)
    assert waiting(many) >= len(MANY)
    assert many.by_meaning("heron")
    late.gate.set()
    level(many)
    assert many.tokens(*MANY) == HELD
    assert many.indexer.check(ORG) == []


@damages
def test_a_file_whose_damage_a_check_meets_is_named_and_made_anew(
    many: World, late: LetterTokens, damage: Callable[[Path], None]
) -> None:
    spoil(many, damage)
    assert [line.partition(":")[0] for line in many.indexer.check(ORG)] == ["vectors"]
    level(many)
    assert many.indexer.check(ORG) == []
    assert many.tokens(*MANY) == HELD


@damages
def test_a_rebuild_does_not_ask_what_is_in_the_file(
    many: World, late: LetterTokens, damage: Callable[[Path], None]
) -> None:
    spoil(many, damage)
    many.indexer.reindex(ORG, ["vectors"])
    level(many)
    assert many.tokens(*MANY) == HELD
    assert many.indexer.check(ORG) == []


def test_a_write_that_meets_damage_has_the_file_made_again(many: World, late: LetterTokens) -> None:
    spoil(many, flip)
    many.update(MANY[0], content="a kestrel")
    level(many)
    assert many.tokens(*MANY) == HELD | {MANY[0]: 3}


def test_what_was_deleted_while_a_file_could_not_be_used_is_not_in_it(many: World, late: LetterTokens) -> None:
    spoil(many, DAMAGES["cut"])
    late.gate.clear()
    with pytest.raises(TokensUnusable):
        many.tokens(*MANY)
    many.delete(MANY[0])
    until(lambda: MANY[0] not in many.by_meaning("heron", limit=100))
    late.gate.set()
    level(many)
    assert many.tokens(*MANY).keys() == {*MANY[1:]}


def test_without_a_place_for_the_file_meaning_goes_on_and_no_other_organization_notices(
    world: World, late: LetterTokens
) -> None:
    world.add_organization("other")
    world.write(draft("a", "the kestrel hovers"), org="other")
    world.write(draft("a", "the kestrel hovers"))
    level(world, "other")
    level(world)
    file = file_of(world, "other")
    world.stop()
    file.unlink()
    file.mkdir()
    world.start(retry_at_most_s=3_600.0)
    sequence = world.write(draft("b", "a heron"), org="other")
    assert world.indexer.wait_applied("other", sequence, ["b"], 60) == []
    assert world.by_meaning("a heron", "other")[:1] == ["b"]
    until(lambda: vectors_of(world, "other").detail != "")
    line = vectors_of(world, "other")
    assert (line.state, line.pending) == ("catching_up", 2)
    assert line.detail.startswith("token vectors are missing: ")
    with pytest.raises(TokensUnusable):
        world.tokens("a", org="other")
    assert [each.partition(":")[0] for each in world.indexer.check("other")] == ["vectors"]
    assert world.indexer.degraded("other") == {}

    sequence = world.write(draft("b", "a heron"))
    assert world.indexer.wait_applied(ORG, sequence, ["b"], 60) == []
    level(world)
    assert world.tokens("a", "b") == {"a": 4, "b": 3}

    file.rmdir()
    world.restart(retry_at_most_s=0.05)
    level(world, "other")
    assert world.tokens("a", "b", org="other") == {"a": 4, "b": 3}


def test_a_place_for_the_file_is_looked_for_again(world: World, late: LetterTokens) -> None:
    world.write(draft("a", "the kestrel hovers"))
    level(world)
    file = file_of(world)
    world.stop()
    file.unlink()
    file.mkdir()
    world.start(retry_at_most_s=0.05)
    until(lambda: world.indexer.surveyed)
    until(lambda: vectors_of(world).detail != "")
    file.rmdir()
    level(world)
    assert world.tokens("a") == {"a": 4}
    until(lambda: vectors_of(world).detail == "")
