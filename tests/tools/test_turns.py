"""Questions take turns; what is quick waits for none of them."""

import threading
from functools import partial

import anyio
import anyio.from_thread
import pytest

from tests.people import Person
from tools.app import questions_at_once
from tools.memory import memories

pytestmark = pytest.mark.anyio


async def test_concurrent_questions_are_limited(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    most, now, gate, lock = 0, 0, threading.Event(), threading.Lock()
    full = anyio.Event()
    whole = memories._recall
    await owner.call("recall", query="opened now")

    def slow(*args: object) -> object:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
            if now == questions_at_once():
                anyio.from_thread.run_sync(full.set)
        assert gate.wait(30)
        with lock:
            now -= 1
        return whole(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(memories, "_recall", slow)
    async with anyio.create_task_group() as tasks:
        for number in range(questions_at_once() + 6):
            tasks.start_soon(partial(owner.call, "recall", query=f"question {number}"))
        with anyio.fail_after(30):
            await full.wait()
        # Whoever waits for a turn keeps no thread: this answers.
        await owner.call("explore", mode="list")
        gate.set()
    assert most == questions_at_once()
