import re
import time
import uuid

from stores.clock import NeighbouringIds, new_ordered_uuid


def test_an_ordered_id_is_a_uuid_of_version_7_that_begins_with_the_time() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_ordered_uuid() for _ in range(2_000)]
    after = time.time_ns() // 1_000_000
    assert len(set(made)) == len(made)
    for each in map(uuid.UUID, made):
        assert (each.version, each.variant) == (7, uuid.RFC_4122)
        assert before <= each.int >> 80 <= after
    assert [each[:13] for each in made] == sorted(each[:13] for each in made)


def test_ids_of_one_request_begin_alike_and_are_all_different() -> None:
    beginnings = set()
    for _ in range(40):
        ids = NeighbouringIds()
        typed, plain = [ids.typed("note") for _ in range(128)], [uuid.UUID(ids.uuid()) for _ in range(128)]
        assert all(re.fullmatch(r"note_[0-9a-f]{12}", each) for each in typed)
        assert {(each.version, each.variant) for each in plain} == {(4, uuid.RFC_4122)}
        assert len({*typed, *plain}) == 256
        assert typed == sorted(typed)
        assert plain == sorted(plain)
        (beginning,) = {*(each[5:9] for each in typed), *(each.hex[:4] for each in plain)}
        beginnings.add(beginning)
    assert len(beginnings) > 30
