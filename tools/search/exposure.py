"""Exposures: returned records, queued after ranking."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from stores.exposures import Exposure, Shown
from stores.records import JsonObject
from tools.app import App
from tools.frame.operation import Call

Surface = Literal["search", "recall", "context"]
Signal = Literal["exposure", "citation"]
DUPLICATE = "duplicate"
QUEUE_FULL = "queue_full"
_OURS = re.compile(r"session_[0-9a-f]{16}")


def exposed(
    app: App, call: Call, surface: Surface, records: Sequence[Shown], *, session_key: str | None = None
) -> JsonObject:
    """Queue the records of an answer; return the counts.

    `{}` for an empty answer or if recording is off.
    """
    if not records or not app.exposures.on:
        return {}
    first = {each.record_id: each for each in reversed(records)}
    kept = tuple(each for each in records if first[each.record_id] is each)
    exposure = exposure_of(app, call, "exposure", surface, session_of(app, call, session_key), kept)
    is_queued = app.exposures.put(exposure)
    exclusions: list[JsonObject] = [
        {"response_id": each.record_id, "reason": DUPLICATE if first[each.record_id] is not each else QUEUE_FULL}
        for each in records
        if not is_queued or first[each.record_id] is not each
    ]
    return {
        "source_surface": surface,
        "signal_type": "exposure",
        "session_key": exposure.session_key,
        "message_key": exposure.message_key,
        "returned_count": len(records),
        "stamped_count": len(records) - len(exclusions),
        "excluded_count": len(exclusions),
        "coverage_count": len(records),
        "coverage_complete": True,
        "exclusions": [*exclusions],
    }


def exposure_of(
    app: App, call: Call, signal: Signal, surface: str, session_key: str, records: tuple[Shown, ...]
) -> Exposure:
    who = (call.caller.organization_id, call.caller.user_id)
    return Exposure(*who, signal, surface, session_key, app.new_id("message"), app.clock(), records)


def stamp(usage_exposure: JsonObject, hits: Iterable[tuple[str, JsonObject]]) -> None:
    exclusions = usage_exposure.get("exclusions")
    told = exclusions if isinstance(exclusions, list) else []
    reasons = {each["response_id"]: each["reason"] for each in told if isinstance(each, dict)}
    for record_id, metadata in hits:
        metadata["cite_id"] = record_id
        # A duplicate was recorded at its first place.
        reason = reasons.get(record_id, DUPLICATE)
        if usage_exposure and reason == DUPLICATE:
            metadata["usage_exposure"] = {"status": "stamped"}
        elif usage_exposure:
            metadata["usage_exposure"] = {"status": "excluded", "reason": reason}


def session_of(app: App, call: Call, given: str | None = None) -> str:
    """Return the digest that names the session of a user.

    Without a name: the credential and the day (UTC).
    """
    if given is not None and _OURS.fullmatch(given):
        return given
    caller = call.caller
    held = caller.session_id or caller.key_id or caller.grant_id or ""
    named = given if given is not None else f"{held} {app.clock():%Y-%m-%d}"
    text = "\n".join((caller.organization_id, caller.user_id, "given" if given is not None else "held", named))
    return f"session_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
