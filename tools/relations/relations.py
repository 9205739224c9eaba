"""Adding, listing and ending relations, with their models."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from auth.policy import may_read, require_writable
from auth.principal import Principal
from stores.errors import InvalidRequest, NotFound, ValidationFailed
from stores.ledger import ENDED, SUPERSEDES, WITHDRAWN, NamedRelation, Recorded, RelationQuery, Transaction
from stores.records import Entity, JsonObject, Relation
from tools.app import App
from tools.entities.entities import visible_id, with_entities
from tools.frame.dates import WITH_FORMS, optional_moment
from tools.frame.json_values import StoredJson, without_none
from tools.frame.operation import SYNCED, Call, Filters, Request, Result, Route, Tool, entry, writing
from tools.records.containment import refuse_stated
from tools.records.entity_models import BackgroundJobs, EntityId, MutationReceipt
from tools.records.entity_types import RELATIONSHIP_TYPES, RelationshipType
from tools.records.linking import BY_HAND, Link, fact_of, may_end_facts, record, refuse_cycles, require_target
from tools.records.receipts import receipt_for
from tools.records.storing import wait_until_visible

BULK_LIMIT = 1000
FACT_LIMIT = 2_000
DATE_LIMIT = 100


def _known(value: object) -> object:
    if not isinstance(value, str) or value.upper() in RELATIONSHIP_TYPES:
        return value.upper() if isinstance(value, str) else value
    near = difflib.get_close_matches(value.upper(), sorted(RELATIONSHIP_TYPES), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(RELATIONSHIP_TYPES))}"
    given = {"given": value[:80], "hint": hint, "expected": "a relationship type"}
    raise PydanticCustomError("relationship_type", "{given} is not a relationship type; {hint}", given)


RelationName = Annotated[RelationshipType, BeforeValidator(_known)]
Fact = Annotated[str, StringConstraints(min_length=1, max_length=FACT_LIMIT, pattern=r"\S")]
Date = Annotated[str, StringConstraints(min_length=1, max_length=DATE_LIMIT), WITH_FORMS]
Direction = Literal["outgoing", "incoming", "both"]


class RelationFields(Request):
    """A fact that somebody states of two entities."""

    source_id: EntityId = Field(description="Id of the entity of which it is said; one that you may change.")
    name: RelationName = Field(description="The relationship, such as DEPENDS_ON, SUPERSEDES or RELATED_TO.")
    target_id: EntityId = Field(description="Id of the entity that it is related to.")
    fact: Fact | None = Field(None, description="The fact in a sentence; without one, it is made of the two names.")
    valid_at: Date | None = Field(
        None, description="Since when it is true: an ISO 8601 date or time, or how long ago (`7d`, `2w`). Default: now."
    )
    invalid_at: Date | None = Field(None, description="Until when it is true; later than valid_at. Default: no end.")
    reason: Fact | None = Field(None, description="Why you say so; kept in its provenance.")


class FactView(Result):
    """A fact: known from `created_at` to `expired_at`, true from `valid_at` to `invalid_at`."""

    id: str
    name: str
    source_id: str
    source_name: str
    target_id: str
    target_name: str
    fact: str
    created_at: datetime
    valid_at: datetime
    expired_at: datetime | None
    invalid_at: datetime | None
    is_current: bool = Field(description="True if it holds today, by present knowledge.")


class RelationView(FactView):
    """A fact with its provenance."""

    provenance: StoredJson


class RelationWritten(RelationView):
    """A fact after a write."""

    is_new: bool
    ended: list[str]
    background_jobs: BackgroundJobs | None = None
    mutation_receipt: MutationReceipt | None = None


F = TypeVar("F", bound=FactView)


def fact_view(kind: type[F], named: NamedRelation, now: datetime, today: Relation | None = None, **more: Any) -> F:
    """Show a fact; `today` is the relation by present knowledge, if it differs."""
    there = today or named.relation
    # One recorded as true has begun, whatever the clock says.
    begun = there.valid_at <= max(now, there.created_at)
    more["is_current"] = there.expired_at is None and begun and (there.invalid_at is None or there.invalid_at > now)
    names = {"source_name": named.source_name, "target_name": named.target_name}
    return kind.of(named.relation, fact=fact_of(*named), **names, **more)


SYNC = "Wait until the graph shows it, at most 20 s."


class AddRelationRequest(RelationFields):
    """A fact to record."""

    sync: bool = Field(True, description=SYNC)


REFUSALS = frozenset({400, 404, 409})


@writing(
    Route("POST", "/api/relations", status=201, query=SYNCED, tag="relations", errors=REFUSALS),
    tool=Tool("Record a fact", read_only=False, idempotent=True, omit=SYNCED, toolset="facts"),
)
def add_relation(app: App, call: Call, request: AddRelationRequest) -> RelationWritten:
    """Record that one entity is related to another: a fact, with the time since when it is true.

    Of BELONGS_TO, PART_OF and CHILD_OF an entity has one at a time to each type of target: a new one ends the one
    before, and one with an earlier `valid_at` ends where the known one begins. SUPERSEDES takes its target out of
    search. What is known already is not stored twice.
    """
    (one,), ends = _write(app, call, [request], sync=request.sync)
    named = NamedRelation(one.relation, ends[one.relation.source_id].name, ends[one.relation.target_id].name)
    return fact_view(
        RelationWritten,
        named,
        app.clock(),
        is_new=one.is_new,
        ended=[each.id for each in one.ended if may_read(call.caller, each.visibility)],
        mutation_receipt=_receipt(app, call, [one.relation]),
    )


class BulkRelationsRequest(Request):
    """Facts to record together."""

    relations: Annotated[list[RelationFields], Field(min_length=1, max_length=BULK_LIMIT)] = Field(
        description=f"1 to {BULK_LIMIT} facts; all are stored or none."
    )
    sync: bool = Field(False, description="Wait until the graph shows them, at most 20 s.")


class BulkRecorded(Result):
    """Ids of the recorded facts, in the order of the request."""

    relation_ids: list[str]
    total: int
    new: int
    background_jobs: BackgroundJobs | None = None
    mutation_receipt: MutationReceipt | None = None


@writing(Route("POST", "/api/relations/bulk", status=201, query=SYNCED, tag="relations", errors=REFUSALS))
def bulk_relations(app: App, call: Call, request: BulkRelationsRequest) -> BulkRecorded:
    """Record up to 1000 facts in one transaction: all of them or none."""
    recorded, _ = _write(app, call, request.relations, sync=request.sync)
    return BulkRecorded(
        relation_ids=[each.relation.id for each in recorded],
        total=len(recorded),
        new=sum(each.is_new for each in recorded),
        mutation_receipt=_receipt(app, call, [each.relation for each in recorded]),
    )


class ListRelationsRequest(Filters):
    """An entity whose relations to list."""

    entity_id: EntityId = Field(description="The entity's id.")
    name: RelationName | None = Field(None, description="Only this relationship, such as DEPENDS_ON.")
    direction: Direction = Field("both", description="outgoing: what it says of others; incoming: what they say of it.")
    include_expired: bool = Field(False, description="Also those that have ended, or have not begun.")
    limit: int = Field(50, ge=1, le=200, description="Most relations.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Relations to skip.")


class RelationPage(Result):
    """One page of an entity's relations, the latest first."""

    relations: list[RelationView]
    total: int
    limit: int
    offset: int
    has_more: bool


