"""A swift start leaves the process as it should be: collecting garbage, and able to import everything."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cli.swift import swiftly


@pytest.fixture(autouse=True)
def _everything_collectable() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_garbage_is_collected_again_once_the_server_listens() -> None:
    with swiftly() as listening:
        assert not gc.isenabled()
        listening()
        assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_garbage_is_collected_again_after_a_start_that_failed() -> None:
    with pytest.raises(OSError, match="no socket"), swiftly():
        raise OSError("no socket")
    assert gc.isenabled()


def test_structlog_comes_without_rich_and_others_still_find_it() -> None:
    program = (
        "import sys; from cli.swift import swiftly\n"
        "with swiftly(): assert 'structlog' in sys.modules and 'rich' not in sys.modules\n"
        "import rich.console"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
