"""Places of raw memories in their threads."""

import math
from typing import TYPE_CHECKING, NamedTuple

from stores.event_times import CAPTURED_AT
from stores.hashing import hash64
from stores.language.moments import span_of
from stores.language.speakers import NOBODY, speaker_of

if TYPE_CHECKING:
    from stores.records import Entity

THREAD_HINTS = ("thread_id", "session_id")
"""Metadata keys of the thread; the first one present counts."""
LONGEST = 1_000
"""Characters. Longer texts neither lend nor borrow, and separate their neighbours."""
SEPARATES = -1
"""Speaker of a longer text."""
# Ordinals up to 4 * 10^15, the microseconds since 1970 of this century, keep three decimals; larger ones, as the ids of
# messages are that hold a time, are told apart where they differ by three. Times come after them, within 64 bits.
_FINE_UNTIL, _STEPS, _COARSE = 4 * 10**15, 1_000, 3
_LARGEST_ORDINAL = 2**63 - 1
_TIMES_FROM = 8 * 10**18


class ThreadPlace(NamedTuple):
    """Thread, place in it and speaker, as 64-bit integers."""

    thread: int
    """Hash of thread and visibility: no two scopes share one."""
    order: int
    """Ascends in the order of capture."""
    speaker: int = NOBODY


def thread_place(entity: "Entity") -> ThreadPlace | None:
    """Return the place of a raw memory in its thread, by `metadata.ordinal` or time of capture; None for others."""
    if entity.entity_type != "raw_memory":
        return None
    hint = next((each for each in THREAD_HINTS if _is_name(entity.metadata.get(each))), None)
    if hint is None:
        return None
    name = "\0".join((entity.visibility, entity.category or "", hint, str(entity.metadata[hint])))
    is_long = len(entity.content) > LONGEST
    speaker = SEPARATES if is_long else speaker_of(entity.content, entity.metadata)
    return ThreadPlace(hash64(name), _order(entity), speaker)


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
    size = abs(ordinal)
    order = round(min(size, _FINE_UNTIL) * _STEPS) + max(int(size) - _FINE_UNTIL, 0) // _COARSE
    return order if ordinal >= 0 else -order
