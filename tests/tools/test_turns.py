"""Questions take turns; what is quick waits for none of them."""

import threading
from dataclasses import replace
from functools import partial

import anyio
import anyio.from_thread
import pytest

from tests.people import Person
from tools.app import questions_at_once
from tools.memory import memories
from tools.retrieval.turns import answered

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("processors", "questions"), [(1, 2), (3, 3), (64, 4)])
async def test_as_many_questions_are_answered_at_once_as_there_are_processors_to_be_had(
    monkeypatch: pytest.MonkeyPatch, processors: int, questions: int
) -> None:
    monkeypatch.setattr("tools.app.processors", lambda: processors)
    assert questions_at_once() == questions


async def test_no_more_questions_are_answered_at_once_than_the_machine_carries(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_a_question_that_may_wait_takes_nobodys_turn(owner: Person) -> None:
    turns = owner.app.retrieval_turns
    await owner.call("recall", query="opened now")
    seen: list[int] = []

    def look() -> int:
        seen.append(turns.borrowed_tokens)
        return seen[-1]

    assert await answered(owner.app, owner.organization_id, look) == 1
    assert await answered(owner.app, "org_that_is_not_open", look) == 0
    remote = owner.app.settings.model_copy(update={"embedding_provider": "openai"})
    assert await answered(replace(owner.app, settings=remote), owner.organization_id, look) == 0
