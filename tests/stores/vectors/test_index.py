import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.embedding import Passage
from stores.records import ORGANIZATION, IndexFilter, Position, matches
from stores.room import Room
from stores.vectors import DenseHit, EmbeddedRecord, ModelChanged, VectorIndex, VectorState
from stores.vectors.matrix import row_bytes
from stores.vectors.passages import Vector
from tests.stores.disk import killed, on_disk
from tests.stores.records import entity

DIMENSION = 8
NOW = datetime(2026, 3, 1, tzinfo=UTC)
EVERYONE = IndexFilter(frozenset({ORGANIZATION}))


def unit(seed: int) -> Vector:
    vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def record(record_id: str, *seeds: int, **fields: Any) -> EmbeddedRecord:
    passages = [Passage(10 * at, 10 * at + 9) for at, _ in enumerate(seeds)]
    return EmbeddedRecord(entity(record_id, **{"updated_at": NOW} | fields), passages, [unit(seed) for seed in seeds])


def state(sequence: int, newest: int = 0) -> VectorState:
    return VectorState(*(Position("epoch", each, f"batch-{each}") for each in (sequence, max(sequence, newest))))


def opened(folder: Path, model: str = "m@1", **options: int | Room) -> VectorIndex:
    return VectorIndex(folder / "vectors", model=model, dimension=DIMENSION, **options)  # type: ignore[arg-type]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[VectorIndex]:
    fresh = opened(tmp_path)
    yield fresh
    fresh.close()


