"""Review of what reflection found: what may be promoted where, and what a person has to look at. Pure."""

from tools.review.exceptions import (
    ARCHIVABLE,
    SAFE_SCOPES,
    THRESHOLD,
    ExceptionReason,
    Review,
    Standing,
    archivable,
    exceptions_of,
)
from tools.review.promotion import Input, PromotionReason, Proposal, Target, broadest, objection

__all__ = [
    "ARCHIVABLE",
    "SAFE_SCOPES",
    "THRESHOLD",
    "ExceptionReason",
    "Input",
    "PromotionReason",
    "Proposal",
    "Review",
    "Standing",
    "Target",
    "archivable",
    "broadest",
    "exceptions_of",
    "objection",
]
