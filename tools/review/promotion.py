"""Whether a candidate may become a record of a scope, and the word for why not. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from auth.policy import MemoryScope
from stores.records import ReviewState

PromotionReason = Literal[
    "promoted",
    "promotion_preview_allowed",
    "candidate_not_found",
    "not_reflection_candidate",
    "candidate_already_promoted",
    "candidate_archived",
    "missing_promote_to_scope",
    "promote_to_scope_must_match_broadest_input_scope",
    "principal_mismatch",
    "scope_crossing_requires_promotion",
    "scope_not_enabled",
    "unverified_membership",
    "missing_scope_key",
    "raw_memory_not_recallable",
]
_WIDTH: Sequence[MemoryScope] = ("private", "delegated", "project", "team", "shared", "organization", "public")
"""The scopes, from the narrowest to the broadest."""
_UNKEYED: Collection[MemoryScope] = ("private", "organization", "public")


@dataclass(frozen=True, slots=True)
class Input:
    """The scope of a candidate, or of a raw memory that it was found in."""

    id: str
    memory_scope: MemoryScope
    scope_key: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """Where a candidate is to go, and the word for why its reviewer may not write there."""

    memory_scope: MemoryScope
    scope_key: str | None
    refusal: PromotionReason | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A promotion that somebody asks for."""

    review_state: ReviewState | None
    """Of the candidate; None where there is none for the reviewer."""
    is_candidate: bool = True
    """Whether it was found by reflection; else it is what somebody said."""
    may_review: bool = True
    """Whether the reviewer may say what becomes of it."""
    target: Target | None = None
    inputs: Sequence[Input] = ()
    """The candidate's own scope, and those of its sources that the reviewer may read."""
    lost_sources: Collection[str] = ()
    """Sources that there are not any more, or not for the reviewer."""


def objection(proposal: Proposal) -> PromotionReason | None:
    """Return the first reason against a promotion; None where there is none."""
    return _of_candidate(proposal) or _of_target(proposal) or _of_inputs(proposal)


def broadest(inputs: Sequence[Input]) -> Input:
    """Return the input that the most people may read; the first of equals."""
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
    if proposal.target is None:
        return "missing_promote_to_scope"
    return proposal.target.refusal


def _of_inputs(proposal: Proposal) -> PromotionReason | None:
    if proposal.lost_sources:
        return "raw_memory_not_recallable"
    target = proposal.target
    if target is None or target.memory_scope != broadest(proposal.inputs).memory_scope:
        return "promote_to_scope_must_match_broadest_input_scope"
    # Of two projects, or of a project and a team, neither's readers may learn what the other's said.
    places = {(each.memory_scope, each.scope_key) for each in proposal.inputs if each.memory_scope not in _UNKEYED}
    if target.memory_scope not in _UNKEYED:
        places.add((target.memory_scope, target.scope_key))
    return "scope_crossing_requires_promotion" if len(places) > 1 else None
