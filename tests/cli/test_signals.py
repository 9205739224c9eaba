"""Ctrl-C and SIGTERM wait until nothing is left half done."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from cli.signals import put_off, run_interruptible

pytestmark = pytest.mark.filterwarnings("error")


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


def test_a_loop_is_whole_before_it_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def interrupted() -> asyncio.AbstractEventLoop:
        signal.raise_signal(signal.SIGINT)
        made.append(loop())
        return made[0]

    async def work() -> None:
        await asyncio.sleep(60)

    loop = asyncio.new_event_loop
    monkeypatch.setattr(asyncio.events, "new_event_loop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work)
    assert made[0].is_closed()


def test_work_is_cancelled_by_an_interrupt() -> None:
    seen = []

    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work)
    assert seen == ["cleaned up"]


def test_an_interrupt_during_the_last_steps_comes_after_them() -> None:
    async def work() -> None:
        task = asyncio.current_task()
        task.add_done_callback(lambda _: signal.raise_signal(signal.SIGINT))

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work)


def test_work_that_ends_by_itself_returns_and_signals_are_as_before() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())

    async def work() -> None:
        await asyncio.sleep(0)

    run_interruptible(work)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == before
