"""Ctrl-C and SIGTERM wait until nothing is left half done."""

import signal
from collections.abc import Iterator

import pytest

from cli.client.client import put_off


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
