"""Time and new ids, which tests replace."""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from secrets import randbits

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """Since 1970."""
    return int(moment.timestamp() * 1_000_000)


def new_ordered_uuid() -> str:
    """Return a UUID of version 7 (RFC 9562): rows stored together are neighbours."""
    milliseconds = time.time_ns() // 1_000_000
    digits = f"{(milliseconds << 80) | (7 << 76) | (randbits(12) << 64) | (2 << 62) | randbits(62):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def new_id(prefix: str) -> str:
    """Return `<prefix>_<12 hex digits>`."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


class NeighbouringIds:
    """Ascending ids of records stored together, with four digits in common: few pages of an index change."""

    def __init__(self) -> None:
        self._beginning = randbits(16)
        self._ending = randbits(31)

    def typed(self, prefix: str) -> str:
        return f"{prefix}_{self._beginning:04x}{self._next():08x}"

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._beginning << 112 | self._next() << 80 | randbits(80), version=4))

    def _next(self) -> int:
        # A million records of one request have room above.
        self._ending += 1 + randbits(10)
        return self._ending
