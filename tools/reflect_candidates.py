"""What is said of each candidate: findings, claims and relations, as its readers may see them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from auth.policy import Visibility
from stores.records import JsonObject
from tools.known import OPPOSING, STATING, Known, Relationship
from tools.reflect_models import (
    ClaimRecord,
    Lifecycle,
    ReflectionCandidate,
    ReflectionFinding,
    ReflectRequest,
    RelationshipRecord,
)
from tools.reflect_ties import Tie
from tools.reflection import Finding

ACTIONS: dict[Relationship, str] = {
    "duplicate": "link_existing",
    "stale": "keep_current",
    "contradiction": "review",
    "supersession": "supersede",
}
"""What a reviewer would do about it."""
STATES: dict[Relationship, Lifecycle] = {
    "duplicate": "active",
    "stale": "superseded",
    "contradiction": "contested",
    "supersession": "contested",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What all candidates of one reflection share."""

    request: ReflectRequest
    place: Visibility
    """Where what is kept is readable."""
    ties: Sequence[Tie]
    now: datetime
    extractor: str
    """`rules` or `model`."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a finding: the notes that are kept, and what was made of it."""

    source_id: str | None = None
    record_id: str | None = None


def candidate(setting: Setting, finding: Finding, known: Sequence[Known], kept: Kept) -> ReflectionCandidate:
    """Say everything about one finding. `known` is what the readers of the candidate may know of."""
    sources = [kept.source_id] if kept.source_id else []
    key = kept.record_id or _id("candidate", finding.kind, finding.content)
    return ReflectionCandidate(
        kind=finding.kind,
        title=finding.title,
        content=finding.content,
        reason=finding.reason,
        confidence=finding.confidence,
        tags=list(finding.tags),
        metadata=_metadata(setting, finding),
        raw_source_ids=list(sources),
        suggested_memory_scope=setting.place.memory_scope,
        suggested_scope_key=setting.place.scope_key,
        review_state="pending",
        persisted_id=kept.record_id,
        claim_records=_claims(setting, finding, known, sources),
        reflection_findings=[*(_said(setting, finding, each, sources) for each in known),
                             *_exceptions(setting, finding, sources)],
        relationship_records=_relations(setting, finding, known, key, sources),
        sensitivity_flags=list(finding.sensitivity_flags),
    )  # fmt: skip


def _metadata(setting: Setting, finding: Finding) -> JsonObject:
    request = setting.request
    found: JsonObject = {
        "span": {"start": finding.start, "end": finding.end},
        "count": finding.count,
        "extractor": setting.extractor,
        "intent": request.intent,
    }
    given: JsonObject = {"domain": request.domain, "project_id": request.project}
    return found | {key: value for key, value in given.items() if value is not None}


def _claims(setting: Setting, finding: Finding, known: Sequence[Known], sources: list[str]) -> list[ClaimRecord]:
    if finding.kind not in STATING:
        return []
    by_kind = {kind: [each.entity.id for each in known if each.kind == kind] for kind in ACTIONS}
    opposed = by_kind["contradiction"] + by_kind["supersession"]
    retired = [each for each in known if each.kind == "stale"]
    return [
        ClaimRecord(
            id=_id("claim", finding.kind, finding.content),
            title=finding.title,
            content=finding.content,
            confidence=finding.confidence,
            source_ids=list(sources),
            raw_source_ids=list(sources),
            memory_scope=setting.place.memory_scope,
            scope_key=setting.place.scope_key,
            validity="superseded" if retired else "contested" if opposed else "active",
            freshness="stale" if retired else "current",
            supports_source_ids=by_kind["duplicate"],
            contradicts_source_ids=by_kind["contradiction"],
            supersedes_source_ids=by_kind["supersession"],
            superseded_by_source_id=next((each.beside.id for each in retired if each.beside), None),
            created_at=setting.now,
            metadata={"span": {"start": finding.start, "end": finding.end}},
        )
    ]


def _action(known: Known) -> str:
    """What is to be done about a record that is known; one that may say something else is no reason to keep nothing."""
    is_other = known.kind == "duplicate" and not (known.is_for_all and known.is_certain)
    return "keep_both" if is_other else ACTIONS[known.kind]


def _said(setting: Setting, finding: Finding, known: Known, sources: list[str]) -> ReflectionFinding:
    return ReflectionFinding(
        id=_id("finding", known.kind, finding.content, known.entity.id),
        kind=known.kind,
        target_source_id=known.entity.id,
        reason=known.reason,
        confidence=known.confidence,
        action=_action(known),
        lifecycle_state=STATES[known.kind],
        source_ids=list(sources),
        related_source_ids=[known.beside.id] if known.beside else [],
        policy_reasons=[] if known.kind != "duplicate" or known.is_for_all else ["known_to_fewer_readers"],
        reversible=True,
        created_at=setting.now,
        metadata={"name": known.entity.name, "entity_type": known.entity.entity_type},
    )


def _exceptions(setting: Setting, finding: Finding, sources: list[str]) -> list[ReflectionFinding]:
    """What has to be looked at by somebody before others may read it."""
    if not finding.sensitivity_flags:
        return []
    return [
        ReflectionFinding(
            id=_id("finding", "exception", finding.content),
            kind="exception",
            target_source_id=None,
            reason=f"It seems to hold something sensitive: {', '.join(finding.sensitivity_flags)}.",
            confidence=finding.confidence,
            action="route_to_review",
            lifecycle_state="active",
            source_ids=list(sources),
            related_source_ids=[],
            policy_reasons=["sensitive_candidate"],
            reversible=True,
            created_at=setting.now,
            metadata={"sensitivity_flags": list(finding.sensitivity_flags)},
        )
    ]


def _relations(
    setting: Setting, finding: Finding, known: Sequence[Known], key: str, sources: list[str]
) -> list[RelationshipRecord]:
    found = [(tie.name, tie.target.id, tie.reason, 1.0, tie.field) for tie in setting.ties]
    found += [
        ("CONTRADICTS", each.entity.id, each.reason, each.confidence, "reflection")
        for each in known
        if each.kind in OPPOSING
    ]
    return [
        RelationshipRecord(
            source_id=key,
            target_id=target_id,
            relationship_type=name,
            reason=reason,
            confidence=confidence,
            source_ids=list(sources),
            created_at=setting.now,
            metadata={"from": field},
        )
        for name, target_id, reason, confidence, field in found
    ]


def _id(prefix: str, *parts: str) -> str:
    """An id that is the same for the same thing."""
    return f"{prefix}_{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:12]}"
