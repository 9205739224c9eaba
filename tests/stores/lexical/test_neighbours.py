"""Which records stand next to each other, and which terms they hold."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.language.speakers import NOBODY, speaker_hash
from stores.lexical import LexicalIndex, key_of
from stores.records import Entity, IndexFilter
from tests.stores.lexical.test_index import EVERYONE, batch, record


def turn(record_id: str, content: str, ordinal: int, *, thread: str = "t", visibility: str = "organization") -> Entity:
    metadata = {"thread_id": thread, "ordinal": ordinal}
    return record(record_id, content, entity_type="raw_memory", metadata=metadata, visibility=visibility)


def around(index: LexicalIndex, record_id: str, radius: int = 2) -> dict[str, int]:
    near = index.around([record_id], radius)
    names = index.named_by(near.keys)
    return {names[key]: distance for key, distance in zip(near.keys, near.distances, strict=True)}


@pytest.fixture
def index(tmp_path: Path):  # type: ignore[no-untyped-def]
    opened = LexicalIndex(tmp_path / "lexical")
    opened.apply(batch(1, *(turn(name, f"word{name}", at) for at, name in enumerate("abcde")), record("x", "worda")))
    yield opened
    opened.close()


def test_a_long_text_separates_its_neighbours(index: LexicalIndex) -> None:
    index.apply(batch(2, turn("c", "wordc " * 200, 2)))
    assert around(index, "b") == {"a": 1}
    assert around(index, "d") == {"e": 1}
    assert around(index, "c") == {}
    assert index.speakers_of(["c"]) == [NOBODY]
    found = index.search("wordb wordc", filter=EVERYONE, limit=9)
    assert set(index.held(found, filter=EVERYONE).marks) == {key_of("b")}


def test_pairs_say_whose_neighbour_each_is(index: LexicalIndex) -> None:
    near = index.around(["x", "a", "e"], 1)
    assert near.owners == [1, 2]
    assert near.keys == [key_of("b"), key_of("d")]


def test_too_many_leave_no_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stores.lexical.neighbours.MOST_THREADED", 2)
    index = LexicalIndex(tmp_path / "lexical")
    index.apply(batch(1, turn("a", "word", 1), turn("b", "word", 2)))
    assert around(index, "a") == {"b": 1}
    index.apply(batch(2, turn("c", "word", 3)))
    index.apply(batch(3, deleted=("c",)))
    assert around(index, "a") == {}
    index.close()


def test_terms_are_told_of_records_in_threads_that_the_filter_accepts(index: LexicalIndex) -> None:
    index.apply(batch(2, turn("p", "worda wordb", 9, visibility="private:y")))
    found = index.search("worda wordb nowhere", filter=EVERYONE, limit=10)
    held = index.held(found, filter=EVERYONE)
    order = [term.value for term in found.question.present]
    bits = {word: 1 << (len(order) - 1 - order.index(word)) for word in order}
    assert held.of(map(key_of, "abx")) == [bits["worda"], bits["wordb"], 0]
    assert held.of([key_of("p")]) == [0]
    everything = index.held(found, filter=IndexFilter(frozenset({"private:y"})))
    assert everything.of([key_of("p")]) == [bits["worda"] | bits["wordb"]]
    assert sum(held.shares) < 1


def test_the_rarest_of_many_terms_are_marked(index: LexicalIndex) -> None:
    words = [f"{first}{last}zle" for first in "bcdfg" for last in ("la", "lo", "mi", "mu", "na", "no", "ri", "ru")]
    index.apply(batch(2, turn("m", " ".join(words), 7), turn("n", " ".join(words[:20]), 8)))
    held = index.held(index.search(" ".join(words), filter=EVERYONE, limit=5), filter=EVERYONE)
    marks = dict(zip("mn", held.of(map(key_of, "mn")), strict=True))
    assert marks["m"] == (1 << 24) - 1
    assert marks["n"].bit_count() == 4


def test_a_question_without_words_marks_nothing(index: LexicalIndex) -> None:
    assert index.held(index.search("the", filter=EVERYONE, limit=5), filter=EVERYONE).marks == {}


STEP = st.tuples(
    st.sampled_from(["put", "delete", "compact", "reopen"]), st.integers(0, 7), st.integers(0, 4), st.sampled_from("st")
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=14))
def test_any_history_leaves_the_threads_that_a_dictionary_would_hold(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("lexical")
    index = LexicalIndex(folder)
    model: dict[str, tuple[str, int]] = {}
    for sequence, (verb, number, ordinal, thread) in enumerate(steps, start=1):
        record_id = f"r{number}"
        if verb == "put":
            model[record_id] = (thread, ordinal)
            index.apply(batch(sequence, turn(record_id, "word", ordinal, thread=thread)))
        elif verb == "delete":
            model.pop(record_id, None)
            index.apply(batch(sequence, deleted=(record_id,)))
        elif verb == "compact":
            index.compact()
        else:
            index.close()
            index = LexicalIndex(folder)
    for record_id, (thread, _) in model.items():
        row = sorted((o, key_of(each), each) for each, (t, o) in model.items() if t == thread)
        at = [each for *_, each in row].index(record_id)
        expected = {each: abs(place - at) for place, (*_, each) in enumerate(row) if 0 < abs(place - at) <= 2}
        assert around(index, record_id) == expected
    index.close()


def test_who_says_what_is_known_after_changes_opening_and_compacting(tmp_path: Path) -> None:
    ines, ravi = map(speaker_hash, ("Ines", "Ravi"))
    first = LexicalIndex(tmp_path / "lexical")
    first.apply(batch(1, turn("a", "Ines: hello", 1), turn("b", "Ravi: hello", 2), turn("c", "hello", 3)))
    first.apply(batch(2, record("d", "Ines: in no thread")))
    assert first.speakers_of(["c", "b", "a", "d", "unknown"]) == [NOBODY, ravi, ines, NOBODY, NOBODY]
    first.apply(batch(3, turn("a", "Ravi: hello", 1), deleted=["b"]))
    assert first.speakers_of("abc") == [ravi, NOBODY, NOBODY]
    first.close()
    again = LexicalIndex(tmp_path / "lexical")
    assert again.speakers_of("abc") == [ravi, NOBODY, NOBODY]
    again.compact()
    assert again.speakers_of("abc") == [ravi, NOBODY, NOBODY]
    again.close()
