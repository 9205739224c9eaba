import threading

from stores.graph.index import Gate

WAIT_S = 10


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