@entry(
    Route("GET", "/api/relations", tag="relations", errors=(404,)),
    tool=Tool("List facts", read_only=True, toolset="facts"),
)
def list_relations(app: App, call: Call, request: ListRelationsRequest) -> RelationPage:
    """List the facts about one entity, with their ids, times and provenance; the latest first."""
    query = RelationQuery(
        entity_id=visible_id(app, call.caller, request.entity_id),
        visibility=call.caller.visible,
        name=request.name,
        ways=request.direction,
        include_ended=request.include_expired,
        # One extra row tells `has_more` where the total is capped.
        limit=request.limit + 1,
        offset=request.offset,
    )
    found, total = app.ledger.relations.list_relations(call.caller.organization_id, query)
    now = app.clock()
    shown = [fact_view(RelationView, each, now) for each in found[: request.limit]]
    return RelationPage.of(request, relations=shown, total=total, has_more=len(found) > request.limit)


def _write(
    app: App, call: Call, facts: Sequence[RelationFields], *, sync: bool
) -> tuple[list[Recorded], Mapping[str, Entity]]:
    caller, now = call.caller, app.clock()
    ids = with_entities(app, caller, (end for fields in facts for end in (fields.source_id, fields.target_id)))
    facts = [
        each.model_copy(update={"source_id": ids[each.source_id], "target_id": ids[each.target_id]}) for each in facts
    ]
    is_bulk = len(facts) > 1 or type(facts[0]) is RelationFields
    with app.ledger.transaction(
        caller.organization_id, caller.user_id, claim=call.claim, deferred=len(facts) > 1
    ) as tx:
        ends = tx.records.entities(end for fields in facts for end in (fields.source_id, fields.target_id))
        links = [
            _link(caller, fields, ends, f"relations.{place}." if is_bulk else "", now)
            for place, fields in enumerate(facts)
        ]
        tx.show_in_answer(ends)
        recorded = record(tx, caller, links, known=ends)
        # One that is over ends no fact that holds.
        for each in (each for each in recorded if not tx.relations.has_ended(each.relation)):
            for ended in each.ended:
                refuse_stated(ends[ended.source_id], ended)
    if sync:
        wait_until_visible(app, call, tx.sequence)
    return recorded, ends


