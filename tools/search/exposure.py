"""Usage signals: exposures of returned records, and citations, which rank slightly higher for a while."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.policy import admins_may_read
from stores.exposures import Exposure, Shown
from stores.ledger import Cited, Citing, Claim, Transaction
from stores.records import JsonObject
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Request, Result, Route, Tool, mutation
from tools.records.entity_models import EntityId

Surface = Literal["search", "recall", "context"]
Signal = Literal["exposure", "citation"]
DUPLICATE = "duplicate"
QUEUE_FULL = "queue_full"
_OURS = re.compile(r"session_[0-9a-f]{16}")


class ExcludedResponse(Result):
    """Something that was returned and not recorded."""

    response_id: str
    reason: str


class UsageExposure(Result):
    """Recorded exposure of the returned records."""

    source_surface: str
    signal_type: str
    session_key: str | None
    message_key: str | None
    returned_count: int
    stamped_count: int
    excluded_count: int
    coverage_count: int
    coverage_complete: bool
    exclusions: list[ExcludedResponse]


def exposed(
    app: App, call: Call, surface: Surface, records: Sequence[Shown], *, session_key: str | None = None
) -> UsageExposure | None:
    """Queue the records of an answer; return the counts. None for an empty answer or if recording is off."""
    if not records or not app.exposures.on:
        return None
    first = {each.record_id: each for each in reversed(records)}
    kept = tuple(each for each in records if first[each.record_id] is each)
    exposure = _exposure_of(app, call, "exposure", surface, session_of(app, call, session_key), kept)
    is_queued = app.exposures.put(exposure)
    exclusions = [
        ExcludedResponse(
            response_id=each.record_id, reason=DUPLICATE if first[each.record_id] is not each else QUEUE_FULL
        )
        for each in records
        if not is_queued or first[each.record_id] is not each
    ]
    return UsageExposure(
        source_surface=surface,
        signal_type="exposure",
        session_key=exposure.session_key,
        message_key=exposure.message_key,
        returned_count=len(records),
        stamped_count=len(records) - len(exclusions),
        excluded_count=len(exclusions),
        coverage_count=len(records),
        coverage_complete=True,
        exclusions=exclusions,
    )


def _exposure_of(
    app: App, call: Call, signal: Signal, surface: str, session_key: str, records: tuple[Shown, ...]
) -> Exposure:
    who = (call.caller.organization_id, call.caller.user_id)
    return Exposure(*who, signal, surface, session_key, app.new_id("message"), app.clock(), records)


def stamp(usage: UsageExposure | None, hits: Iterable[tuple[str, JsonObject]]) -> None:
    reasons = {each.response_id: each.reason for each in usage.exclusions} if usage is not None else {}
    for record_id, metadata in hits:
        metadata["cite_id"] = record_id
        # A duplicate was recorded at its first place.
        reason = reasons.get(record_id, DUPLICATE)
        if usage is not None:
            excluded: JsonObject = {"status": "excluded", "reason": reason}
            metadata["usage_exposure"] = {"status": "stamped"} if reason == DUPLICATE else excluded


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


MOST_CITED = 100
CitedSurface = Literal["search", "recall", "context", "reflect", "task", "other"]
SessionKey = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:-]+$")]


class CiteRequest(Request):
    """Records to cite."""

    cited_ids: Annotated[list[EntityId], Field(min_length=1, max_length=MOST_CITED)] = Field(
        description="Ids of records that were of use, such as `metadata.cite_id` of search results."
    )
    surface: CitedSurface = Field("other", description="Surface that returned them.")
    session_key: SessionKey | None = Field(
        None,
        description="The session of work: a record counts once in each. `usage_exposure.session_key` of an answer, or "
        "a name of your own; without one, the credential on this day.",
    )


class CiteResult(Result):
    """Ids by outcome; each is in one of the lists."""

    signal_type: Literal["citation"] = "citation"
    source_surface: CitedSurface
    session_key: str
    counted_ids: list[str] = Field(description="They count from now on; this is on disk.")
    replayed_ids: list[str] = Field(description="They counted already, in this session.")
    unknown_ids: list[str] = Field(description="There is no such record for the caller.")


@mutation(
    Route("POST", "/api/memory/cite", tag="search"),
    tool=Tool("Cite records", read_only=False, idempotent=True, toolset="admin"),
)
def cite(app: App, call: Call, request: CiteRequest) -> CiteResult:
    """Say which records were of use; records that many cite rank slightly higher for those who may see them.

    Citing the same record again in one session changes nothing. An id that does not exist, or not for the caller, is
    named in `unknown_ids`; the others count.
    """
    return cited(app, call, request, call.claim)


def cited(app: App, call: Call, request: CiteRequest, claim: Claim | None = None) -> CiteResult:
    """Count citations in a transaction of their own. Blocks. `claim` only if the call does nothing else."""
    caller, surface = call.caller, request.surface
    key = session_of(app, call, request.session_key)
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim) as tx:
        found = count(tx, call, request.cited_ids, surface, key)
    announce(app, call, found, surface, key)
    return CiteResult(
        source_surface=surface,
        session_key=key,
        counted_ids=list(found.counted),
        replayed_ids=list(found.replayed),
        unknown_ids=list(found.unknown),
    )


def count(tx: Transaction, call: Call, ids: Sequence[str], surface: CitedSurface, session_key: str) -> Cited:
    """Count citations; call `announce` after the commit.

    The audit entry names only records that admins may read.
    """
    found = tx.memories.cite(ids, Citing(call.caller.readable, session_key, surface))
    told = [record_id for record_id, visibility in found.counted.items() if admins_may_read(visibility)]
    if told:
        tx.audit(
            audit_entry(
                call, "memory.cite", tx.organization_id, None, {"source_surface": surface, "source_ids": [*told]}
            )
        )
    return found


def announce(app: App, call: Call, found: Cited, surface: CitedSurface, session_key: str) -> None:
    if found.counted and app.exposures.on:
        records = tuple(Shown(record_id, visibility) for record_id, visibility in found.counted.items())
        app.exposures.put(_exposure_of(app, call, "citation", surface, session_key, records))