@pytest.fixture(params=["in memory", "in LanceDB"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    fresh = opened(tmp_path, room=Room(0 if request.param == "in LanceDB" else 10**9))
    yield fresh
    fresh.close()


def find(index: VectorIndex, seed: int, accepted: IndexFilter = EVERYONE, limit: int = 10) -> list[str]:
    return [hit.record_id for hit in index.search(unit(seed), filter=accepted, limit=limit)]


def test_a_record_is_found_by_its_best_passage(either: VectorIndex) -> None:
    either.replace([record("a", 1, 2, 3), record("b", 4)], [], state(1))
    best = either.search(unit(2), filter=EVERYONE, limit=1)
    assert best == [DenseHit("a", 1.0, 10, 19)]
    assert sorted(find(either, 2)) == ["a", "b"]


def test_equal_scores_are_ordered_by_id(either: VectorIndex) -> None:
    names = [f"r{number:03}" for number in range(60)]
    either.replace([record(name, 1) for name in reversed(names)], [], state(1))
    assert find(either, 1, limit=5) == names[:5]


def test_filters_apply_before_the_limit(either: VectorIndex) -> None:
    others = [record(f"o{number}", 1, 1, visibility="private:x") for number in range(40)]
    either.replace([*others, record("mine", 2, visibility="private:it's me")], [], state(1))
    keys = frozenset({"private:it's me"}) | {f"project:{number}" for number in range(1_000)}
    assert find(either, 1, IndexFilter(keys), limit=1) == ["mine"]
    assert find(either, 1, IndexFilter(frozenset())) == []


def test_facets_and_times_filter(either: VectorIndex) -> None:
    late = record("b", 1, entity_type="task", metadata={"assignees": ["ann"]}, updated_at=NOW + timedelta(days=2))
    either.replace([record("a", 1, entity_type="task", languages=("go", "python")), late], [], state(1))

    def matching(**any_of: set[str]) -> list[str]:
        accepted = {facet: frozenset(values) for facet, values in any_of.items()}
        return find(either, 1, IndexFilter(frozenset({ORGANIZATION}), accepted))  # type: ignore[arg-type]

    assert matching(entity_type={"task", "epic"}) == ["a", "b"]
    assert matching(language={"python"}) == ["a"]
    assert matching(assignee={"ann"}, entity_type={"task"}) == ["b"]
    assert matching(assignee={"ann"}, language={"go"}) == []
    assert matching(entity_type=set()) == []
    since = IndexFilter(frozenset({ORGANIZATION}), updated_since=NOW + timedelta(days=1))
    assert find(either, 1, since) == ["b"]
    until = IndexFilter(frozenset({ORGANIZATION}), updated_until=NOW)
    assert find(either, 1, until) == ["a"]
    for ids in (frozenset({"b", "unknown"}), frozenset[str]()):
        assert find(either, 1, IndexFilter(frozenset({ORGANIZATION}), ids=ids)) == sorted(ids - {"unknown"})


def test_another_model_or_dimension_asks_for_a_new_index(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(ModelChanged, match=r"m@1.*not with m@2"):
        opened(tmp_path, model="m@2")
    with pytest.raises(ModelChanged):
        VectorIndex(tmp_path / "vectors", model="m@1", dimension=DIMENSION + 1)


@pytest.mark.parametrize("leftover", ["passages.lance", "passages.lance/_versions", "passages.lance/data"])
def test_a_creation_that_was_cut_short_is_begun_again(tmp_path: Path, leftover: str) -> None:
    (tmp_path / "vectors" / leftover).mkdir(parents=True)
    index = opened(tmp_path)
    index.replace([record("a", 1)], [], state(1))
    assert find(index, 1) == ["a"]
    index.close()


def test_a_question_that_is_no_vector_is_refused(index: VectorIndex) -> None:
    for wrong in (np.zeros(DIMENSION + 1, np.float32), np.full(DIMENSION, np.nan, np.float32)):
        with pytest.raises(ValueError, match="finite"):
            index.search(wrong, filter=EVERYONE, limit=1)


def test_a_record_replaced_thousands_of_times_takes_no_more_memory(tmp_path: Path) -> None:
    index = opened(tmp_path)
    index.replace([record("a", *range(1_000))], [], state(1))
    find(index, 1)
    for number in range(2, 12):
        index.replace([record("a", *range(1_000), revision=number)], [], state(number))
    assert index._matrix.bytes < 7_000 * 300
    assert index.search(unit(999), filter=EVERYONE, limit=2) == [DenseHit("a", 1.0, 9_990, 9_999)]
    index.close()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_vector_that_is_not_finite_is_refused_and_changes_nothing(index: VectorIndex, value: float) -> None:
    broken = EmbeddedRecord(entity("a"), [Passage(0, 1)], [np.full(DIMENSION, value, np.float32)])
    with pytest.raises(ValueError, match="finite"):
        index.replace([broken], [], state(1))
    assert index.contents() == {}
    assert index.state() is None


def test_deleted_vectors_leave_the_disk_when_compacted(tmp_path: Path) -> None:
    index = opened(tmp_path)
    index.replace([record(f"r{number}", number) for number in range(2_000)], [], state(1))
    index.replace([], ["r7"], state(2))
    assert on_disk(tmp_path, unit(7).tobytes())
    index.compact()
    assert not on_disk(tmp_path, unit(7).tobytes())
    assert on_disk(tmp_path, unit(8).tobytes())
    assert find(index, 8, limit=1) == ["r8"]
    index.close()
    again = opened(tmp_path)
    assert again.state() == state(2)
    assert len(again.contents()) == 1_999
    again.close()


def test_the_vectors_searched_last_stay_in_memory(tmp_path: Path) -> None:
    room = Room(60 * row_bytes(DIMENSION))
    one, other = opened(tmp_path / "one", room=room), opened(tmp_path / "other", room=room)
    for index in (one, other):
        index.replace([record(f"r{number}", number) for number in range(50)], [], state(1))
        assert index._matrix is None
    before = one.search(unit(3), filter=EVERYONE, limit=10)
    assert one._matrix is not None
    find(other, 3)
    assert (one._matrix is None, other._matrix is None) == (True, False)
    without = one.search(unit(3), filter=EVERYONE, limit=10)
    assert [(hit.record_id, hit.start) for hit in without] == [(hit.record_id, hit.start) for hit in before]
    assert [hit.score for hit in without] == pytest.approx([hit.score for hit in before], abs=2e-6)
    one._not_before = 0.0
    assert one.search(unit(3), filter=EVERYONE, limit=10) == before
    assert (one._matrix is None, other._matrix is None) == (False, True)
    one.replace([record(f"new{number}", number) for number in range(20)], [], state(2))
    assert one._matrix is None, "it has outgrown the room"
    other._not_before = 0.0
    find(other, 3)
    assert other._matrix is not None
    for index in (one, other):
        index.close()
    assert not room._sizes


def test_a_search_does_not_wait_for_a_busy_writer(index: VectorIndex) -> None:
    index.replace([record("a", 1)], [], state(1))
    held, done = threading.Event(), threading.Event()

    def be_busy() -> None:
        with index._writing:
            held.set()
            done.wait(30)

    writer = threading.Thread(target=be_busy)
    writer.start()
    assert held.wait(30)
    assert find(index, 1) == ["a"]
    assert index._matrix is None
    done.set()
    writer.join()
    assert find(index, 1) == ["a"]
    assert index._matrix is not None


def test_vectors_of_records_are_those_of_their_first_passages(either: VectorIndex) -> None:
    either.replace([record("a", 1, 2), record("b", 3), record("empty")], [], state(1))
    either.replace([record("b", 4, revision=2)], [], state(2))
    found = either.vectors_of(["a", "b", "empty", "unknown"])
    assert sorted(found) == ["a", "b"]
    assert np.array_equal(found["a"], unit(1))
    assert np.array_equal(found["b"], unit(4))


def test_many_replacements_while_dropped_are_erased_on_the_way(tmp_path: Path) -> None:
    index = opened(tmp_path, room=Room(0))
    for revision in range(1, 5):
        index.replace([record(f"r{n}", n, revision=revision) for n in range(400)], [], state(revision))
    assert set(index.contents().values()) == {4}
    assert find(index, 5, limit=1) == ["r5"]
    index.close()


def test_a_large_index_outside_memory_is_searched_approximately(tmp_path: Path) -> None:
    index = opened(tmp_path, room=Room(0), index_from=500)
    index.replace([record(f"r{number}", number) for number in range(1_000)], [], state(1))
    index.replace([], ["r1"], state(2))
    find(index, 1)
    index.compact()
    assert index._table._indexed()
    assert index._matrix is None
    index.replace([record("late", 5_000), record("r2", 5_001, revision=2)], [], state(3))
    assert find(index, 77, limit=1) == ["r77"]
    assert find(index, 5_000, limit=1) == ["late"]
    assert find(index, 5_001, limit=1) == ["r2"]
    index.compact()
    assert find(index, 5_001, limit=1) == ["r2"]
    index.close()


def test_searches_beside_a_writer_see_whole_commits(index: VectorIndex) -> None:
    index.replace([record("a", 1), record("b", 1)], [], state(1))
    find(index, 1)
    stop = threading.Event()
    torn: list[list[float]] = []

    def read() -> None:
        while not stop.is_set():
            scores = [hit.score for hit in index.search(unit(1), filter=EVERYONE, limit=5)]
            if len(scores) != 2 or scores[0] != scores[1]:
                torn.append(scores)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(2, 60):
        index.replace([record("a", number), record("b", number)], [], state(number))
    index.compact()
    stop.set()
    reader.join()
    assert torn == []


KEYS = st.sampled_from([ORGANIZATION, "private:a", "project:p"])
LANGUAGES = st.sampled_from([("go",), ("python",), ("go", "python")])
RECORD = st.tuples(st.integers(0, 7), st.lists(st.integers(0, 40), max_size=3), KEYS, LANGUAGES)
STEP = st.one_of(
    st.tuples(st.just("replace"), st.lists(RECORD, max_size=4), st.lists(st.integers(0, 7), max_size=2)),
    st.tuples(st.sampled_from(["compact", "reopen", "drop"]), st.just([]), st.just([])),
)
Model = dict[str, EmbeddedRecord]


def nearest(model: Model, query: Vector, accepted: IndexFilter) -> list[tuple[str, float]]:
    scores = {
        held.entity.id: max(float(vector @ query) for vector in held.vectors)
        for held in model.values()
        if held.passages and matches(held.entity, accepted)
    }
    return sorted(scores.items(), key=lambda item: (-round(item[1], 6), item[0]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, max_size=10), visible=st.sets(KEYS), seed=st.integers(0, 40), limit=st.integers(1, 9))
def test_any_history_finds_what_brute_force_finds(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, list, list]],
    visible: set[str],
    seed: int,
    limit: int,  # type: ignore[type-arg]
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    index = opened(folder)
    model: Model = {}
    reached = None
    for sequence, (verb, records, deleted) in enumerate(steps, start=1):
        if verb == "replace":
            drafts = [
                record(f"r{n}", *seeds, revision=sequence, visibility=key, languages=languages)
                for n, seeds, key, languages in records
            ]
            gone = [f"r{n}" for n in deleted]
            reached = state(sequence, sequence + 2)
            index.replace(drafts, gone, reached)
            model = {name: held for name, held in model.items() if name not in gone}
            model |= {draft.entity.id: draft for draft in drafts}
        elif verb == "reopen":
            index.close()
            index = opened(folder)
        else:
            {"compact": index.compact, "drop": index.drop}[verb]()
        accepted = IndexFilter(frozenset(visible), {"language": frozenset({"go"})})
        expected = nearest(model, unit(seed), accepted)[:limit]
        hits = index.search(unit(seed), filter=accepted, limit=limit)
        assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], abs=1e-5)
        assert {hit.record_id for hit in hits} <= {name for name, _ in nearest(model, unit(seed), accepted)}
        assert index.contents() == {name: held.entity.revision for name, held in model.items()}
        assert index.state() == reached
    index.close()


