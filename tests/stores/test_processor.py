import os
import sys
import threading
from pathlib import Path

import pytest

from stores import processor


@pytest.mark.skipif(sys.platform != "linux", reason="affinity and control groups are Linux's")
@pytest.mark.parametrize(
    ("quota", "affinity", "expected"),
    [("200000 100000\n", 8, 2), ("150000 100000\n", 8, 1), ("50000 100000\n", 8, 1), ("800000 100000\n", 4, 4),
     ("max 100000\n", 4, 4), ("something else", 4, 4), (None, 4, 4)],
)  # fmt: skip
def test_a_container_has_the_processors_that_its_quota_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str | None, affinity: int, expected: int
) -> None:
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    monkeypatch.setattr(processor, "QUOTA_FILE", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(affinity)))
    assert processor.processors() == expected


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a priority is the whole process's")
@pytest.mark.parametrize(
    ("before", "after"), [(0, processor.PATIENCE), (processor.PATIENCE + 2, processor.PATIENCE + 2)]
)
def test_a_thread_that_has_stepped_back_further_stays_there(before: int, after: int) -> None:
    found: list[int] = []

    def step_back() -> None:
        own = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, own, max(before, os.getpriority(os.PRIO_PROCESS, own)))
        processor.yield_to_others()
        found.append(os.getpriority(os.PRIO_PROCESS, own))

    already = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    thread = threading.Thread(target=step_back)
    thread.start()
    thread.join()
    assert found == [max(after, already)]
