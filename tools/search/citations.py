"""Citations: records named as useful rank slightly higher for a while."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.policy import admins_may_read
from stores.exposures import Shown
from stores.ledger import Cited, Citing, Claim, Transaction
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Request, Result, Route, Tool, mutation
from tools.records.entity_models import EntityId
from tools.search.exposure import exposure_of, session_of

MOST_CITED = 100
CitedSurface = Literal["search", "recall", "context", "reflect", "task", "other"]
SessionKey = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:-]+$")]


class CiteRequest(Request):
    """Records to cite."""

    cited_ids: Annotated[list[EntityId], Field(min_length=1, max_length=MOST_CITED)] = Field(
        description="Ids of records that were of use, such as `metadata.cite_id` of search results."
    )
    surface: CitedSurface = Field("other", description="Where they were found.")
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
    return cited(
        app, call, request.cited_ids, surface=request.surface, session_key=request.session_key, claim=call.claim
    )


def cited(
    app: App,
    call: Call,
    ids: Sequence[str],
    *,
    surface: CitedSurface,
    session_key: str | None = None,
    claim: Claim | None = None,
) -> CiteResult:
    """Count citations in a transaction of their own. Blocks.

    `claim` only if the request does nothing else.
    """
    caller = call.caller
    key = session_of(app, call, session_key)
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim) as tx:
        found = count(tx, call, ids, surface, key)
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
        app.exposures.put(exposure_of(app, call, "citation", surface, session_key, records))
