"""The analytics follow the ledger, forget what it forgets, and are made again from it."""

import shutil
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.analytics import Activity, ActivityQuery, Analytics
from stores.errors import NotFound, Unavailable
from stores.ledger import Ledger
from stores.records import ORGANIZATION
from tests.stores.analytics.conftest import START, SetClock, Start, started
from tests.stores.ledger.samples import ANN, ORG, OTHER, create, draft, organization, person, update

OPEN = frozenset({ORGANIZATION})


def task(ledger: Ledger, task_id: str, *, status: str = "todo", visibility: str = ORGANIZATION, **more: Any) -> None:
    metadata = {"status": status}
    create(ledger, draft(task_id, entity_type="task", project_id="p", visibility=visibility, metadata=metadata), **more)


def move(ledger: Ledger, task_id: str, status: str) -> None:
    update(ledger, task_id, metadata={"status": status})


def ask(analytics: Analytics, clock: SetClock, *, visibility: frozenset[str] = OPEN, **more: Any) -> Activity:
    return analytics.activity(ORG, ActivityQuery("p", visibility, clock.now, **more))


def per_day(found: Activity) -> dict[date, int]:
    return {day: count for day, count in found.completed_per_day if count}


def test_nothing_is_thirty_days_of_nothing(analytics: Analytics, clock: SetClock) -> None:
    found = ask(analytics, clock)
    assert (found.created_recently, found.completed_recently) == (0, 0)
    days = [day for day, _ in found.completed_per_day]
    assert days == [date(2026, 2, 9) + timedelta(days=number) for number in range(30)]
    assert per_day(found) == {}


def test_completions_fall_on_days_of_utc_and_count_once(analytics: Analytics, ledger: Ledger, clock: SetClock) -> None:
    for name in "abcd":
        task(ledger, name)
    clock.now = datetime(2026, 3, 10, 23, 59, 59, 999999, tzinfo=UTC)
    move(ledger, "a", "done")
    clock.now += timedelta(microseconds=1)
    move(ledger, "b", "done")
    move(ledger, "c", "done")
    clock.now += timedelta(days=1)
    move(ledger, "c", "doing")
    move(ledger, "b", "review")
    move(ledger, "b", "done")
    move(ledger, "a", "archived")
    move(ledger, "d", "archived")
    found = ask(analytics, clock)
    assert per_day(found) == {date(2026, 3, 10): 1, date(2026, 3, 12): 1}
    assert (found.created_recently, found.completed_recently) == (4, 2)
    clock.now = START + timedelta(days=7)
    assert ask(analytics, clock).created_recently == 0
    assert ask(analytics, clock, days=1).completed_per_day == ((date(2026, 3, 17), 0),)
    clock.now = datetime(2026, 4, 9, 12, tzinfo=UTC)
    assert per_day(ask(analytics, clock)) == {date(2026, 3, 12): 1}, "the other one is 31 days ago"


def test_what_is_not_visible_counts_nowhere(analytics: Analytics, ledger: Ledger, clock: SetClock) -> None:
    task(ledger, "a", status="done", visibility="private:ann")
    task(ledger, "b", status="done", visibility="project:p")
    task(ledger, "c", status="done", organization_id=OTHER)
    assert ask(analytics, clock) == replace(ask(analytics, clock, visibility=frozenset()))
    assert ask(analytics, clock, visibility=frozenset({"private:ann"})).created_recently == 1
    both = ask(analytics, clock, visibility=frozenset({"private:ann", "project:p"}))
    assert (both.created_recently, both.completed_recently) == (2, 2)
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.update_entity("b", lambda entity: replace(entity, visibility="private:ann"))
        tx.records.update_entity("a", lambda entity: replace(entity, project_id="q"))
    assert ask(analytics, clock, visibility=frozenset({"project:p"})).completed_recently == 0
    assert ask(analytics, clock, visibility=frozenset({"private:ann"})).completed_recently == 1


def test_every_task_that_is_held_otherwise_is_named_until_it_is_made_anew(
    analytics: Analytics, ledger: Ledger, path: Path, start: Start
) -> None:
    for name in "abcde":
        task(ledger, name)
        move(ledger, name, "doing")
    assert analytics.differences(ORG, 5) == []
    analytics.close()
    with closing(duckdb.connect(str(path))) as file:
        file.execute("DELETE FROM tasks WHERE id = 'a'")
        file.execute("INSERT INTO tasks SELECT * FROM tasks WHERE id = 'b'")
        file.execute("UPDATE tasks SET visibility = 'private:ann' WHERE id = 'c'")
        file.execute("DELETE FROM task_moves WHERE id = 'd' AND status = 'doing'")
        file.execute("UPDATE tasks SET id = 'x' WHERE id = 'e'")
        file.execute("UPDATE task_moves SET id = 'y' WHERE id = 'e'")
    again = start(path)
    assert again.differences(ORG, 5) == [
        "task a is held with another project, visibility or date",
        "task b is held 2 times",
        "task c is held with another project, visibility or date",
        "task d moved otherwise",
        "task e is missing",
        "task x is not in the ledger",
        "task y is not in the ledger",
    ]
    again.rebuild(ORG)
    assert again.differences(ORG, 5) == []
    assert again.status().pending == 0


