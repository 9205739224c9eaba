"""Promotion policy: scope, sources, objections, and what is promoted without a person."""

from collections.abc import Collection, Sequence
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
from auth.policy import MemoryScope, NoProject, Visibility, require_project
from auth.principal import Principal
from auth.visibility import entity_key
from stores.errors import Forbidden, InvalidRequest
from stores.records import RawMemory, ReviewState
from tools.frame.operation import Request, Result
from tools.records.entity_models import EntityId, Label, RelatedTo
from tools.reflecting.candidates import Candidate, Read, candidate_for

PromotionReason = Literal[
    "promoted", "promotion_preview_allowed", "candidate_not_found", "not_reflection_candidate",
    "candidate_already_promoted", "candidate_archived", "missing_promote_to_scope",
    "promote_to_scope_must_match_broadest_input_scope", "principal_mismatch", "scope_crossing_requires_promotion",
    "scope_not_enabled", "unverified_membership", "missing_scope_key", "raw_memory_not_recallable",
]  # fmt: skip
_WIDTH: Sequence[MemoryScope] = ("private", "delegated", "project", "team", "shared", "organization", "public")
_UNKEYED: Collection[MemoryScope] = ("private", "organization", "public")


@dataclass(frozen=True, slots=True)
class Input:
    id: str
    memory_scope: MemoryScope
    scope_key: str | None


@dataclass(frozen=True, slots=True)
class Target:
    memory_scope: MemoryScope
    scope_key: str | None
    refusal: PromotionReason | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """Unreadable sources count as lost."""

    review_state: ReviewState | None
    is_candidate: bool = True
    may_review: bool = True
    target: Target | None = None
    inputs: Sequence[Input] = ()
    lost_sources: Collection[str] = ()


def objection(proposal: Proposal) -> PromotionReason | None:
    return _of_candidate(proposal) or _of_target(proposal)


def broadest(inputs: Sequence[Input]) -> Input:
    return max(inputs, key=lambda each: _WIDTH.index(each.memory_scope))


def _of_candidate(proposal: Proposal) -> PromotionReason | None:
    if proposal.review_state is None:
        return "candidate_not_found"
    if not proposal.is_candidate:
        return "not_reflection_candidate"
    if proposal.review_state == "promoted":
        return "candidate_already_promoted"
    if proposal.review_state == "archived":
        return "candidate_archived"
    return None if proposal.may_review else "unverified_membership"


def _of_target(proposal: Proposal) -> PromotionReason | None:
    target = proposal.target
    if target is None or target.refusal is not None:
        return "missing_promote_to_scope" if target is None else target.refusal
    if proposal.lost_sources:
        return "raw_memory_not_recallable"
    if target.memory_scope != broadest(proposal.inputs).memory_scope:
        return "promote_to_scope_must_match_broadest_input_scope"
    # Readers of one project or team must not learn the content of another.
    places = {(each.memory_scope, each.scope_key) for each in proposal.inputs if each.memory_scope not in _UNKEYED}
    if target.memory_scope not in _UNKEYED:
        places.add((target.memory_scope, target.scope_key))
    return "scope_crossing_requires_promotion" if len(places) > 1 else None


ExceptionReason = Literal[
    "candidate_not_found", "policy_denied", "high_impact_scope", "missing_source", "missing_confidence",
    "low_confidence", "sensitive_candidate", "destructive_candidate", "duplicate_candidate", "contradiction_candidate",
    "stale_candidate",
]  # fmt: skip
Standing = Literal["duplicate", "contradiction", "supersession", "stale"]

THRESHOLD = 0.8
SAFE_SCOPES: frozenset[MemoryScope] = frozenset({"private", "delegated", "project"})
SENSITIVE = frozenset(
    {"credential", "credentials", "key", "pii", "private_key", "secret", "sensitive", "token"}
)  # fmt: skip
DESTRUCTIVE = frozenset({"correction", "delete", "deletion", "redact", "redaction", "rollback"})
ARCHIVABLE: frozenset[ExceptionReason] = frozenset({"duplicate_candidate", "stale_candidate"})
_KEPT: frozenset[ExceptionReason] = frozenset({"candidate_not_found", "policy_denied", "contradiction_candidate"})


@dataclass(frozen=True, slots=True)
class Review:
    refusal: PromotionReason | None
    memory_scope: MemoryScope | None
    has_source: bool
    confidence: float | None
    kind: str = "claim"
    labels: Collection[str] = ()
    standings: Collection[Standing] = ()
    threshold: float = THRESHOLD


def exceptions_of(review: Review) -> list[ExceptionReason]:
    if review.refusal == "candidate_not_found":
        return ["candidate_not_found"]
    confidence = review.confidence
    found: dict[ExceptionReason, bool] = {
        "policy_denied": review.refusal is not None,
        "high_impact_scope": review.memory_scope is not None and review.memory_scope not in SAFE_SCOPES,
        "missing_source": not review.has_source,
        "missing_confidence": confidence is None,
        "low_confidence": confidence is not None and confidence < review.threshold,
        "sensitive_candidate": not SENSITIVE.isdisjoint(label.lower() for label in review.labels),
        "destructive_candidate": review.kind.lower() in DESTRUCTIVE,
        "duplicate_candidate": "duplicate" in review.standings,
        "contradiction_candidate": not {"contradiction", "supersession"}.isdisjoint(review.standings),
        "stale_candidate": "stale" in review.standings,
    }
    return [reason for reason, applies in found.items() if applies]


def archivable(found: Collection[ExceptionReason], asked: Collection[str]) -> ExceptionReason | None:
    if not _KEPT.isdisjoint(found):
        return None
    return next((reason for reason in found if reason in ARCHIVABLE and reason in asked), None)


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
        if error.message not in _REFUSALS:
            raise
        return Target(wanted.scope, wanted.scope_key, _REFUSALS[error.message]), None
    except (Forbidden, NoProject) as error:
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
