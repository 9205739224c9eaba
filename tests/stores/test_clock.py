"""Ids."""

import time
import uuid

from stores.clock import new_ordered_uuid


def test_an_ordered_id_is_a_uuid_of_version_7_that_begins_with_the_time() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_ordered_uuid() for _ in range(2_000)]
    after = time.time_ns() // 1_000_000
    assert len(set(made)) == len(made)
    for each in map(uuid.UUID, made):
        assert (each.version, each.variant) == (7, uuid.RFC_4122)
        assert before <= each.int >> 80 <= after
    assert [each[:13] for each in made] == sorted(each[:13] for each in made)
