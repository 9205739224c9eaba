from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from stores.indexer.embedding_queue import EmbeddingQueue, Work
from stores.records import Change, Kind

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def change(sequence: int, record_id: str, *, deferred: bool = False, kind: Kind = "entity") -> Change:
    return Change("o", sequence, kind, record_id, "update", 1, "x", "organization", "u", "b", deferred, {}, NOW)


def take(works: EmbeddingQueue, most: int = 99) -> list[Work]:
    taken = works.next_records()[:most]  # Without text they are done at once.
    for work in taken:
        works.add(work)
    return taken


def finish(works: EmbeddingQueue, done: Sequence[Work] | None = None) -> int:
    done = works.collect() if done is None else done
    prefix, _ = works.after(done)
    works.commit(done)
    return prefix


def test_an_interactive_change_lifts_a_record_out_of_the_deferred_queue() -> None:
    works = EmbeddingQueue(0)
    works.scan([change(1, "a", deferred=True), change(2, "a")])
    assert [work.interactive for work in take(works)] == [True]
    assert finish(works) == 2


@given(st.data())
def test_whatever_the_order_nothing_is_lost_and_nothing_counts_before_it_is_done(data: st.DataObject) -> None:
    records, kinds = st.sampled_from("abcdef"), st.sampled_from(["entity", "entity", "relation"])
    drawn = data.draw(st.lists(st.tuples(records, st.booleans(), kinds), max_size=30))
    feed = [change(at, each, deferred=slow, kind=kind) for at, (each, slow, kind) in enumerate(drawn, start=1)]  # type: ignore[arg-type]
    works, read, seen_at = EmbeddingQueue(0), 0, dict[str, int]()
    while read < len(feed) or not works.idle:
        action = data.draw(st.integers(0, 3)) if read < len(feed) else 3
        if action == 0 or (action == 3 and read < len(feed)):
            step = data.draw(st.integers(1, 6))
            works.scan(feed[read : read + step])
            read = min(read + step, len(feed))
        if action in (1, 3):
            for work in take(works, 2):
                seen_at[work.record_id] = read
        if action >= 2:
            done = works.collect()
            if done and len(feed) < len(drawn) + 3 and data.draw(st.booleans()):
                refused = done.pop()
                feed += [change(len(feed) + 1, refused.record_id)] * works.refuse(refused, "no reason")
            assert finish(works, done) == works.sequence
            works.wake_rested()
        for each in feed[:read]:
            if each.kind == "entity" and works.contains(each.sequence, [each.record_id]):
                assert seen_at.get(each.record_id, 0) >= each.sequence
    assert works.sequence == len(feed)
    assert works.pending(len(feed)) == 0
