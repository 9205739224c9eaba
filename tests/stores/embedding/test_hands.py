"""Texts are read at once while nobody asks anything."""

import os
import sys
import threading
import time

import pytest

from stores.embedding import hands as module
from stores.embedding.hands import Hands
from stores.processor import PATIENCE

PATIENCE_S = 30.0
TEXTS = [str(number) for number in range(50)]


class Reader:
    """Notes who reads what."""

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


def test_several_threads_read_and_what_they_found_is_in_order() -> None:
    hands, together = Hands(3), threading.Barrier(3)

    def read(text: str) -> int:
        if int(text) < 3:
            together.wait(PATIENCE_S)
        return int(text)

    assert hands.each(read, TEXTS) == list(range(50))
    assert hands.free == 3
    hands.close()


@pytest.mark.parametrize("texts", [[], ["7"]])
def test_nothing_and_one_text_need_no_help(texts: list[str]) -> None:
    reader, hands = Reader(), Hands(4)
    assert hands.each(reader, texts) == [int(text) for text in texts]
    assert reader.readers <= {threading.get_native_id()}


def test_after_a_question_one_is_read_at_a_time_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, hands = Reader(), Hands(3)
    hands.make_way()
    assert hands.free == 1
    assert hands.each(reader, TEXTS) == list(range(50))
    assert reader.readers == {threading.get_native_id()}
    monkeypatch.setattr(module, "QUIET_S", 0.0)
    assert hands.free == 3
    hands.close()


def test_who_helps_begins_nothing_after_a_question() -> None:
    hands, mine = Hands(2), threading.get_native_id()
    helped, together = [], threading.Barrier(2)

    def read(text: str) -> str:
        if int(text) < 2:
            together.wait(PATIENCE_S)
            hands.make_way()
        if threading.get_native_id() != mine:
            helped.append(text)
        return text

    assert hands.each(read, TEXTS) == TEXTS
    assert len(helped) == 1
    hands.close()


@pytest.mark.parametrize("whose", ["the caller's", "a helper's"])
def test_what_goes_wrong_is_raised_when_nobody_reads_any_more(whose: str) -> None:
    reader, hands, mine = Reader(), Hands(3), threading.get_native_id()
    together = threading.Barrier(3)

    def read(text: str) -> int:
        if int(text) < 3:
            together.wait(PATIENCE_S)
            if (threading.get_native_id() == mine) == (whose == "the caller's"):
                raise ValueError("no text for me")
        return reader(text)

    with pytest.raises(ValueError, match="no text for me"):
        hands.each(read, TEXTS)
    assert reader.running == 0
    assert len(reader.read) < len(TEXTS)
    assert hands.each(reader, TEXTS) == list(range(50)), "it goes on with the next ones"
    hands.close()


def test_some_are_read_until_somebody_asks() -> None:
    hands, together = Hands(2), threading.Barrier(2)

    def read(text: str) -> str:
        if int(text) < 2:
            together.wait(PATIENCE_S)
            hands.make_way()
        return text

    assert hands.some(read, TEXTS) == ["0", "1", *[None] * 48]
    assert hands.some(read, ["7", "8"]) == [None, None]
    hands.close()


def test_some_leave_out_what_cannot_be_read() -> None:
    reader, hands = Reader(), Hands(3)

    def read(text: str) -> int:
        if text in ("3", "30"):
            raise ValueError("no text for me")
        return reader(text)

    assert hands.some(read, TEXTS) == [None if number in (3, 30) else number for number in range(50)]
    hands.close()


@pytest.mark.parametrize("started", [0, 1])
def test_where_no_thread_can_be_started_those_that_there_are_read_all(
    monkeypatch: pytest.MonkeyPatch, started: int
) -> None:
    reader, hands, left, start = Reader(), Hands(3), [started], threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert hands.each(reader, TEXTS) == list(range(50))
    assert len(reader.readers) <= 1 + started
    monkeypatch.undo()
    assert hands.each(reader, TEXTS) == list(range(50))
    hands.close()


def test_once_closed_the_caller_reads_alone() -> None:
    reader, hands = Reader(), Hands(3)
    hands.close()
    assert hands.each(reader, TEXTS) == list(range(50))
    assert reader.readers == {threading.get_native_id()}


def test_closing_amid_texts_ends_in_all_of_them() -> None:
    reader, hands, begun = Reader(), Hands(3), threading.Event()
    found: list[int] = []

    def read(text: str) -> int:
        begun.set()
        return reader(text)

    working = threading.Thread(target=lambda: found.extend(hands.each(read, TEXTS)))
    working.start()
    assert begun.wait(PATIENCE_S)
    hands.close()
    working.join(PATIENCE_S)
    assert found == list(range(50))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a priority is the whole process's")
def test_who_helps_steps_back_for_whoever_is_waited_for() -> None:
    hands, together, mine = Hands(2), threading.Barrier(2), threading.get_native_id()

    def read(_: str) -> int | None:
        together.wait(PATIENCE_S)
        return None if threading.get_native_id() == mine else os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = os.getpriority(os.PRIO_PROCESS, mine)
    assert max(each for each in hands.each(read, ["a", "b"]) if each is not None) == max(PATIENCE, before)
    hands.close()
