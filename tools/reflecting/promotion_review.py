"""Review rules: objections to a promotion, and reasons for a review. No I/O."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from auth.policy import MemoryScope
from stores.records import ReviewState

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
