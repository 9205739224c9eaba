import threading

from stores.graph import GraphIndex

WAIT_S = 10


def test_newcomers_wait_behind_one_who_wants_to_be_alone(graph: GraphIndex) -> None:
    order: list[str] = []

    def alone() -> None:
        with graph._sessions.alone():
            order.append("alone")

    def late() -> None:
        with graph._sessions.reader():
            order.append("late")

    with graph._sessions.reader():
        first = threading.Thread(target=alone)
        first.start()
        while not graph._sessions._entrance.locked():
            first.join(0.001)
        second = threading.Thread(target=late)
        second.start()
        assert order == []
    first.join(WAIT_S)
    second.join(WAIT_S)
    assert order == ["alone", "late"]