def test_what_has_no_time_to_catch_up_is_behind_and_not_different(ledger: Ledger, path: Path, start: Start) -> None:
    task(ledger, "a")
    late = start(path)
    assert late.differences(ORG, 0) is None
    assert late.differences(ORG, 5) == []
    with pytest.raises(NotFound):
        late.differences("nowhere", 5)


def test_what_is_deleted_leaves_no_row(analytics: Analytics, ledger: Ledger, clock: SetClock, path: Path) -> None:
    task(ledger, "a", status="done")
    task(ledger, "b", status="done")
    assert ask(analytics, clock).completed_recently == 2
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.delete_entity("a")
    assert ask(analytics, clock).completed_recently == 1
    analytics.close()
    assert rows(path, "SELECT id FROM tasks UNION ALL SELECT id FROM task_moves") == [("b",), ("b",)]


def test_the_file_holds_ids_and_times_and_no_word_of_a_record(
    analytics: Analytics, ledger: Ledger, clock: SetClock, path: Path
) -> None:
    metadata = {"status": "todo", "assignees": ["secretperson"], "feature": "secretfeature"}
    create(ledger, draft("a", entity_type="task", name="secretname", content="secretcontent", metadata=metadata))
    ask(analytics, clock)
    analytics.close()
    assert b"secret" not in path.read_bytes()


def rows(path: Path, statement: str) -> list[Any]:
    with duckdb.connect(str(path)) as connection:
        return connection.execute(statement).fetchall()


def test_a_feed_that_was_pruned_is_no_harm(analytics: Analytics, ledger: Ledger, clock: SetClock) -> None:
    task(ledger, "a", status="done")
    ask(analytics, clock)
    for name in "bcd":
        task(ledger, name, status="done")
    assert ledger.feed.prune_feed(clock.now + timedelta(days=1), {ORG: ledger.feed.head(ORG).sequence}) == 3
    assert ask(analytics, clock).completed_recently == 4


def test_what_a_killed_process_left_is_gone_on_with(
    analytics: Analytics, ledger: Ledger, clock: SetClock, path: Path, start: Start
) -> None:
    for number in range(20):
        task(ledger, f"t{number}", status="done")
        ask(analytics, clock)
    left = path.with_name("left.duckdb")
    shutil.copy(path, left)
    shutil.copy(f"{path}.wal", f"{left}.wal")
    move(ledger, "t3", "todo")
    again = start(left)
    assert ask(again, clock).completed_recently == 19


def test_a_ledger_that_was_put_back_is_followed_anew(tmp_path: Path, clock: SetClock) -> None:
    kept = tmp_path / "kept.sqlite"
    for written in ("abc", "defgh", "xy", "xyz"):
        if kept.exists():
            shutil.copy(kept, tmp_path / "ledger.sqlite")
        ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.sqlite'}", clock=clock)
        if not kept.exists():
            ledger.people.create_account(person(ANN), organization(ORG))
            task(ledger, "first", status="done")
            ledger.close()
            shutil.copy(tmp_path / "ledger.sqlite", kept)
            ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.sqlite'}", clock=clock)
        for each in written:
            task(ledger, each, status="done")
        analytics = started(ledger, tmp_path / "a.duckdb")
        assert ask(analytics, clock).completed_recently == 1 + len(written)
        analytics.close()
        ledger.close()


@pytest.mark.parametrize("content", [b"", b"no database " * 1000], ids=["empty", "nonsense"])
def test_a_damaged_file_is_set_aside_and_made_again(
    analytics: Analytics, ledger: Ledger, clock: SetClock, path: Path, content: bytes, start: Start
) -> None:
    task(ledger, "a", status="done")
    ask(analytics, clock)
    analytics.close()
    path.write_bytes(content)
    again = start(path)
    for _ in range(2):
        try:
            found = ask(again, clock)
        except Unavailable:
            assert again.status().state == "failed"
    assert found.completed_recently == 1
    assert again.status().state == "catching_up", "the thread has not looked round yet"


def test_a_file_of_another_version_is_made_again(
    analytics: Analytics, ledger: Ledger, clock: SetClock, path: Path, start: Start
) -> None:
    task(ledger, "a", status="done")
    ask(analytics, clock)
    analytics.close()
    rows(path, "UPDATE about SET schema = 'ancient'")
    rows(path, "DELETE FROM tasks")
    again = start(path)
    assert ask(again, clock).completed_recently == 1


def test_who_asks_does_not_wait_for_ever(analytics: Analytics, ledger: Ledger, clock: SetClock) -> None:
    task(ledger, "a", status="done")
    query = ActivityQuery("p", OPEN, clock.now)
    with pytest.raises(Unavailable, match="catching up"):
        analytics.activity(ORG, query, timeout_s=-1)
    assert analytics.activity(ORG, query).completed_recently == 1
    with pytest.raises(NotFound):
        analytics.activity("nowhere", query)


