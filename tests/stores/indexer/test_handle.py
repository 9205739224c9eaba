"""Who keeps an index open, and in memory."""

import gc
import weakref
from pathlib import Path

from stores.indexer.handle import Handle


class Closable:
    """Notes that it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_an_index_is_closed_when_the_last_reader_lets_go(tmp_path: Path) -> None:
    index = Closable()
    handle = Handle(index, tmp_path)
    assert handle.acquire()
    handle.retire()
    assert not handle.acquire()
    assert (index.closed, handle.wait_closed(0)) == (0, False)
    handle.release()
    assert (index.closed, handle.wait_closed(0)) == (1, True)


def test_who_remembers_a_handle_keeps_no_closed_index_in_memory(tmp_path: Path) -> None:
    handle = Handle(Closable(), tmp_path)
    kept = weakref.ref(handle.index)
    gc.disable()
    try:
        handle.retire()
        assert kept() is None
    finally:
        gc.enable()
