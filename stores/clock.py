"""Time and new ids, which tests replace."""

import os
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """Since 1970."""
    return int(moment.timestamp() * 1_000_000)


def new_ordered_uuid() -> str:
    """Return a UUID of version 7 (RFC 9562): rows stored together are neighbours."""
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
    """Return `<prefix>_<12 hex digits>`."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


class NeighbouringIds:
    """Ids of records stored together, with the same first four digits, ascending.

    At 50,000 records a request of 128 then changes a few pages of each index, not 128.
    """

    def __init__(self) -> None:
        self._beginning = _chance() & 0xFFFF
        self._ending = _chance() & 0x7FFF_FFFF

    def typed(self, prefix: str) -> str:
        return f"{prefix}_{self._beginning:04x}{self._next():08x}"

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._beginning << 112 | self._next() << 80 | _chance(), version=4))

    def _next(self) -> int:
        # A million records of one request have room above.
        self._ending += 1 + (_chance() & 0x3FF)
        return self._ending
