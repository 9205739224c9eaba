"""Where a record stands among those that it was captured with: a thread, and its place there."""

import math
from typing import TYPE_CHECKING, NamedTuple

from stores.event_times import CAPTURED_AT
from stores.hashing import hash64
from stores.language.moments import span_of
from stores.language.speakers import NOBODY, speaker_of

if TYPE_CHECKING:
    from stores.records import Entity

THREAD_HINTS = ("thread_id", "session_id")
"""The metadata keys of a raw memory that say what it was captured with; the first that is there counts."""
LONGEST = 1_000
"""Characters, about a passage: a longer text says itself what it is about. What stands next to it was measured to lend
it nothing but chance (`docs/retrieval.md`)."""
# Ordinals up to 4 * 10^15, the microseconds since 1970 of this century, keep three decimals; larger ones, as the ids of
# messages are that hold a time, are told apart where they differ by three. Times come after them, within 64 bits.
_FINE_UNTIL, _STEPS, _COARSE = 4 * 10**15, 1_000, 3
_LARGEST_ORDINAL = 2**63 - 1
_TIMES_FROM = 8 * 10**18


class ThreadPlace(NamedTuple):
    """A thread, where a record stands in it, and who says it: integers of 64 bits."""

    thread: int
    """The same for records of one thread that the same people may read: no two scopes ever share one."""
    order: int
    """Rises in the order of capture."""
    speaker: int = NOBODY
    """The number of who says it, where that is known."""


def thread_place(entity: "Entity") -> ThreadPlace | None:
    """Say where a raw memory stands; None where its metadata names no thread, for long ones, and for other records.

    The order is that of `metadata.ordinal`, a number, else that of the time of capture.
    """
    if entity.entity_type != "raw_memory" or len(entity.content) > LONGEST:
        return None
    hint = next((each for each in THREAD_HINTS if _is_name(entity.metadata.get(each))), None)
    if hint is None:
        return None
    name = "\0".join((entity.visibility, entity.category or "", hint, str(entity.metadata[hint])))
    return ThreadPlace(hash64(name), _order(entity), speaker_of(entity.content, entity.metadata))


def _is_name(value: object) -> bool:
    return (isinstance(value, str) and bool(value.strip())) or (isinstance(value, int) and not isinstance(value, bool))


def _order(entity: "Entity") -> int:
    ordinal = entity.metadata.get("ordinal")
    # An integer of hundreds of digits is finite, and no float can say so.
    if (isinstance(ordinal, int) and not isinstance(ordinal, bool)) or (
        isinstance(ordinal, float) and math.isfinite(ordinal)
    ):
        return _placed(max(-_LARGEST_ORDINAL, min(ordinal, _LARGEST_ORDINAL)))
    captured = span_of(entity.metadata.get(CAPTURED_AT), now=entity.created_at)
    return _TIMES_FROM + round((captured.start if captured else entity.created_at).timestamp() * 1_000_000)


def _placed(ordinal: float) -> int:
    """Rises with the ordinal."""
    size = abs(ordinal)
    order = round(min(size, _FINE_UNTIL) * _STEPS) + max(int(size) - _FINE_UNTIL, 0) // _COARSE
    return order if ordinal >= 0 else -order
