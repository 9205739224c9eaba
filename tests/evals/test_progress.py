"""How far a step has come: a bar with the time left on a terminal, a line elsewhere."""

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from evals.progress import progress

STEPS = """
import time
from evals.progress import progress
with progress("talks: asking", 40, 10) as advance:
    for _ in range(24):
        time.sleep(0.05)
        advance(1)
    time.sleep(0.2)
"""


def on_a_terminal(program: str) -> str:
    """What a program writes to standard error where that is a terminal."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"}
    with subprocess.Popen([sys.executable, "-c", program], stderr=theirs, env=environ) as process:
        os.close(theirs)
        shown = b""
        # On Linux the end of a terminal is an error.
        with suppress(OSError):
            while read := os.read(ours, 65536):
                shown += read
    os.close(ours)
    assert process.returncode == 0, shown
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def test_a_terminal_shows_how_much_is_done_and_how_much_time_is_left() -> None:
    shown = on_a_terminal(STEPS)
    assert re.search(r"talks: asking .* 10/40 0:00:00 left -:--:--", shown)
    # How long it is depends on the machine; that it is told does not.
    assert re.search(r"talks: asking .* 34/40 0:00:[0-5][0-9] left 0:00:[0-5][0-9]", shown)


@pytest.mark.parametrize(("done", "line"), [(0, "talks: asking: 40 …\n"), (10, "talks: asking: 10 of 40 done …\n")])
def test_elsewhere_each_step_is_a_line(capsys: pytest.CaptureFixture[str], done: int, line: str) -> None:
    with progress("talks: asking", 40, done) as advance:
        advance(1)
    assert capsys.readouterr().err == line
