"""Promotion policy: scope, sources, and objections."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import Field

from auth.memory_policy import (
    READ_REASONS,
    WRITE_REASON,
    MemoryScopeRequest,
    derived_visibility,
    may_change_memory,
    narrower,
    writable_memory,
)
from auth.policy import MemoryScope, Visibility, require_project
from auth.principal import Principal
from auth.visibility import entity_key
from stores.errors import Forbidden, InvalidRequest
from stores.records import RawMemory
from tools.frame.operation import Request, Result
from tools.records.entity_models import EntityId, Label, RelatedTo
from tools.reflecting.candidates import Candidate, Read, candidate_for
from tools.reflecting.promotion_review import Input, PromotionReason, Proposal, Target, objection

Threshold = Annotated[float, Field(ge=0, le=1)]
Outcome = Literal["auto_promote", "exception", "skip"]
Action = Literal["promote", "route_to_review", "skip"]


class PromotionFields(Request):
    """Target and links of a promotion."""

    promote_to_scope: MemoryScope | None = Field(
        None, description="Scope of what is made of it; without one, that which reflection suggested."
    )
    promote_to_scope_key: EntityId | None = Field(
        None, description="Key of that scope; without one, the one that was suggested."
    )
    domain: Label | None = Field(None, description="Field of knowledge; without one, that of the notes.")
    project: EntityId | None = Field(
        None, description="Id of the project that it belongs to; without one, that of the notes."
    )
    related_to: RelatedTo = Field([], description="Ids to link it to, each plain or as `relationship:id`.")


class PromoteRequest(PromotionFields):
    """A candidate to promote."""

    candidate_id: EntityId = Field(description="Id of the candidate: its `persisted_id` in the reflection pack.")


class InputScope(Result):
    """The scope of the candidate, or of a raw memory that it was found in."""

    id: str
    memory_scope: MemoryScope
    scope_key: str | None


@dataclass(frozen=True, slots=True)
class Considered:
    candidate: Candidate
    target: Target | None
    place: Visibility | None
    """Visibility of the new record: the narrower of target and sources."""
    project: str | None
    inputs: Sequence[Input]
    refusal: PromotionReason | None

    @property
    def input_scopes(self) -> list[InputScope]:
        return [
            InputScope(id=each.id, memory_scope=each.memory_scope, scope_key=each.scope_key) for each in self.inputs
        ]

    @property
    def policy_reasons(self) -> list[str]:
        if self.refusal is not None:
            return [self.refusal]
        found = [WRITE_REASON, *(READ_REASONS[each.memory_scope] for each in self.inputs)]
        if self.place and self.target and self.place.memory_scope != self.target.memory_scope:
            found.append("narrowest_source_scope")
        return list(dict.fromkeys(found))


def consider(caller: Principal, request: PromoteRequest, read: Read) -> Considered:
    candidate = candidate_for(caller, request.candidate_id, read)
    scope, key, project = _wanted(caller, candidate, request)
    target, place = None, None
    if scope is not None:
        target, place = _target(caller, MemoryScopeRequest(scope, key, project))
    sources = [candidate.memory, *candidate.sources]
    inputs = [_input(each) for each in sources]
    proposal = Proposal(
        review_state=candidate.memory.capture.review_state,
        is_candidate=candidate.memory.capture.candidate is not None,
        may_review=may_change_memory(caller, candidate.memory.entity),
        target=target,
        inputs=inputs,
        lost_sources=candidate.lost_sources,
    )
    for source in sources if place is not None else ():
        place = narrower(place, derived_visibility(source.entity)) if place is not None else None
    return Considered(candidate, target, place, project, inputs, objection(proposal))


def _wanted(
    caller: Principal, candidate: Candidate, request: PromoteRequest
) -> tuple[MemoryScope | None, str | None, str | None]:
    scope = request.promote_to_scope or candidate.suggested_scope
    key = request.promote_to_scope_key
    if key is None and scope == candidate.suggested_scope:
        key = candidate.text("suggested_scope_key")
    if scope == "project":
        key = key or request.project or candidate.project
        return scope, key, request.project or key
    if request.project is not None:
        require_project(caller, request.project)
        return scope, key, request.project
    own = candidate.project
    return scope, key, own if own is not None and caller.may_write_in(own) else None


def _target(caller: Principal, wanted: MemoryScopeRequest) -> tuple[Target, Visibility | None]:
    try:
        place = writable_memory(caller, wanted)
    except InvalidRequest as error:
        if error.code not in _REFUSALS:
            raise
        return Target(wanted.scope, wanted.scope_key, _REFUSALS[error.code]), None
    except Forbidden as error:
        word = error.message.partition(":")[0]
        return Target(wanted.scope, wanted.scope_key, _REFUSALS.get(word, "unverified_membership")), None
    readable = Visibility(entity_key(place.key), place.memory_scope, place.scope_key)
    return Target(place.memory_scope, place.scope_key), readable


_REFUSALS: dict[str, PromotionReason] = {
    "missing_scope_key": "missing_scope_key",
    "private_scope_key_mismatch": "principal_mismatch",
    "scope_not_enabled": "scope_not_enabled",
}


def _input(memory: RawMemory) -> Input:
    entity = memory.entity
    return Input(entity.id, cast("MemoryScope", entity.memory_scope), entity.scope_key)
