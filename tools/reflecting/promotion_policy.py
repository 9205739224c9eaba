"""Candidates of reflection, and the policy of their promotion: scope, sources, objections."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self, cast, get_args

from pydantic import BaseModel, Field

from auth.memory_policy import (
    READ_REASONS,
    WRITE_REASON,
    MemoryScopeRequest,
    derived_visibility,
    may_change_memory,
    may_read_memory,
    narrower,
    writable_memory,
)
from auth.policy import MemoryScope, NoProject, Visibility, require_project
from auth.principal import Principal
from auth.visibility import entity_key
from stores.errors import Forbidden, InvalidRequest, NotFound
from stores.records import JsonObject, RawMemory, ReviewState
from tools.frame.operation import Request, Result
from tools.memory.remember import Remembrance
from tools.records.entity_models import CONTENT_LIMIT, EntityId, Label, RelatedTo
from tools.reflecting.duplicates import OPPOSING, Comparison, Statement
from tools.reflecting.reflection.finding import KINDS, Kind, sensitivity_flags
from tools.reflecting.reflection.words import as_said

Read = Callable[[str], RawMemory | None]
_KINDS = (*KINDS, *get_args(Remembrance))


class KeptCandidate(BaseModel):
    """A candidate as reflection kept it."""

    kind: str = "claim"
    title: str = ""
    content: str = ""
    confidence: float | None = None
    tags: list[str] = []
    sensitivity_flags: list[str] = []
    raw_source_ids: list[str] = []
    suggested_memory_scope: MemoryScope | None = None
    suggested_scope_key: str | None = None
    project: str | None = None
    domain: str | None = None
    related_to: list[str] = []
    task_ids: list[str] = []
    metadata: JsonObject = {}
    reflection_findings: list[JsonObject] = []


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate and its readable sources; `lost_sources` are gone or unreadable."""

    memory: RawMemory
    said: KeptCandidate
    sources: Sequence[RawMemory] = ()
    lost_sources: Sequence[str] = ()

    @classmethod
    def read(cls, memory: RawMemory) -> Self:
        return cls(memory, KeptCandidate.model_validate(memory.capture.candidate or {}))

    @property
    def id(self) -> str:
        return self.memory.entity.id

    @property
    def entity_type(self) -> Kind | Remembrance:
        return cast("Kind | Remembrance", self.said.kind) if self.said.kind in _KINDS else "claim"

    @property
    def content(self) -> str:
        return (self.said.content or self.memory.entity.content)[:CONTENT_LIMIT]

    @property
    def statement(self) -> Statement:
        said = self.said
        return Statement(as_said(said.title, self.content), said.kind, self.project, said.raw_source_ids)

    @property
    def sensitivity_flags(self) -> list[str]:
        return list(dict.fromkeys([*self.said.sensitivity_flags, *sensitivity_flags(self.content)]))

    @property
    def project(self) -> str | None:
        return self.said.project or self.memory.entity.project_id


def candidate_for(caller: Principal, candidate_id: str, read: Read) -> Candidate:
    memory = read(candidate_id)
    if memory is None or not may_read_memory(caller, memory.entity.visibility):
        raise NotFound(
            f"reflection_candidate_not_found: reflection candidate not found: {candidate_id}.",
            remediation="List those that wait with GET /api/entities/captures?entity_type=reflection_candidate.",
            details={"field": "body.candidate_id"},
        )
    candidate = Candidate.read(memory)
    named = list(dict.fromkeys(candidate.said.raw_source_ids))
    found = [source for each in named if (source := read(each)) is not None]
    there = {each.entity.id: each for each in found if may_read_memory(caller, each.entity.visibility)}
    return replace(candidate, sources=[*there.values()], lost_sources=[each for each in named if each not in there])


PromotionReason = Literal[
    "promoted", "promotion_preview_allowed", "candidate_not_found", "not_reflection_candidate",
    "candidate_already_promoted", "candidate_archived", "missing_promote_to_scope",
    "promote_to_scope_must_match_broadest_input_scope", "principal_mismatch", "scope_crossing_requires_promotion",
    "scope_not_enabled", "unverified_membership", "missing_scope_key", "raw_memory_not_recallable",
]  # fmt: skip
SETTLED: tuple[PromotionReason, ...] = ("candidate_already_promoted", "candidate_archived")
_WIDTH: Sequence[MemoryScope] = ("private", "delegated", "project", "team", "shared", "organization", "public")
_UNKEYED: Collection[MemoryScope] = ("private", "organization", "public")


class InputScope(Result):
    """The scope of the candidate, or of a raw memory that it was found in."""

    id: str
    memory_scope: MemoryScope
    scope_key: str | None


