"""Reflection candidates: wire shapes, findings, claims and relations."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from auth.policy import MemoryScope, Visibility, reaches_readers_of
from auth.principal import Principal
from stores.records import Entity, JsonObject, RawMemory, ReviewState
from tools.app import App
from tools.frame.json_values import without_none
from tools.frame.operation import Request, Result
from tools.packs.facets import Intent
from tools.records.entity_models import EntityId, Label, MutationReceipt, RelatedTo
from tools.records.linking import referred, require_target
from tools.reflecting.duplicates import OPPOSING, STATING, Comparison, RelatedRecord, Relationship
from tools.reflecting.reflection.finding import Finding, Kind
from tools.work.tasks import active_task

NOTES_LIMIT = 500_000
TITLE_LIMIT = 300
CITED_LIMIT = 100
FindingKind = Literal[
    "claim", "duplicate", "stale", "contradiction", "supersession", "promotion", "correction", "exception"
]
Lifecycle = Literal["active", "contested", "superseded", "archived", "deleted"]


def _split(cited: object) -> object:
    return [each for each in cited.replace(",", " ").split() if each] if isinstance(cited, str) else cited


CitedIds = Annotated[
    list[EntityId], BeforeValidator(_split, json_schema_input_type=list[str] | str), Field(max_length=CITED_LIMIT)
]


class ReflectRequest(Request):
    """Notes to read, and the treatment of the findings."""

    content: Annotated[str, StringConstraints(min_length=1, max_length=NOTES_LIMIT, pattern=r"\S")] = Field(
        description="The notes of a session, as plain text."
    )
    source_title: Annotated[str, StringConstraints(min_length=1, max_length=TITLE_LIMIT)] = Field(
        "Session reflection", description="Title of the notes."
    )
    intent: Intent = Field("general", description="Purpose of the session; kept with the findings.")
    domain: Label | None = Field(None, description="Field of knowledge; kept with the findings.")
    project: EntityId | None = Field(None, description="Id of the project that the notes belong to.")
    memory_scope: MemoryScope | None = Field(None, description="Readers; default: members of `project`, else only you.")
    scope_key: EntityId | None = Field(None, description="Team or memory space.")
    cited_ids: CitedIds = Field([], description="Ids of records that helped in the session.")
    related_to: RelatedTo | None = Field(None, description="Ids to link the records to, also as `relationship:id`.")
    task_ids: Annotated[list[EntityId], Field(max_length=100)] | None = Field(
        None, description="Ids of tasks to link the stored records to."
    )
    active_task: bool = Field(True, description="Link the stored records to the active task.")
    persist: bool = Field(False, description="Keep the candidates as records of the graph.")
    persist_source: bool = Field(True, description="Keep the notes to the letter, as a raw memory.")
    persist_review: bool = Field(False, description="Keep the candidates in the review queue instead of the graph.")
    limit: int = Field(12, ge=1, le=25, description="Most candidates; the surest are returned.")


class ClaimRecord(Result):
    """Something that a candidate holds to be true."""

    id: str
    title: str
    content: str
    confidence: float
    source_ids: list[str]
    raw_source_ids: list[str]
    memory_scope: MemoryScope
    scope_key: str | None
    validity: Lifecycle
    freshness: Literal["current", "stale"]
    supports_source_ids: list[str]
    contradicts_source_ids: list[str]
    supersedes_source_ids: list[str]
    superseded_by_source_id: str | None
    created_at: datetime
    metadata: JsonObject


class ReflectionFinding(Result):
    """Relation of a candidate to existing knowledge."""

    id: str
    kind: FindingKind
    target_source_id: str | None
    reason: str
    confidence: float
    action: str
    lifecycle_state: Lifecycle
    source_ids: list[str]
    related_source_ids: list[str]
    policy_reasons: list[str]
    reversible: bool
    created_at: datetime
    metadata: JsonObject


class RelationshipRecord(Result):
    """A relation that a candidate has where it is kept, or would have."""

    source_id: str
    target_id: str
    relationship_type: str
    reason: str
    confidence: float
    source_ids: list[str]
    created_at: datetime
    metadata: JsonObject


class ReflectionCandidate(Result):
    """Something in the notes that is worth keeping."""

    kind: Kind
    title: str
    content: str
    reason: str
    confidence: float
    tags: list[str]
    metadata: JsonObject
    raw_source_ids: list[str]
    suggested_memory_scope: MemoryScope | None
    suggested_scope_key: str | None
    review_state: ReviewState
    persisted_id: str | None
    claim_records: list[ClaimRecord]
    reflection_findings: list[ReflectionFinding]
    relationship_records: list[RelationshipRecord]
    sensitivity_flags: list[str]


class ReflectionPack(Result):
    """Candidates found in the notes, and their outcome."""

    candidates: list[ReflectionCandidate]
    total_candidates: int
    persisted_count: int
    markdown: str
    source_title: str
    source_id: str | None
    readable_by: str | None = Field(description="Readers of the stored records, in words.")
    intent: Intent
    domain: str | None
    project: str | None
    citation_usage: JsonObject
    usage_hint: str
    extraction: JsonObject
    mutation_receipt: MutationReceipt | None = None


@dataclass(frozen=True, slots=True)
class Tie:
    name: str
    target: Entity
    field: str
    is_for_all: bool = False
    """Every reader of the kept record may read the target."""

    @property
    def types(self) -> tuple[str, ...]:
        return () if self.field == "related_to" else ("task",)

    @property
    def reason(self) -> str:
        return "The task that was being worked on." if self.field == "active_task" else f"Named in {self.field}."


def ties(app: App, caller: Principal, request: ReflectRequest, visibility: str) -> list[Tie]:
    """Read the targets of the requested relations; `visibility` is the key of kept records."""
    named = [(*referred(each), "related_to") for each in request.related_to or ()]
    named += [("RELATED_TO", each, "task_ids") for each in request.task_ids or ()]
    there = app.ledger.records.entities(caller.organization_id, {target_id for _, target_id, _ in named})
    found: dict[tuple[str, str], Tie] = {}
    for name, target_id, named_in in named:
        types = ("task",) if named_in == "task_ids" else ()
        target = require_target(caller, there.get(target_id), target_id, named_in, types)
        found.setdefault((name, target_id), Tie(name, target, named_in))
    active = active_task(app, caller, request.project) if request.active_task else None
    if active is not None:
        found.setdefault(("RELATED_TO", active.id), Tie("RELATED_TO", active, "active_task"))
    return [
        replace(tie, is_for_all=reaches_readers_of(caller, tie.target.visibility, visibility)) for tie in found.values()
    ]


ADVICE: dict[Relationship, tuple[str, Lifecycle]] = {
    "duplicate": ("link_existing", "active"),
    "stale": ("keep_current", "superseded"),
    "contradiction": ("review", "contested"),
    "supersession": ("supersede", "contested"),
}
"""Recommended action, and state of the known record."""


@dataclass(frozen=True, slots=True)
class Reflection:
    """Findings in notes, and the records compared with each."""

    request: ReflectRequest
    place: Visibility
    ties: Sequence[Tie]
    now: datetime
    extractor: str
    findings: Sequence[Finding]
    compared: Sequence[Comparison]


@dataclass(slots=True)
class Stored:
    """Outcome of the persistence of a reflection; `record_ids` is by index of the finding."""

    source: RawMemory | None = None
    memory_ids: list[str] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    record_ids: dict[int, str] = field(default_factory=dict)
    count: int = 0

    @property
    def source_id(self) -> str | None:
        return None if self.source is None else self.source.entity.id

    @property
    def source_ids(self) -> list[str]:
        return [] if self.source is None else [self.source.entity.id]


def candidate(made: Reflection, number: int, known: Sequence[RelatedRecord], stored: Stored) -> ReflectionCandidate:
    """Describe the finding with this number, and its stored record."""
    finding, sources, record_id = made.findings[number], stored.source_ids, stored.record_ids.get(number)
    given: JsonObject = {"domain": made.request.domain, "project_id": made.request.project}
    shared: dict[str, Any] = {"source_ids": sources, "created_at": made.now}
    return ReflectionCandidate.of(
        finding,
        tags=list(finding.tags),
        metadata={
            **finding.place,
            "count": finding.count,
            "extractor": made.extractor,
            "intent": made.request.intent,
            **without_none(given),
        },
        raw_source_ids=sources,
        suggested_memory_scope=made.place.memory_scope,
        suggested_scope_key=made.place.scope_key,
        review_state="pending",
        persisted_id=record_id,
        claim_records=[_claim(made, finding, known, shared)] if finding.kind in STATING else [],
        reflection_findings=_findings(finding, known, shared),
        relationship_records=_relations(made, finding, known, record_id, shared),
        sensitivity_flags=list(finding.sensitivity_flags),
    )


def _claim(made: Reflection, finding: Finding, known: Sequence[RelatedRecord], shared: dict[str, Any]) -> ClaimRecord:
    by_kind = {kind: [each.entity.id for each in known if each.kind == kind] for kind in ADVICE}
    opposed = by_kind["contradiction"] + by_kind["supersession"]
    retired = [each for each in known if each.kind == "stale"]
    return ClaimRecord.of(
        finding,
        id=_id("claim", finding.kind, finding.content),
        raw_source_ids=shared["source_ids"],
        memory_scope=made.place.memory_scope,
        scope_key=made.place.scope_key,
        validity="superseded" if retired else "contested" if opposed else "active",
        freshness="stale" if retired else "current",
        supports_source_ids=by_kind["duplicate"],
        contradicts_source_ids=by_kind["contradiction"],
        supersedes_source_ids=by_kind["supersession"],
        superseded_by_source_id=next((each.beside.id for each in retired if each.beside), None),
        metadata=finding.place,
        **shared,
    )


def _findings(finding: Finding, known: Sequence[RelatedRecord], shared: dict[str, Any]) -> list[ReflectionFinding]:
    shared = {**shared, "reversible": True}
    found = []
    for each in known:
        action, state = ADVICE[each.kind]
        is_doubtful = each.kind == "duplicate" and not each.is_settled
        found.append(
            ReflectionFinding.of(
                each,
                id=_id("finding", each.kind, finding.content, each.entity.id),
                target_source_id=each.entity.id,
                action="keep_both" if is_doubtful else action,
                lifecycle_state=state,
                related_source_ids=[each.beside.id] if each.beside else [],
                policy_reasons=[] if each.kind != "duplicate" or each.is_for_all else ["known_to_fewer_readers"],
                metadata={"name": each.entity.name, "entity_type": each.entity.entity_type},
                **shared,
            )
        )
    if finding.sensitivity_flags:
        found.append(
            ReflectionFinding(
                id=_id("finding", "exception", finding.content),
                kind="exception",
                target_source_id=None,
                reason=f"It seems to hold something sensitive: {', '.join(finding.sensitivity_flags)}.",
                confidence=finding.confidence,
                action="route_to_review",
                lifecycle_state="active",
                related_source_ids=[],
                policy_reasons=["sensitive_candidate"],
                metadata={"sensitivity_flags": list(finding.sensitivity_flags)},
                **shared,
            )
        )
    return found


def _relations(
    made: Reflection, finding: Finding, known: Sequence[RelatedRecord], record_id: str | None, shared: dict[str, Any]
) -> list[RelationshipRecord]:
    found = [(tie.name, tie.target.id, tie.reason, 1.0, tie.field) for tie in made.ties]
    found += [
        ("CONTRADICTS", each.entity.id, each.reason, each.confidence, "reflection")
        for each in known
        if each.kind in OPPOSING
    ]
    return [
        RelationshipRecord(
            source_id=record_id or _id("candidate", finding.kind, finding.content),
            target_id=target_id,
            relationship_type=name,
            reason=reason,
            confidence=confidence,
            metadata={"from": field},
            **shared,
        )
        for name, target_id, reason, confidence, field in found
    ]


def _id(prefix: str, *parts: str) -> str:
    return f"{prefix}_{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:12]}"
