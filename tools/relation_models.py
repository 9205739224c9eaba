"""Request and result models of relations."""

import difflib
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from stores.ledger import NamedRelation
from stores.records import Relation
from tools.dates import WITH_FORMS
from tools.entity_models import BackgroundJobs, EntityId, MutationReceipt
from tools.entity_types import RELATIONSHIP_TYPES, RelationshipType
from tools.json_values import StoredJson
from tools.linking import fact_of
from tools.operation import Request, Result

BULK_LIMIT = 1000
FACT_LIMIT = 2_000
DATE_LIMIT = 100


def _known(value: object) -> object:
    if not isinstance(value, str) or value.upper() in RELATIONSHIP_TYPES:
        return value.upper() if isinstance(value, str) else value
    near = difflib.get_close_matches(value.upper(), sorted(RELATIONSHIP_TYPES), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(RELATIONSHIP_TYPES))}"
    given = {"given": value[:80], "hint": hint, "expected": "a relationship type"}
    raise PydanticCustomError("relationship_type", "{given} is no relationship type; {hint}", given)


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


class RelationView(Result):
    """A fact with its four times."""

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
    is_current: bool
    provenance: StoredJson


class RelationWritten(RelationView):
    """A fact after a write."""

    is_new: bool
    ended: list[str]
    """Ids of the facts that it replaced."""
    background_jobs: BackgroundJobs | None = None
    mutation_receipt: MutationReceipt | None = None


def relation_view(named: NamedRelation, now: datetime) -> RelationView:
    relation = named.relation
    return RelationView(
        id=relation.id,
        name=relation.name,
        source_id=relation.source_id,
        source_name=named.source_name,
        target_id=relation.target_id,
        target_name=named.target_name,
        fact=fact_of(relation, named.source_name, named.target_name),
        created_at=relation.created_at,
        valid_at=relation.valid_at,
        expired_at=relation.expired_at,
        invalid_at=relation.invalid_at,
        is_current=is_current(relation, now),
        provenance=relation.provenance,
    )


def is_current(relation: Relation, now: datetime) -> bool:
    """Return whether a fact is open and true now. One recorded as true has begun, whatever the clock says."""
    begun = relation.valid_at <= max(now, relation.created_at)
    return relation.expired_at is None and begun and (relation.invalid_at is None or relation.invalid_at > now)