def _link(caller: Principal, fields: RelationFields, ends: Mapping[str, Entity], place: str, now: datetime) -> Link:
    valid_at = optional_moment(fields.valid_at, now=now, field=f"{place}valid_at")
    invalid_at = optional_moment(fields.invalid_at, now=now, field=f"{place}invalid_at")
    if invalid_at is not None and invalid_at <= (valid_at or now):
        since = "now, because valid_at is missing" if valid_at is None else f"{valid_at.isoformat()}"
        raise ValidationFailed(
            f"{place}invalid_at is not later than the beginning of the fact, which is {since}.",
            remediation="Send valid_at, too, for a fact about a time that is over.",
            details={"field": f"body.{place}invalid_at", "expected": "a moment after valid_at"},
        )
    source = require_target(caller, ends.get(fields.source_id), fields.source_id, f"{place}source_id")
    require_writable(caller, source)
    if fields.source_id == fields.target_id:
        raise InvalidRequest(
            f"{place}target_id is the source itself: an entity is not related to itself.",
            remediation="Name two different entities.",
            details={"field": f"body.{place}target_id"},
        )
    said: JsonObject = {**without_none({"reason": fields.reason}), "from": BY_HAND}
    where = f"{place}target_id"
    return Link(source, fields.name, fields.target_id, where, (), said, fields.fact, valid_at, invalid_at)


class EndRelationRequest(Request):
    """A fact that is not true any more."""

    relation_id: EntityId = Field(description="The relation's id.")
    invalid_at: Date | None = Field(
        None,
        description="Until when it was true: an ISO 8601 date or time, or how long ago (`7d`, `2w`). Default: now. "
        "The moment at which it began says that it was never true.",
    )
    withdraw: bool = Field(False, description="Take back an announced end that has not come; without `invalid_at`.")
    reason: Fact | None = Field(None, description="Why; kept in its provenance.")
    sync: bool = Field(True, description=SYNC)


@writing(
    Route("POST", "/api/relations/{relation_id}/invalidate", query=SYNCED, tag="relations", errors=REFUSALS),
    tool=Tool("End a fact", read_only=False, idempotent=True, omit=SYNCED, toolset="facts"),
)
def end_relation(app: App, call: Call, request: EndRelationRequest) -> RelationWritten:
    """End a fact: it is kept, with its end, for questions about the past.

    A fact that was ended before is answered as it is. An end that lies ahead is announced; it can be changed, or taken
    back with `withdraw`, until it comes.
    """
    caller = call.caller
    invalid_at = optional_moment(request.invalid_at, now=app.clock(), field="invalid_at")
    if request.withdraw and invalid_at is not None:
        raise ValidationFailed(
            "withdraw takes an end back, and invalid_at announces one.",
            remediation="Send one of them.",
            details={"field": "body.invalid_at", "expected": "nothing together with withdraw"},
        )
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        before, source, target = _present(tx, caller, request.relation_id)
        tx.show_in_answer([source.id, target.id])
        require_writable(caller, source)
        if before.name == SUPERSEDES and source.memory_scope != "private":
            require_writable(caller, target)
        if not tx.relations.has_ended(before):
            refuse_stated(source, before)
            if invalid_at is not None and invalid_at < before.valid_at:
                raise ValidationFailed(
                    f"invalid_at lies before the beginning of the fact, {before.valid_at.isoformat()}.",
                    remediation="Send that moment itself to say that the fact was never true.",
                    details={"field": "body.invalid_at", "expected": "a moment not before valid_at"},
                )
        may_end = may_end_facts(tx, caller)
        why: JsonObject = {**without_none({"by": caller.user_id, "reason": request.reason})}
        if request.withdraw:
            relation = tx.relations.withdraw_end(before.id, may_end=may_end, why={WITHDRAWN: why})
        else:
            end: JsonObject = {ENDED: why}
            relation = tx.relations.end_relation(before.id, invalid_at=invalid_at, may_end=may_end, why=end)
        until = relation.invalid_at
        if before.invalid_at is not None and (until is None or until > before.invalid_at):
            refuse_cycles(tx, caller, [(source, relation.name, target.id)])
    if request.sync:
        wait_until_visible(app, call, tx.sequence)
    return fact_view(
        RelationWritten,
        NamedRelation(relation, source.name, target.name),
        app.clock(),
        is_new=False,
        ended=[] if request.withdraw else [relation.id],
        mutation_receipt=_receipt(app, call, [relation]),
    )


def _present(tx: Transaction, caller: Principal, relation_id: str) -> tuple[Relation, Entity, Entity]:
    relation = tx.relations.relation(relation_id)
    if relation is not None and may_read(caller, relation.visibility):
        source, target = tx.records.entity(relation.source_id), tx.records.entity(relation.target_id)
        if source and target and may_read(caller, source.visibility) and may_read(caller, target.visibility):
            return relation, source, target
    raise NotFound(f"There is no relation {relation_id}.", remediation="List the relations of an entity for their ids.")


def _receipt(app: App, call: Call, relations: Iterable[Relation]) -> MutationReceipt:
    return receipt_for(app, call, [f"relation:{each.id}" for each in relations])
