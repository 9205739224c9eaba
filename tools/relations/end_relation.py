"""Ending relations, announcing an end, and withdrawing an announced end."""

from pydantic import Field

from auth.policy import may_read, require_writable
from auth.principal import Principal
from stores.errors import NotFound, ValidationFailed
from stores.ledger import ENDED, SUPERSEDES, WITHDRAWN, NamedRelation, Transaction
from stores.records import Entity, JsonObject, Relation
from tools.app import App
from tools.frame.dates import optional_moment
from tools.frame.json_values import without_none
from tools.frame.operation import SYNCED, Call, Request, Route, Tool, writing
from tools.records.containment import refuse_stated
from tools.records.entity_models import EntityId
from tools.records.linking import may_end_facts, refuse_cycles
from tools.records.storing import until_visible
from tools.relations.relations import REFUSALS, SYNC, Date, Fact, RelationWritten, fact_view, receipt
from tools.runtime.threads import in_thread


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


async def end_relation(app: App, call: Call, request: EndRelationRequest) -> RelationWritten:
    """End a fact: it is kept, with its end, for questions about the past.

    A fact that was ended before is answered as it is. An end that lies ahead is announced; it can be changed, or taken
    back with `withdraw`, until it comes.
    """
    invalid_at = optional_moment(request.invalid_at, now=app.clock(), field="invalid_at")
    if request.withdraw and invalid_at is not None:
        raise ValidationFailed(
            "withdraw takes an end back, and invalid_at announces one.",
            remediation="Send one of them.",
            details={"field": "body.invalid_at", "expected": "nothing together with withdraw"},
        )

    def write() -> tuple[NamedRelation, int]:
        caller = call.caller
        with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
            relation, source, target = _present(tx, caller, request.relation_id)
            tx.show_in_answer([source.id, target.id])
            require_writable(caller, source)
            if relation.name == SUPERSEDES and source.memory_scope != "private":
                require_writable(caller, target)
            if not tx.relations.has_ended(relation):
                refuse_stated(source, relation)
                if invalid_at is not None and invalid_at < relation.valid_at:
                    raise ValidationFailed(
                        f"invalid_at lies before the beginning of the fact, {relation.valid_at.isoformat()}.",
                        remediation="Send that moment itself to say that the fact was never true.",
                        details={"field": "body.invalid_at", "expected": "a moment not before valid_at"},
                    )
            before = relation
            may_end = may_end_facts(tx, caller)
            why: JsonObject = {**without_none({"by": caller.user_id, "reason": request.reason})}
            if request.withdraw:
                relation = tx.relations.withdraw_end(relation.id, may_end=may_end, why={WITHDRAWN: why})
            else:
                end: JsonObject = {ENDED: why}
                relation = tx.relations.end_relation(relation.id, invalid_at=invalid_at, may_end=may_end, why=end)
            until = relation.invalid_at
            if before.invalid_at is not None and (until is None or until > before.invalid_at):
                refuse_cycles(tx, caller, [(source, relation.name, target.id)])
        return NamedRelation(relation, source.name, target.name), tx.sequence

    named, sequence = await in_thread(write)
    return fact_view(
        RelationWritten,
        named,
        app.clock(),
        is_new=False,
        ended=[] if request.withdraw else [named.relation.id],
        background_jobs=await until_visible(app, call.caller, sequence) if request.sync else None,
        mutation_receipt=receipt(app, call, [named.relation]),
    )


def _present(tx: Transaction, caller: Principal, relation_id: str) -> tuple[Relation, Entity, Entity]:
    relation = tx.relations.relation(relation_id)
    if relation is not None and may_read(caller, relation.visibility):
        source, target = tx.records.entity(relation.source_id), tx.records.entity(relation.target_id)
        if source and target and may_read(caller, source.visibility) and may_read(caller, target.visibility):
            return relation, source, target
    raise NotFound(f"There is no relation {relation_id}.", remediation="List the relations of an entity for their ids.")


OPERATIONS = (
    writing(
        end_relation,
        Route("POST", "/api/relations/{relation_id}/invalidate", query=SYNCED, tag="relations", errors=REFUSALS),
        tool=Tool("End a fact", read_only=False, idempotent=True, omit=SYNCED, toolset="facts"),
    ),
)
