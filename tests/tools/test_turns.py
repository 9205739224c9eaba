"""Questions take turns; what is quick waits for none of them."""

import threading
from functools import partial

import anyio
import anyio.from_thread
import pytest

from tests.people import Person
from tools import memories
from tools.app import RETRIEVALS

pytestmark = pytest.mark.anyio


async def test_no_more_questions_are_answered_at_once_than_the_machine_carries(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, now, gate, lock = 0, 0, threading.Event(), threading.Lock()
    full = anyio.Event()
    whole = memories._recall

    def slow(*args: object) -> object:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
            if now == RETRIEVALS:
                anyio.from_thread.run_sync(full.set)
        assert gate.wait(30)
        with lock:
            now -= 1
        return whole(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(memories, "_recall", slow)
    async with anyio.create_task_group() as tasks:
        for number in range(RETRIEVALS + 6):
            tasks.start_soon(partial(owner.call, "recall", query=f"question {number}"))
        with anyio.fail_after(30):
            await full.wait()
        # Whoever waits for a turn keeps no thread: this answers.
        await owner.call("explore", mode="list")
        gate.set()
    assert most == RETRIEVALS
