from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from stores.indexer.backlog import Backlog, Item, Progress
from stores.records import Change, Kind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOTHING = Progress(0, frozenset())


def change(sequence: int, record_id: str, *, deferred: bool = False, kind: Kind = "entity") -> Change:
    return Change("o", sequence, kind, record_id, "update", 1, "x", "organization", "u", "b", deferred, {}, NOW)


def finish(backlog: Backlog, items: list[Item]) -> Progress:
    progress = backlog.after(items)
    for item in items:
        backlog.release(item)
    backlog.commit(items)
    return progress


def refuse(backlog: Backlog, items: list[Item]) -> list[Item]:
    for item in items:
        backlog.release(item)
    return [item for item in items if backlog.retake(item)]


def test_an_interactive_change_is_taken_before_the_deferred_ones_and_counts_as_applied_alone() -> None:
    backlog = Backlog(NOTHING, limit=10)
    backlog.scan([change(1, "a", deferred=True), change(2, "b")])
    (item,) = backlog.take(interactive=True, limit=9)
    assert item.record_id == "b"
    assert finish(backlog, [item]) == Progress(0, frozenset({2}))
    assert backlog.contains(2)
    assert backlog.contains(2, ["b"])
    assert not backlog.contains(2, ["a"])
    assert not backlog.contains(1)
    assert backlog.pending(2) == 1


def test_an_interactive_change_lifts_a_record_out_of_the_deferred_queue() -> None:
    backlog = Backlog(NOTHING, limit=10)
    backlog.scan([change(1, "a", deferred=True), change(2, "a")])
    (item,) = backlog.take(interactive=True, limit=9)
    assert item.sequences == {1, 2}
    assert finish(backlog, [item]) == Progress(2, frozenset())


def test_a_record_in_work_is_queued_again_only_when_it_is_back() -> None:
    backlog = Backlog(NOTHING, limit=10)
    backlog.scan([change(1, "a")])
    (first,) = backlog.take(interactive=True, limit=1)
    backlog.scan([change(2, "a")])
    assert backlog.take(interactive=True, limit=1) == []
    assert finish(backlog, [first]) == Progress(1, frozenset())
    (second,) = backlog.take(interactive=True, limit=1)
    assert second.sequences == {2}


def test_changes_of_relations_are_applied_as_soon_as_they_are_read() -> None:
    backlog = Backlog(NOTHING, limit=10)
    backlog.scan([change(1, "r", kind="relation")])
    assert backlog.contains(1)
    assert backlog.idle


def test_an_import_beyond_the_limit_stays_in_the_feed_and_does_not_hide_what_comes_after() -> None:
    feed = [change(at, f"e{at}", deferred=True) for at in range(1, 31)] + [change(31, "urgent")]
    backlog = Backlog(NOTHING, limit=10)
    backlog.scan(feed)
    assert [item.record_id for item in backlog.take(interactive=True, limit=5)] == ["urgent"]
    assert not backlog.contains(20)
    assert not backlog.contains(31)
    done: list[str] = []
    while items := backlog.take(interactive=False, limit=4):
        done += [item.record_id for item in items]
        finish(backlog, items)
        if backlog.wants_more:
            backlog.catch_up(feed[backlog.reached : backlog.reached + 7])
    assert done == [f"e{at}" for at in range(1, 31)]


def test_a_refused_record_is_taken_again_unless_a_newer_change_of_it_waits() -> None:
    backlog = Backlog(NOTHING, limit=10)
    backlog.scan([change(1, "a")])
    (item,) = backlog.take(interactive=True, limit=9)
    backlog.release(item)
    assert backlog.retake(item)
    backlog.scan([change(2, "a")])
    assert backlog.is_outdated("a")
    backlog.release(item)
    assert not backlog.retake(item)
    (newer,) = backlog.take(interactive=True, limit=9)
    assert newer.sequences == {1, 2}
    assert finish(backlog, [newer]) == Progress(2, frozenset())
    assert backlog.idle


@given(st.data())
def test_whatever_the_order_nothing_is_lost_and_nothing_counts_before_it_is_done(data: st.DataObject) -> None:
    records, kinds = st.sampled_from("abcdef"), st.sampled_from(["entity", "entity", "relation"])
    drawn = data.draw(st.lists(st.tuples(records, st.booleans(), kinds), max_size=30))
    feed = [change(at, each, deferred=slow, kind=kind) for at, (each, slow, kind) in enumerate(drawn, start=1)]  # type: ignore[arg-type]
    backlog, read, in_work, seen_at = Backlog(NOTHING, limit=data.draw(st.integers(1, 5))), 0, [], dict[str, int]()
    while read < len(feed) or not backlog.idle:
        action = data.draw(st.integers(0, 4)) if read < len(feed) else 3
        if action == 0 or (action == 3 and read < len(feed)):
            step = data.draw(st.integers(1, 6))
            backlog.scan(feed[read : read + step])
            read = min(read + step, len(feed))
        if action == 1 or action == 3:
            if backlog.wants_more:
                backlog.catch_up(feed[backlog.reached : backlog.reached + 3])
            for item in [*backlog.take(interactive=True, limit=2), *backlog.take(interactive=False, limit=2)]:
                assert item.record_id not in [each.record_id for each in in_work]
                seen_at[item.record_id] = read
                in_work.append(item)
        if action == 4:
            in_work = [*in_work[1:], *refuse(backlog, in_work[:1])]
        elif action >= 2 and in_work:
            item = in_work.pop(data.draw(st.integers(0, len(in_work) - 1)))
            progress = finish(backlog, [item])
            assert progress.prefix <= backlog.prefix
        for each in feed[:read]:
            if each.kind == "entity" and backlog.contains(each.sequence):
                assert seen_at.get(each.record_id, 0) >= each.sequence
    assert backlog.prefix == len(feed)
    assert backlog.pending(len(feed)) == 0
