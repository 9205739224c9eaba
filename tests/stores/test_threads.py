from datetime import timedelta

import pytest

from stores.records import Entity
from stores.threads import LONGEST, SEPARATES, ThreadPlace, thread_place
from tests.stores.lexical.test_index import NOW, record


def memory(**metadata: object) -> Entity:
    return record("m", "text", entity_type="raw_memory", metadata=metadata)


def place(entity: Entity) -> ThreadPlace:
    found = thread_place(entity)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "metadata", [{}, {"thread_id": " "}, {"thread_id": None}, {"thread_id": ["a"]}, {"ordinal": 1}]
)
def test_without_a_name_there_is_no_thread(metadata: dict[str, object]) -> None:
    assert thread_place(memory(**metadata)) is None


def test_only_raw_memories_stand_in_threads() -> None:
    assert thread_place(record("n", "text", entity_type="note", metadata={"thread_id": "t"})) is None


def test_a_long_text_only_separates() -> None:
    for length, separates in ((LONGEST, False), (LONGEST + 1, True)):
        entity = record("m", "x" * length, entity_type="raw_memory", metadata={"thread_id": "t", "speaker": "Ines"})
        assert (place(entity).speaker == SEPARATES) == separates


def test_people_who_may_not_read_the_same_never_share_a_thread() -> None:
    theirs = record("m", "text", entity_type="raw_memory", metadata={"thread_id": "t"}, visibility="private:x")
    assert place(theirs).thread != place(memory(thread_id="t")).thread


def test_agents_do_not_share_a_thread() -> None:
    scout, miner = (
        record("m", "text", entity_type="raw_memory", metadata={"thread_id": "t"}, category=agent)
        for agent in ("scout", "miner")
    )
    assert place(scout).thread != place(miner).thread


def test_the_thread_counts_before_the_session() -> None:
    both = place(memory(thread_id="t", session_id="s"))
    assert both.thread == place(memory(thread_id="t")).thread
    assert both.thread != place(memory(session_id="t")).thread


def test_ordinals_come_in_their_order_and_before_times() -> None:
    numbers = (-(10**400), -(10**30), -1, 0, 0.5, 1, 10, 10**30, 10**400)
    orders = [place(memory(thread_id=7, ordinal=number)).order for number in numbers]
    assert orders == sorted(orders)
    earliest = place(memory(thread_id=7, captured_at="0001-01-01T00:00:00Z")).order
    assert orders[-1] < earliest < place(memory(thread_id=7)).order
    assert place(memory(thread_id=7, captured_at="9999-12-31T23:59:59Z")).order < 2**63


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param((1_799_999_999.25, 1_799_999_999.5, 1_800_000_000), id="seconds"),
        pytest.param((1_799_999_999_999, 1_800_000_000_000, 1_800_000_000_001), id="milliseconds"),
        pytest.param((1_799_999_999_999_999, 1_800_000_000_000_000, 1_800_000_000_000_001), id="microseconds"),
        pytest.param((18 * 10**17 - 1_000, 18 * 10**17, 18 * 10**17 + 900), id="nanoseconds"),
        pytest.param((1_795_000_000_000_000_000, 1_795_000_000_004_194_304, 1_795_000_000_004_194_308), id="messages"),
        pytest.param((3_999_999_999_999_999, 4_000_000_000_000_000, 4_000_000_000_000_003), id="where steps grow"),
    ],
)
def test_times_and_ids_of_messages_are_ordinals(numbers: tuple[float, ...]) -> None:
    orders = [place(memory(thread_id=7, ordinal=number)).order for number in numbers]
    assert orders == sorted(set(orders))
    negative = [place(memory(thread_id=7, ordinal=-number)).order for number in numbers]
    assert negative == [-order for order in orders]


@pytest.mark.parametrize("ordinal", ["3", True, float("nan"), None])
def test_what_is_no_number_is_no_ordinal(ordinal: object) -> None:
    assert place(memory(thread_id="t", ordinal=ordinal)) == place(memory(thread_id="t"))


def test_without_ordinals_the_time_of_capture_orders() -> None:
    early = place(memory(thread_id="t", captured_at="2026-02-01"))
    unknown = place(memory(thread_id="t", captured_at="long ago"))
    late = place(memory(thread_id="t", captured_at=(NOW + timedelta(hours=1)).isoformat()))
    assert early.order < unknown.order < late.order
    month, ago = place(memory(thread_id="t", captured_at="2026-02")), place(memory(thread_id="t", captured_at="2d"))
    assert month.order == early.order < ago.order < unknown.order