def candidate_objection(caller: Principal, memory: RawMemory) -> PromotionReason | None:
    if memory.capture.candidate is None:
        return "not_reflection_candidate"
    if memory.capture.review_state == "promoted":
        return "candidate_already_promoted"
    if memory.capture.review_state == "archived":
        return "candidate_archived"
    return None if may_change_memory(caller, memory.entity) else "unverified_membership"


def target_objection(
    target: Visibility | None, inputs: Sequence[InputScope], lost_sources: Collection[str] = ()
) -> PromotionReason | None:
    """Unreadable sources count as lost."""
    if target is None:
        return "missing_promote_to_scope"
    if lost_sources:
        return "raw_memory_not_recallable"
    if target.memory_scope != max((each.memory_scope for each in inputs), key=_WIDTH.index):
        return "promote_to_scope_must_match_broadest_input_scope"
    # Readers of one project or team must not learn the content of another.
    places = {(each.memory_scope, each.scope_key) for each in inputs if each.memory_scope not in _UNKEYED}
    if target.memory_scope not in _UNKEYED:
        places.add((target.memory_scope, target.scope_key))
    return "scope_crossing_requires_promotion" if len(places) > 1 else None


ExceptionReason = Literal[
    "candidate_not_found", "policy_denied", "high_impact_scope", "missing_source", "missing_confidence",
    "low_confidence", "sensitive_candidate", "destructive_candidate", "duplicate_candidate", "contradiction_candidate",
    "stale_candidate",
]  # fmt: skip

THRESHOLD = 0.8
SAFE_SCOPES: frozenset[MemoryScope] = frozenset({"private", "delegated", "project"})
SENSITIVE = frozenset({"credential", "credentials", "key", "pii", "private_key", "secret", "sensitive", "token"})
DESTRUCTIVE = frozenset({"correction", "delete", "deletion", "redact", "redaction", "rollback"})
ARCHIVABLE: frozenset[ExceptionReason] = frozenset({"duplicate_candidate", "stale_candidate"})
_KEPT: frozenset[ExceptionReason] = frozenset({"candidate_not_found", "policy_denied", "contradiction_candidate"})


def archivable(found: Collection[ExceptionReason], asked: Collection[str]) -> ExceptionReason | None:
    if not _KEPT.isdisjoint(found):
        return None
    return next((reason for reason in found if reason in ARCHIVABLE and reason in asked), None)


Outcome = Literal["auto_promote", "exception", "skip"]
Action = Literal["promote", "route_to_review", "skip"]


class Reviewed(Result):
    """Fields of every answer about a candidate."""

    candidate_id: str
    reason: str
    review_state: ReviewState
    raw_source_ids: list[str]
    policy_reasons: list[str]


class PromotionFields(Request):
    """Target and links of a promotion."""

    promote_to_scope: MemoryScope | None = Field(None, description="Scope of the record; default: the suggested one.")
    promote_to_scope_key: EntityId | None = Field(None, description="Key of that scope; default: the suggested one.")
    domain: Label | None = Field(None, description="Field of knowledge; without one, that of the notes.")
    project: EntityId | None = Field(None, description="Id of its project; without one, that of the notes.")
    related_to: RelatedTo = Field([], description="Ids to link it to, each plain or as `relationship:id`.")


class ReviewFields(PromotionFields):
    """Fields of a review without a person."""

    confidence_threshold: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description=f"Least confidence that is promoted unseen; without one, {THRESHOLD}."
    )

    @property
    def threshold(self) -> float:
        return THRESHOLD if self.confidence_threshold is None else self.confidence_threshold


class PromoteRequest(PromotionFields):
    """A candidate to promote."""

    candidate_id: EntityId = Field(description="Id of the candidate: its `persisted_id` in the reflection pack.")


class EditedRequest(PromoteRequest):
    content: str | None


