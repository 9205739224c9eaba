"""Ctrl-C and SIGTERM wait until nothing is left half done."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from cli.client.client import put_off
from cli.entry import INTERRUPTED, main


@pytest.fixture(autouse=True)
def _interrupts_arrive() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done = []

    def write_whole_file() -> None:
        with put_off():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")

    with pytest.raises(KeyboardInterrupt):
        write_whole_file()
    assert done == ["the rest of the block"]


def test_an_interrupt_while_modules_are_imported_prints_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> object:
        raise KeyboardInterrupt(name)

    module = ModuleType("cli.main")
    monkeypatch.setattr(module, "__getattr__", interrupted, raising=False)
    monkeypatch.setitem(sys.modules, "cli.main", module)
    monkeypatch.setattr(sys, "argv", ["engrain", "search", "x"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == INTERRUPTED


def test_a_command_whose_standard_input_is_closed_says_that_there_is_no_text() -> None:
    program = f"exec {sys.executable} -c 'from cli.entry import main; main()' remember <&-"
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "Error: The text is empty.")