@pytest.mark.slow
def test_after_a_kill_the_state_is_never_ahead_of_the_records(tmp_path: Path) -> None:
    script = """
        import sys
        from pathlib import Path
        from tests.stores.vectors.test_index import opened, record, state
        index = opened(Path(sys.argv[1]))
        start = index.state().position.sequence if index.state() else 0
        for number in range(start + 1, 100_000):
            index.replace([record(f"r{number % 20}", number, revision=number)], [], state(number))
            if number % 20 == 0:
                index.compact()
            print(number, flush=True)
        """
    for acknowledged in killed(script, tmp_path, (3, 20, 41)):
        index = opened(tmp_path)
        reached = index.state()
        assert reached.position.sequence >= acknowledged
        assert max(index.contents().values()) == reached.position.sequence
        assert find(index, reached.position.sequence, limit=1) == [f"r{reached.position.sequence % 20}"]
        index.close()


def test_any_record_is_measured_as_a_search_that_reaches_it_would(index: VectorIndex) -> None:
    index.replace([record(f"r{number:02}", number, 100 + number) for number in range(40)], [], state(1))
    index.replace([record("r03", 7, revision=2)], ["r05"], state(2))
    found = {hit.record_id: hit for hit in index.search(unit(7), filter=EVERYONE, limit=100)}
    wanted = ["r00", "r03", "r05", "r39", "absent"]
    measured = index.measure(unit(7), wanted)
    assert {hit.record_id: hit for hit in measured} == {each: found[each] for each in wanted if each in found}
    assert [hit.score for hit in measured] == sorted((hit.score for hit in measured), reverse=True)
    assert index.measure(unit(7), []) == []
    index.drop()
    assert index.measure(unit(7), wanted) == []
