"""What a caller may make of a candidate: its scope, its sources, and the word for why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

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
from tools.candidates import Candidate, Read, candidate_for
from tools.promotion_models import InputScope, PromoteRequest
from tools.review import Input, PromotionReason, Proposal, Target, objection


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate, where it would go, and what speaks against that."""

    candidate: Candidate
    target: Target | None
    place: Visibility | None
    """Where what is made of it is readable: the target, or the narrowest of its sources."""
    project: str | None
    inputs: Sequence[Input]
    refusal: PromotionReason | None

    @property
    def input_scopes(self) -> list[InputScope]:
        """The scopes of the candidate and its sources, for an answer."""
        return [
            InputScope(id=each.id, memory_scope=each.memory_scope, scope_key=each.scope_key) for each in self.inputs
        ]

    @property
    def policy_reasons(self) -> list[str]:
        """Why it is allowed, or is not."""
        if self.refusal is not None:
            return [self.refusal]
        found = [WRITE_REASON, *(READ_REASONS[each.memory_scope] for each in self.inputs)]
        if self.place and self.target and self.place.memory_scope != self.target.memory_scope:
            found.append("narrowest_source_scope")
        return list(dict.fromkeys(found))


def consider(caller: Principal, request: PromoteRequest, read: Read) -> Considered:
    """Judge a promotion that somebody asks for; `read` reads raw memories, of the ledger or of a transaction.

    Raises:
        NotFound: There is no such candidate, or no such project, for the caller.
        Forbidden: The caller may only read the project that it names.
        InvalidRequest: The names in the request contradict one another.
    """
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
    """Where a candidate is to go and to which project it is to belong, with what reflection suggested."""
    scope = request.promote_to_scope or candidate.suggested_scope
    key = request.promote_to_scope_key
    if key is None and scope == candidate.suggested_scope:
        key = candidate.suggested_key
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
"""The words by which policy refuses to write somewhere."""


def _input(memory: RawMemory) -> Input:
    entity = memory.entity
    return Input(entity.id, cast("MemoryScope", entity.memory_scope), entity.scope_key)