@dataclass(frozen=True, slots=True)
class Considered:
    request: PromoteRequest
    candidate: Candidate
    target: Visibility | None
    """Requested place; its key is empty if it is refused."""
    place: Visibility | None
    """Visibility of the new record: the narrower of target and sources."""
    project: str | None
    inputs: Sequence[InputScope]
    refusal: PromotionReason | None
    compared: Comparison

    @property
    def is_over(self) -> bool:
        return self.refusal in SETTLED

    @property
    def policy_reasons(self) -> list[str]:
        if self.refusal is not None:
            return [self.refusal]
        found = [WRITE_REASON, *(READ_REASONS[each.memory_scope] for each in self.inputs)]
        if self.place and self.target and self.place.memory_scope != self.target.memory_scope:
            found.append("narrowest_source_scope")
        return list(dict.fromkeys(found))

    @property
    def described(self) -> dict[str, Any]:
        """The fields of every answer that do not depend on the outcome."""
        said, metadata = self.candidate.said, JsonObject()
        if self.candidate.memory.capture.candidate is not None:
            metadata = {
                "kind": said.kind,
                "confidence": said.confidence,
                "project": self.project,
                "domain": said.domain,
                "findings": [
                    {
                        "kind": each.kind,
                        "target_source_id": each.entity.id,
                        "reason": each.reason,
                        "policy_reasons": [] if each.is_for_all else ["known_to_fewer_readers"],
                    }
                    for each in self.compared.known
                ],
            }
        return {
            "candidate_id": self.candidate.id,
            "raw_source_ids": said.raw_source_ids,
            "policy_reasons": self.policy_reasons,
            "metadata": metadata,
        }

    def exceptions(self, threshold: float) -> list[ExceptionReason]:
        """Return the reasons for a review by a person, in the agreed order."""
        candidate, confidence = self.candidate, self.candidate.said.confidence
        labels = {label.lower() for label in (*candidate.sensitivity_flags, *candidate.said.tags)}
        kinds: set[object] = {each.kind for each in self.compared.known if each.is_for_all or each.kind in OPPOSING}
        if self.compared.fault is not None:
            kinds |= {each.get("kind") for each in candidate.said.reflection_findings}
        found: dict[ExceptionReason, bool] = {
            "policy_denied": self.refusal is not None,
            "high_impact_scope": self.target is not None and self.target.memory_scope not in SAFE_SCOPES,
            "missing_source": not candidate.sources or bool(candidate.lost_sources),
            "missing_confidence": confidence is None,
            "low_confidence": confidence is not None and confidence < threshold,
            "sensitive_candidate": not SENSITIVE.isdisjoint(labels),
            "destructive_candidate": candidate.said.kind.lower() in DESTRUCTIVE,
            "duplicate_candidate": "duplicate" in kinds,
            "contradiction_candidate": not kinds.isdisjoint(OPPOSING),
            "stale_candidate": "stale" in kinds,
        }
        return [reason for reason, applies in found.items() if applies]

    def archivable(self, threshold: float, asked: Collection[str]) -> ExceptionReason | None:
        reason = archivable(self.exceptions(threshold), asked)
        is_certain = any(each.kind == "duplicate" and each.is_certain for each in self.compared.known)
        return None if reason == "duplicate_candidate" and not is_certain else reason


def consider(caller: Principal, request: PromoteRequest, read: Read) -> Considered:
    candidate = candidate_for(caller, request.candidate_id, read)
    scope, key, project = _wanted(caller, candidate, request)
    target, unwritable = (None, None) if scope is None else _target(caller, MemoryScopeRequest(scope, key, project))
    sources = [candidate.memory, *candidate.sources]
    inputs = [InputScope.of(each.entity) for each in sources]
    refusal = (
        candidate_objection(caller, candidate.memory)
        or unwritable
        or target_objection(target, inputs, candidate.lost_sources)
    )
    place = target if unwritable is None else None
    for source in sources if place is not None else ():
        place = narrower(place, derived_visibility(source.entity)) if place is not None else None
    return Considered(request, candidate, target, place, project, inputs, refusal, Comparison(candidate.statement))


def _wanted(
    caller: Principal, candidate: Candidate, request: PromoteRequest
) -> tuple[MemoryScope | None, str | None, str | None]:
    said = candidate.said
    scope = request.promote_to_scope or said.suggested_memory_scope
    key = request.promote_to_scope_key
    if key is None and scope == said.suggested_memory_scope:
        key = said.suggested_scope_key
    if scope == "project":
        key = key or request.project or candidate.project
        return scope, key, request.project or key
    if request.project is not None:
        require_project(caller, request.project)
        return scope, key, request.project
    own = candidate.project
    return scope, key, own if own is not None and caller.may_write_in(own) else None


def _target(caller: Principal, wanted: MemoryScopeRequest) -> tuple[Visibility, PromotionReason | None]:
    refused = Visibility("", wanted.scope, wanted.scope_key)
    try:
        place = writable_memory(caller, wanted)
    except InvalidRequest as error:
        if error.message not in _REFUSALS:
            raise
        return refused, _REFUSALS[error.message]
    except (Forbidden, NoProject) as error:
        return refused, _REFUSALS.get(error.message.partition(":")[0], "unverified_membership")
    return replace(place, key=entity_key(place.key)), None


_REFUSALS: dict[str, PromotionReason] = {
    "missing_scope_key": "missing_scope_key",
    "private_scope_key_mismatch": "principal_mismatch",
    "scope_not_enabled": "scope_not_enabled",
}
