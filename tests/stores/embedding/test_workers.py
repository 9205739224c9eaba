import os
import sys
import threading
import time

import pytest

from stores.embedding import workers as module
from stores.embedding.workers import Workers
from stores.processor import PATIENCE

PATIENCE_S = 30.0
TEXTS = [str(number) for number in range(50)]


class Reader:
    def __init__(self) -> None:
        self.read: list[str] = []
        self.readers: set[int] = set()
        self.running = 0

    def __call__(self, text: str) -> int:
        self.running += 1
        self.readers.add(threading.get_native_id())
        self.read.append(text)
        time.sleep(0.001)
        self.running -= 1
        return int(text)


def test_after_a_question_one_is_read_at_a_time_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, workers = Reader(), Workers(3)
    workers.make_way()
    assert workers.available == 1
    assert workers.map(reader, TEXTS) == list(range(50))
    assert reader.readers == {threading.get_native_id()}
    monkeypatch.setattr(module, "QUIET_S", 0.0)
    assert workers.available == 3


def test_who_helps_begins_nothing_after_a_question() -> None:
    workers, mine = Workers(2), threading.get_native_id()
    helped, together = [], threading.Barrier(2)

    def read(text: str) -> str:
        if int(text) < 2:
            together.wait(PATIENCE_S)
            workers.make_way()
        if threading.get_native_id() != mine:
            helped.append(text)
        return text

    assert workers.map(read, TEXTS) == TEXTS
    assert len(helped) == 1


@pytest.mark.parametrize("whose", ["the caller's", "a helper's"])
def test_what_goes_wrong_is_raised_when_nobody_reads_any_more(whose: str) -> None:
    reader, workers, mine = Reader(), Workers(3), threading.get_native_id()
    together = threading.Barrier(3)

    def read(text: str) -> int:
        if int(text) < 3:
            together.wait(PATIENCE_S)
            if (threading.get_native_id() == mine) == (whose == "the caller's"):
                raise ValueError("no text for me")
        return reader(text)

    with pytest.raises(ValueError, match="no text for me"):
        workers.map(read, TEXTS)
    assert reader.running == 0
    assert len(reader.read) < len(TEXTS)
    assert workers.map(reader, TEXTS) == list(range(50)), "it goes on with the next ones"


def test_some_are_read_until_somebody_asks() -> None:
    workers, together = Workers(2), threading.Barrier(2)

    def read(text: str) -> str:
        if int(text) < 2:
            together.wait(PATIENCE_S)
            workers.make_way()
        return text

    assert workers.map_until_search(read, TEXTS) == ["0", "1", *[None] * 48]
    assert workers.map_until_search(read, ["7", "8"]) == [None, None]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a priority is the whole process's")
def test_who_helps_steps_back_for_whoever_is_waited_for() -> None:
    workers, together, mine = Workers(2), threading.Barrier(2), threading.get_native_id()

    def read(_: str) -> int | None:
        together.wait(PATIENCE_S)
        return None if threading.get_native_id() == mine else os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = os.getpriority(os.PRIO_PROCESS, mine)
    assert max(each for each in workers.map(read, ["a", "b"]) if each is not None) == max(PATIENCE, before)


@pytest.mark.parametrize("started", [0, 1])
def test_where_no_thread_can_be_started_those_that_there_are_read_all(
    monkeypatch: pytest.MonkeyPatch, started: int
) -> None:
    reader, workers, left, start = Reader(), Workers(3), [started], threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert workers.map(reader, TEXTS) == list(range(50))
    assert len(reader.readers) <= 1 + started
    monkeypatch.undo()
    assert workers.map(reader, TEXTS) == list(range(50))
