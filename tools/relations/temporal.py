"""Temporal queries: facts at a time, their versions, and their conflicts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from stores.ledger import HistoryQuery, NamedRelation
from tools.app import App
from tools.entities.entities import visible_id
from tools.frame.dates import Date, optional_moment
from tools.frame.operation import Call, Filters, Result, Route, Tool, entry
from tools.records.entity_models import EntityId
from tools.relations.relations import FactView, fact_view

LIMIT = 200


class TemporalRequest(Filters):
    """A question about facts over time."""

    mode: Literal["history", "timeline", "conflicts"] = Field(
        "history",
        description="history: the facts that held at `as_of`; timeline: every version of them, ended ones too; "
        "conflicts: those that were invalidated, and those by which one record superseded another.",
    )
    entity_id: EntityId | None = Field(None, description="Only facts from or to this entity.")
    as_of: Date | None = Field(
        None, description="Answer as at this moment: ISO date or time, or relative like 7d. Without it: the present."
    )
    known_at: Date | None = Field(
        None, description="For `as_of`: answer from the knowledge of this moment; 0d for today. Default: `as_of`."
    )
    include_expired: bool = Field(False, description="Show facts that had ended by then in a history, too.")
    limit: int = Field(50, ge=1, le=LIMIT, description="Most facts; the latest known come first.")


class FormerEnd(Result):
    """An earlier end of a fact, with the time in which it was known."""

    known_from: datetime
    known_to: datetime
    invalid_at: datetime | None


class TemporalEdge(FactView):
    """A fact as it was known at the moment."""

    earlier_ends: list[FormerEnd] | None = Field(
        None, description="In a timeline, for a fact whose end was announced: its earlier versions, oldest first."
    )


class TemporalAnswer(Result):
    """The facts, the latest known first."""

    mode: str
    entity_id: str | None
    edges: list[TemporalEdge]
    total: int
    as_of: datetime
    message: str
    has_more: bool


@entry(
    Route("POST", "/api/search/temporal", tag="search", errors=(404,)),
    tool=Tool("Facts over time", read_only=True, omit_result=frozenset({"mode", "created_at"})),
)
def temporal(app: App, call: Call, request: TemporalRequest) -> TemporalAnswer:
    """Ask what was related to what at a moment, how that changed over time, and which facts were called off.

    `total` counts the edges of the answer; where there are more, `has_more` is true.
    """
    caller = call.caller
    now = app.clock()
    as_of = optional_moment(request.as_of, now=now, field="as_of")
    known_at = optional_moment(request.known_at, now=now, field="known_at")
    if request.entity_id is not None:
        request = request.model_copy(update={"entity_id": visible_id(app, caller, request.entity_id)})
    query = HistoryQuery(
        mode=request.mode,
        visibility=caller.visible,
        limit=request.limit + 1,
        entity_id=request.entity_id,
        as_of=as_of,
        known_at=known_at,
        include_ended=request.include_expired,
    )
    found = app.ledger.relations.relation_history(caller.organization_id, query)
    shown = found[: request.limit]
    ends = {end for each in shown for end in (each.then.source_id, each.then.target_id)}
    ends |= set() if request.entity_id is None else {request.entity_id}
    names = app.ledger.relations.entity_names(caller.organization_id, ends, as_of)
    edges = [
        fact_view(TemporalEdge, NamedRelation(known, names[known.source_id], names[known.target_id]), now, today)
        for known, today in shown
        if {known.source_id, known.target_id} <= names.keys()
    ]
    if request.mode == "timeline":
        ids = [edge.id for edge in edges]
        ends_by_id = app.ledger.relations.earlier_ends(caller.organization_id, ids, known_at or as_of)
        former = {each: [FormerEnd(**end._asdict()) for end in earlier] for each, earlier in ends_by_id.items()}
        edges = [edge.model_copy(update={"earlier_ends": former.get(edge.id)}) for edge in edges]
    has_more = len(found) > request.limit
    name = None if request.entity_id is None else names.get(request.entity_id)
    return TemporalAnswer.of(
        request,
        edges=edges,
        total=len(edges),
        as_of=as_of or now,
        message=_message(request, edges, name, has_more),
        has_more=has_more,
    )


_FOUND = {
    "history": "{} that held",
    "timeline": "{} of every time",
    "conflicts": "{} that ended, or by which a record superseded another",
}


def _message(request: TemporalRequest, edges: Sequence[TemporalEdge], name: str | None, has_more: bool) -> str:
    counted = f"{len(edges) or 'No'} fact{'' if len(edges) == 1 else 's'}"
    said = _FOUND[request.mode].format(counted)
    if request.mode == "history" and request.include_expired:
        said += ", or had ended"
    about = f" of {name}" if name is not None else ""
    when = f", as at {request.as_of}" if request.as_of is not None else ""
    ways = ["raise limit"] if request.limit < LIMIT else []
    ways += ["name an entity"] if request.entity_id is None else []
    way_on = ", or ".join(ways) or "send as known_at an earlier moment for those that were known by then"
    more = f"; there are more: {way_on}" if has_more else ""
    return f"{said}{about}{when}{more}."
