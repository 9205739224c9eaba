"""Passages are encoded several at once while nobody searches, and what is stored is the same."""

import threading

import numpy as np
import pytest

from stores.embedding.workers import Workers
from stores.tokens import FILE, Tokens
from tests.stores.indexer.samples import ORG, PASSAGE_WORDS, LetterTokens, World, draft, level, until, waiting

PATIENCE_S = 30.0


@pytest.fixture
def late(late: LetterTokens) -> LetterTokens:
    late.workers = Workers(3)
    return late


def rows(world: World, *ids: str) -> dict[str, list[list[list[int]]]]:
    with world.indexer.indexes(ORG) as indexes:
        found = indexes.vectors.tokens.read(dict.fromkeys(ids, 0))
    return {record_id: [np.asarray(each).tolist() for each in passages] for record_id, passages in found.items()}


def test_several_are_encoded_at_once_and_each_one_once(
    world: World, late: LetterTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, encode = threading.Barrier(3), late.encode_passage
    late.gate.clear()

    def meet(text: str) -> Tokens:
        found = encode(text)
        if text.startswith(("a\n", "b\n", "c\n")):
            together.wait(PATIENCE_S)
        return found

    monkeypatch.setattr(late, "encode_passage", meet)
    words = {name: f"{name} kestrel hovers" for name in "abc"}
    world.write(*(draft(name, text, name=name) for name, text in words.items()), deferred=True)
    until(lambda: waiting(world) == 3)
    late.gate.set()
    level(world)
    assert world.tokens("a", "b", "c") == {"a": 4, "b": 4, "c": 4}
    assert sorted(late.passages) == [f"{name}\n{text}" for name, text in words.items()]


def test_what_is_stored_is_what_one_at_a_time_stores(world: World, late: LetterTokens) -> None:
    drafts = [
        draft(f"n{number}", " ".join(f"{'abcdefg'[number % 7]}{at}" for at in range(number * PASSAGE_WORDS // 3)))
        for number in range(30)
    ]
    world.write(*drafts, deferred=True)
    level(world)
    at_once = rows(world, *(f"n{number}" for number in range(30)))
    assert len(late.passages) <= sum(len(late.split(f"{each.name}\n{each.content}")) for each in drafts)
    world.stop()
    for file in world.indexes.rglob(f"{FILE}*"):
        file.unlink()
    late.workers = Workers(1)
    world.start()
    until(lambda: world.indexer.surveyed)
    level(world)
    assert len(at_once) == 30
    assert rows(world, *at_once) == at_once


def test_what_changed_or_went_while_it_was_read_ahead_is_not_stored(world: World, late: LetterTokens) -> None:
    late.gate.clear()
    world.write(*(draft(name, f"{name} kestrel", name=name) for name in "abcd"), deferred=True)
    until(lambda: waiting(world) == 4)
    world.update("a", content="a heron of another kind")
    world.delete("b")
    until(lambda: world.by_meaning("a heron of another kind")[:1] == ["a"])
    late.gate.set()
    level(world)
    assert world.tokens(*"abcd") == {"a": 6, "c": 3, "d": 3}


def test_after_a_question_a_turn_is_as_long_as_by_one_alone(
    world: World, late: LetterTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    late.workers.make_way()
    late.gate.clear()
    world.write(*(draft(f"n{number}", f"{number} kestrel") for number in range(9)), deferred=True)
    until(lambda: waiting(world) == 9)
    monkeypatch.setattr(late, "encode_passages", None)
    late.gate.set()
    level(world)
    assert len(late.passages) == 9
