"""After a start, garbage is collected again, and matrices are multiplied in one thread."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.gc_pause import gc_paused

BLAS = "OPENBLAS_NUM_THREADS"


@pytest.fixture(autouse=True)
def _everything_collectable() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_garbage_is_collected_again_once_the_server_listens() -> None:
    with gc_paused() as listening:
        assert not gc.isenabled()
        listening()
        assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_garbage_is_collected_again_after_a_start_that_failed() -> None:
    with pytest.raises(OSError, match="no socket"), gc_paused():
        raise OSError("no socket")
    assert gc.isenabled()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the threads of a process are listed on Linux only")
def test_matrices_are_multiplied_in_the_thread_that_asks_for_it() -> None:
    program = (
        "import os; from cli.gc_pause import gc_paused\n"
        "with gc_paused(): import numpy\n"
        "table = numpy.ones((600, 600), numpy.float32); table @ table\n"
        "assert len(os.listdir('/proc/self/task')) == 1"
    )
    environ = {name: value for name, value in os.environ.items() if name != BLAS}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env=environ)


def test_what_the_environment_says_of_such_threads_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BLAS, "3")
    with gc_paused() as listening:
        listening()
    assert os.environ[BLAS] == "3"
