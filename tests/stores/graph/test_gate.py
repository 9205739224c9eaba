"""Who may be inside together."""

import threading
from pathlib import Path

import pytest

from stores.folder import claim, release
from stores.graph.gate import Gate

WAIT_S = 10


def test_many_share_and_the_lone_one_waits_for_them() -> None:
    door = Gate()
    entered = threading.Event()

    def alone() -> None:
        with door.exclusive():
            entered.set()

    with door.shared():
        with door.shared():
            visitor = threading.Thread(target=alone)
            visitor.start()
        assert not entered.is_set()
    assert entered.wait(WAIT_S)
    visitor.join(WAIT_S)


def test_newcomers_wait_behind_one_who_wants_to_be_alone() -> None:
    door = Gate()
    order: list[str] = []

    def alone() -> None:
        with door.exclusive():
            order.append("alone")

    def late() -> None:
        with door.shared():
            order.append("late")

    with door.shared():
        first = threading.Thread(target=alone)
        first.start()
        while not door._wanted_alone:
            first.join(0.001)
        second = threading.Thread(target=late)
        second.start()
        assert order == []
    first.join(WAIT_S)
    second.join(WAIT_S)
    assert order == ["alone", "late"]


def test_an_error_inside_opens_the_gate_again() -> None:
    door = Gate()
    with pytest.raises(KeyError), door.exclusive():
        raise KeyError
    with pytest.raises(KeyError), door.shared():
        raise KeyError
    with door.exclusive():
        pass


def test_a_folder_is_claimed_once_under_any_spelling(tmp_path: Path) -> None:
    claim(tmp_path / "a")
    with pytest.raises(RuntimeError, match="open in this process already"):
        claim(tmp_path / "b" / ".." / "a")
    release(tmp_path / "a")
    claim(tmp_path / "a")
    release(tmp_path / "a")
