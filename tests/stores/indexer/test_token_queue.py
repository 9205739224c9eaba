"""Token vectors follow the vector index, behind everything that somebody waits for."""

import json

import pytest

from stores.embedding import EmbeddingFailed, Passage
from stores.tokens import FILE
from tests.indexes import degraded, differences
from tests.stores.indexer.samples import (
    ORG,
    PASSAGE_WORDS,
    LetterTokens,
    World,
    draft,
    level,
    until,
    vectors_of,
    waiting,
)


def test_records_are_found_before_they_have_token_vectors(world: World, late: LetterTokens) -> None:
    late.gate.clear()
    sequence = world.write(draft("a", "the kestrel hovers"), draft("b", "a heron"))
    assert world.wait_applied(sequence, ["a", "b"]) == []
    assert world.by_meaning("a heron")[:1] == ["b"]
    assert world.tokens("a", "b") == {}
    assert waiting(world) == 2
    late.gate.set()
    level(world)
    assert world.tokens("a", "b") == {"a": 4, "b": 3}


def test_a_write_waits_for_no_more_than_one_turn_of_tokens(world: World, late: LetterTokens) -> None:
    text = " ".join(f"word{number}" for number in range(30 * PASSAGE_WORDS))
    late.gate.clear()
    world.write(draft("long", text))
    until(lambda: world.by_meaning("word7")[:1] == ["long"])
    world.write(draft("a", "the kestrel hovers"))
    late.gate.set()
    level(world)
    assert world.tokens("a", "long").keys() == {"a", "long"}
    assert sum("word" in passage for passage in late.passages) == len(late.split(f"long\n{text}"))


def test_a_change_of_the_text_is_encoded_anew_and_one_of_metadata_is_not(world: World, late: LetterTokens) -> None:
    world.write(draft("a", "the kestrel hovers"))
    level(world)
    before = len(late.passages)
    world.update("a", metadata={"status": "open"})
    level(world)
    assert len(late.passages) == before
    world.update("a", content="it dives")
    level(world)
    assert world.tokens("a") == {"a": 3}
    world.restart()
    level(world)
    assert len(late.passages) == before + 1


def test_a_deleted_record_leaves_no_vectors_and_no_bytes(world: World, late: LetterTokens) -> None:
    world.write(draft("a", "zzz " * 30), draft("b", "a heron"))
    level(world)
    assert world.tokens("a", "b").keys() == {"a", "b"}
    world.delete("a")
    level(world)
    assert world.tokens("a", "b").keys() == {"b"}
    world.stop()
    trace = bytes(([0] * (ord("z") % 32) + [127] + [0] * (31 - ord("z") % 32)) * 20)
    files = list(world.indexes.rglob(f"{FILE}*"))
    assert files
    assert not any(trace in file.read_bytes() for file in files)


def test_a_model_that_fails_is_asked_again_after_a_pause_and_holds_nothing_up(world: World, late: LetterTokens) -> None:
    world.restart(retry_at_most_s=2.0)
    late.failure = EmbeddingFailed("not today")
    sequence = world.write(draft("a", "the kestrel hovers"))
    assert world.wait_applied(sequence, ["a"], 60) == []
    until(lambda: late.failures > 0)
    assert degraded(world.indexer, ORG) == set()
    assert world.by_meaning("the kestrel hovers") == ["a"]
    late.failure = None
    level(world)
    assert world.tokens("a") == {"a": 4}


def test_a_record_that_cannot_be_encoded_is_named_until_it_changes(world: World, late: LetterTokens) -> None:
    late.refused = "nettle"
    sequence = world.write(draft("bad", "a nettle"), draft("good", "a heron"))
    assert world.wait_applied(sequence, ["bad", "good"], 60) == []
    level(world)
    line = vectors_of(world)
    assert (line.state, line.pending, line.refused) == ("ready", 0, 1)
    why = "no token vectors: ValueError: nettle is not to my taste"
    assert differences(world.indexer, ORG) == [f"vectors: entity bad cannot be embedded: {why}"]
    assert "vectors" in degraded(world.indexer, ORG)
    assert world.by_meaning("a nettle")[:1] == ["bad"]
    world.update("bad", content="a kestrel")
    level(world)
    assert world.tokens("bad").keys() == {"bad"}
    assert vectors_of(world).refused == 0
    assert degraded(world.indexer, ORG) == set()


@pytest.mark.parametrize("way", ["rebuild", "restart"])
def test_a_record_that_could_not_be_encoded_is_tried_again(world: World, late: LetterTokens, way: str) -> None:
    late.refused = "nettle"
    world.write(draft("bad", "a nettle"), draft("good", "a heron"))
    until(lambda: vectors_of(world).refused == 1)
    late.refused = None
    if way == "rebuild":
        world.indexer.reindex(ORG, ["vectors"])
    else:
        world.restart()
    level(world)
    until(lambda: len(world.tokens("bad", "good")) == 2)
    assert vectors_of(world).refused == 0


def test_deleting_a_record_that_cannot_be_encoded_ends_the_matter(world: World, late: LetterTokens) -> None:
    late.refused = "nettle"
    world.write(draft("bad", "a nettle"))
    until(lambda: vectors_of(world).refused == 1)
    world.delete("bad")
    until(lambda: vectors_of(world).refused == 0)
    assert differences(world.indexer, ORG) == []


def test_no_record_is_to_blame_for_a_model_that_cannot_even_divide_a_text(
    world: World, late: LetterTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.restart(retry_at_most_s=0.05)
    tried: list[str] = []

    def split(text: str) -> list[Passage]:
        tried.append(text)
        raise EmbeddingFailed("not today")

    with monkeypatch.context() as patch:
        patch.setattr(late, "split", split)
        late.failure = EmbeddingFailed("not today")
        world.write(draft("a", "the kestrel hovers"))
        until(lambda: len(tried) > 1)
        assert (vectors_of(world).pending, vectors_of(world).refused) == (1, 0)
    late.failure = None
    level(world)
    assert world.tokens("a") == {"a": 4}


def test_another_model_means_other_vectors(world: World, late: LetterTokens) -> None:
    world.write(draft("a", "the kestrel hovers"))
    level(world)
    world.stop()
    late.model, late.passages = "letters-2", []
    world.start()
    level(world)
    assert len(late.passages) == 1


@pytest.mark.parametrize("how", ["switched on", "another version", "lost"])
def test_token_vectors_that_are_missing_at_the_start_are_pending_and_made_without_a_question(
    world: World, late: LetterTokens, how: str
) -> None:
    world.add_organization("other")
    if how == "switched on":
        world.late = None
        world.restart()
    for each in (ORG, "other"):
        world.write(draft("a", "the kestrel hovers", name=each), org=each)
        level(world, each)
    world.stop()
    if how == "another version":
        for record in world.indexes.rglob("watermarks.json"):
            record.write_text(json.dumps({k: v for k, v in json.loads(record.read_text()).items() if k != "tokens"}))
    if how != "switched on":
        for file in world.indexes.rglob(f"{FILE}*"):
            file.unlink()
    world.late = late
    late.passages.clear()
    late.gate.clear()
    world.start(open_limit=1)
    until(lambda: world.indexer.surveyed)
    assert [(vectors_of(world, each).state, waiting(world, each) > 0) for each in (ORG, "other")] == [
        ("catching_up", True)
    ] * 2
    late.gate.set()
    until(lambda: not waiting(world) and not waiting(world, "other"))
    assert sorted(late.passages) == [f"{each}\nthe kestrel hovers" for each in (ORG, "other")]
