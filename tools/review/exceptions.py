"""What speaks against promoting a candidate without a person who looks at it. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from auth.policy import MemoryScope
from tools.review.promotion import PromotionReason

ExceptionReason = Literal[
    "candidate_not_found",
    "policy_denied",
    "high_impact_scope",
    "missing_source",
    "missing_confidence",
    "low_confidence",
    "sensitive_candidate",
    "destructive_candidate",
    "duplicate_candidate",
    "contradiction_candidate",
    "stale_candidate",
]
Standing = Literal["duplicate", "contradiction", "supersession", "stale"]
"""How a candidate stands to what is known."""

THRESHOLD = 0.8
SAFE_SCOPES: frozenset[MemoryScope] = frozenset({"private", "delegated", "project"})
"""Scopes so narrow that nobody has to look."""
SENSITIVE = frozenset(
    {"credential", "credentials", "key", "pii", "private_key", "secret", "sensitive", "token"}
)  # fmt: skip
DESTRUCTIVE = frozenset({"correction", "delete", "deletion", "redact", "redaction", "rollback"})
ARCHIVABLE: frozenset[ExceptionReason] = frozenset({"duplicate_candidate", "stale_candidate"})
"""Exceptions for which a candidate may be archived unseen."""
_KEPT: frozenset[ExceptionReason] = frozenset({"candidate_not_found", "policy_denied", "contradiction_candidate"})
"""Exceptions that keep it from being archived, whatever else there is."""


@dataclass(frozen=True, slots=True)
class Review:
    """What is known of a candidate when it is reviewed."""

    refusal: PromotionReason | None
    """Why it may not be promoted."""
    memory_scope: MemoryScope | None
    has_source: bool
    confidence: float | None
    kind: str = "claim"
    labels: Collection[str] = ()
    """Its sensitivity flags and its tags."""
    standings: Collection[Standing] = ()
    threshold: float = THRESHOLD


def exceptions_of(review: Review) -> list[ExceptionReason]:
    """Return every reason for a person to look, the weightiest first; none where it may be promoted unseen."""
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
    """Return the asked-for exception for which a candidate may be archived; None where somebody has to look at it."""
    if not _KEPT.isdisjoint(found):
        return None
    return next((reason for reason in found if reason in ARCHIVABLE and reason in asked), None)