def test_the_thread_follows_by_itself_and_says_how_far(ledger: Ledger, path: Path, start: Start) -> None:
    task(ledger, "a")
    made = start(path, delay_s=0)
    until_level(made, ledger.feed.head(ORG).sequence)
    task(ledger, "b")
    until_level(made, ledger.feed.head(ORG).sequence)
    made.close()
    assert rows(path, "SELECT count(*) FROM tasks") == [(2,)]


def until_level(analytics: Analytics, watermark: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        found = analytics.status()
        if (found.state, found.watermark, found.pending) == ("ready", watermark, 0):
            return
        assert time.monotonic() < deadline, found
        time.sleep(0.01)


def test_a_deleted_organization_leaves_nothing(ledger: Ledger, path: Path, start: Start) -> None:
    made = start(path, delay_s=0)
    task(ledger, "a", organization_id=OTHER)
    until_level(made, ledger.feed.head(OTHER).sequence)
    ledger.people.delete_organization(OTHER)
    until_level(made, 0)
    made.close()
    assert rows(path, "SELECT organization_id FROM tasks UNION ALL SELECT organization_id FROM watermarks") == [(ORG,)]


def test_an_organization_that_was_deleted_meanwhile_leaves_nothing_either(
    ledger: Ledger, path: Path, start: Start
) -> None:
    made = start(path, delay_s=0)
    task(ledger, "a", organization_id=OTHER)
    task(ledger, "a")
    until_level(made, ledger.feed.head(OTHER).sequence + ledger.feed.head(ORG).sequence)
    made.close()
    ledger.people.on_delete.clear()
    ledger.people.delete_organization(OTHER)
    again = start(path, delay_s=0)
    until_level(again, ledger.feed.head(ORG).sequence)
    again.close()
    assert rows(path, "SELECT DISTINCT organization_id FROM tasks") == [(ORG,)]


def test_a_file_that_somebody_else_has_open_is_left_alone(
    ledger: Ledger, clock: SetClock, path: Path, start: Start
) -> None:
    holding = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", holding, str(path)]
    made = start(path)
    task(ledger, "a", status="done")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"open\n"
        for _ in range(2):
            with pytest.raises(Unavailable):
                ask(made, clock)
        assert made.status().state == "failed"
        other.communicate(b"")
    assert ask(made, clock).completed_recently == 1
    made.close()
    assert sorted(each.name for each in path.parent.glob("analytics*")) == ["analytics.duckdb"]


STATUSES = ("todo", "doing", "done", "archived")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("make"), st.sampled_from("abcd"), st.sampled_from(STATUSES)),
        st.tuples(st.just("move"), st.sampled_from("abcd"), st.sampled_from(STATUSES)),
        st.tuples(st.just("delete"), st.sampled_from("abcd"), st.just("")),
        st.tuples(st.just("wait"), st.integers(-30, 200), st.just("")),
        st.tuples(st.just("ask"), st.just(""), st.just("")),
        st.tuples(st.just("restart"), st.just(""), st.just("")),
    ),
    max_size=25,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_whatever_happens_it_equals_a_plain_model(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    folder, clock = tmp_path_factory.mktemp("model"), SetClock()
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.sqlite'}", clock=clock)
    ledger.people.create_account(person(ANN), organization(ORG))
    analytics = started(ledger, folder / "a.duckdb")
    model: dict[str, list[tuple[str, datetime]]] = {}
    try:
        for step, what, status in steps:
            if step == "wait":
                clock.now += timedelta(hours=what)
            elif step == "make" and what not in model:
                task(ledger, what, status=status)
                model[what] = [(status, clock.now)]
            elif step == "move" and what in model:
                at = max(clock.now, model[what][-1][1])
                move(ledger, what, status)
                if model[what][-1][0] != status:
                    model[what].append((status, at))
                else:
                    model[what].append((status, model[what].pop()[1]))
                stored = ledger.records.entity(ORG, what)
                clock.now = max(clock.now, stored.updated_at)
            elif step == "delete" and model.pop(what, None):
                with ledger.transaction(ORG, ANN) as tx:
                    tx.records.delete_entity(what)
            elif step == "restart":
                analytics.close()
                analytics = started(ledger, folder / "a.duckdb")
            elif step == "ask":
                assert ask(analytics, clock) == expected(model, clock.now)
        assert ask(analytics, clock) == expected(model, clock.now)
    finally:
        analytics.close()
        ledger.close()


def expected(model: dict[str, list[tuple[str, datetime]]], now: datetime) -> Activity:
    completed = []
    for moves in model.values():
        unarchived = [each for each in moves if each[0] != "archived"]
        if unarchived and unarchived[-1][0] == "done":
            completed.append(unarchived[-1][1])
    recent = now - timedelta(days=7)
    days = [now.date() - timedelta(days=number) for number in reversed(range(30))]
    return Activity(
        sum(moves[0][1] > recent for moves in model.values()),
        sum(at > recent for at in completed),
        tuple((day, sum(at.date() == day for at in completed)) for day in days),
    )
