"""Files of token vectors that are damaged or cannot be made: one organization's alone, and derived data."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from stores.tokens import FILE, TokensUnusable
from tests.indexes import differences
from tests.stores.indexer.samples import ORG, LetterTokens, World, draft, level, until

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


def held(world: World) -> dict[str, int]:
    try:
        return world.tokens(*MANY)
    except (TokensUnusable, AssertionError):  # the vectors are being opened again
        return {}


@damages
def test_a_file_whose_damage_a_search_meets_is_made_anew(
    many: World, late: LetterTokens, damage: Callable[[Path], None]
) -> None:
    spoil(many, damage)
    with pytest.raises(TokensUnusable):
        many.tokens(*MANY)
    until(lambda: held(many) == HELD)
    assert many.by_meaning("heron")
    assert differences(many.indexer, ORG) == []


@damages
def test_a_file_whose_damage_a_check_meets_is_named_and_made_anew(
    many: World, late: LetterTokens, damage: Callable[[Path], None]
) -> None:
    spoil(many, damage)
    assert [line.partition(":")[0] for line in differences(many.indexer, ORG)] == ["vectors"]
    until(lambda: held(many) == HELD)
    assert differences(many.indexer, ORG) == []


def test_a_write_that_meets_damage_has_the_file_made_again(many: World, late: LetterTokens) -> None:
    spoil(many, flip)
    many.update(MANY[0], content="a kestrel")
    until(lambda: held(many) == HELD | {MANY[0]: 3})


def test_without_a_place_for_the_file_meaning_goes_on(world: World, late: LetterTokens) -> None:
    world.write(draft("a", "the kestrel hovers"))
    level(world)
    file = file_of(world)
    world.stop()
    file.unlink()
    file.mkdir()
    world.start()
    sequence = world.write(draft("b", "a heron"))
    assert world.wait_applied(sequence, ["b"], 60) == []
    assert world.by_meaning("a heron")[:1] == ["b"]
    world.stop()
    file.rmdir()
    world.start()
    level(world)
    until(lambda: world.tokens("a", "b") == {"a": 4, "b": 3})
