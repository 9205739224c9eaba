"""What a closed index leaves behind: nothing, even where somebody still knows it."""

import sys
from pathlib import Path

import pytest

from stores.lexical import LexicalIndex
from tests.stores.indexer.samples import until


def engine_threads() -> set[str]:
    found = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            name = (task / "comm").read_text()
        except OSError:  # It has ended.
            continue
        if "tantivy" in name or name.startswith(("merge_thread", "segment_updater")):
            found.add(task.name)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="Threads have names to be read on Linux only.")
def test_a_closed_index_keeps_no_thread_of_the_engine(tmp_path: Path) -> None:
    before = engine_threads()
    known = [LexicalIndex(tmp_path / str(number)) for number in range(3)]
    assert len(engine_threads() - before) >= 3
    for each in known:
        each.close()
    until(lambda: not engine_threads() - before)


def test_an_index_can_be_closed_twice(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path)
    index.close()
    index.close()
