"""When freed memory is given back to the system."""

import ctypes

import pytest

from stores import freed
from stores.freed import PAUSE_S, FreedMemory, library_trim


class Trim:
    def __init__(self) -> None:
        self.asked: list[int] = []
        self.now = 1_000.0

    def __call__(self, pad: int) -> int:
        self.asked.append(pad)
        return 1


def memory_of(trim: Trim) -> FreedMemory:
    return FreedMemory(trim, lambda: trim.now)


def test_it_is_given_back_once_after_something_was_freed() -> None:
    trim = Trim()
    memory = memory_of(trim)
    memory.give_back()
    assert trim.asked == []
    memory.note()
    memory.note()
    memory.give_back()
    memory.give_back()
    assert trim.asked == [0]


def test_what_is_freed_within_a_minute_is_given_back_after_it() -> None:
    trim = Trim()
    memory = memory_of(trim)
    memory.note()
    memory.give_back()
    memory.note()
    trim.now += PAUSE_S - 1
    memory.give_back()
    assert trim.asked == [0]
    trim.now += 1
    memory.give_back()
    assert trim.asked == [0, 0]


@pytest.mark.parametrize("lacking", [AttributeError, OSError, TypeError])
def test_a_c_library_without_it_is_no_fault(monkeypatch: pytest.MonkeyPatch, lacking: type[Exception]) -> None:
    def absent(_name: object) -> object:
        raise lacking

    monkeypatch.setattr(freed.ctypes, "CDLL", absent)
    assert library_trim() is None
    memory = FreedMemory()
    memory.note()
    memory.give_back()


def test_where_the_library_has_it_it_can_be_called() -> None:
    memory = FreedMemory()
    memory.note()
    memory.give_back()
    assert (library_trim() is not None) == hasattr(ctypes.CDLL(None), "malloc_trim")
