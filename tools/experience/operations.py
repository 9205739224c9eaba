"""The verb record_experience, and reading of its evidence."""

import hashlib
import json
from typing import Any, Literal

from pydantic import Field

from auth.memory_policy import may_read_memory
from auth.policy import NoProject, require_project
from stores.errors import Conflict, NotFound, ValidationFailed
from tools.app import App
from tools.experience.payload import EVIDENCE_LIMIT, Identifier, RecordExperienceRequest
from tools.experience.projections import manifest_id
from tools.experience.publishing import DISTILL, EMBED, Published, publish
from tools.frame.json_values import StoredJson
from tools.frame.operation import WRITERS, Call, Request, Result, Route, Tool, entry, mutation
from tools.frame.threads import in_thread
from tools.records.derivation import EVIDENCE, OUTLINE, REVISION, ExperienceRevision, ExperienceState, memory_id_of
from tools.records.entity_models import MutationReceipt
from tools.records.projects import ProjectNames
from tools.records.receipts import capture_receipt
from tools.records.storing import until_visible

PATH = "/api/memory/experience"
BODY_LIMIT = 96 * 1024 * 1024
EXCERPT_LIMIT = 1_000_000


class EmbeddingBackfill(Result):
    """Job that waits for the vectors and completes the manifest."""

    status: Literal["queued", "degraded"] = "queued"
    job_ids: list[str]
    queued_entities: int
    queued_relationships: int = Field(0, description="Always 0: relationships have no vectors.")
    error: str | None = None


class NoteDistillation(Result):
    """Job that distils notes."""

    status: Literal["queued", "degraded", "skipped"] = Field(description="`skipped`: no notes were requested.")
    job_ids: list[str]
    queued_sources: int
    error: str | None = None


class ExperienceJobs(Result):
    """Work that follows."""

    embedding_backfill: EmbeddingBackfill
    note_distillation: NoteDistillation


class ExperienceReceipt(Result):
    """Outcome of a publication."""

    source_id: str
    manifest_id: str
    content_hash: str = Field(description="SHA-256 of the experience; the same content has the same hash.")
    written_entities: int
    written_relationships: int
    deleted_entities: int = Field(0, description="Always 0: nothing is deleted.")
    deleted_relationships: int = Field(0, description="Always 0: nothing is deleted.")
    retired_entities: int = Field(description="Records and notes that this revision omits; they are kept, unavailable.")
    retired_relationships: int = Field(description="Relationships that this revision omits; they have ended.")
    entity_ids: list[str] = Field(description="The manifest, the procedure, and the sessions by step.")
    relationship_ids: list[str]
    background_jobs: ExperienceJobs
    mutation_receipt: MutationReceipt


@mutation(
    Route("POST", PATH, status=201, tag="memory", body_limit=BODY_LIMIT, errors=(404, 409, 429)),
    roles=WRITERS,
    tool=Tool(
        "Record an experience",
        read_only=False,
        idempotent=True,
        toolset="experience",
        omit_result=frozenset({"entity_ids", "relationship_ids", "deleted_entities", "deleted_relationships"}),
    ),
    events=("entity_created", "entity_updated", "raw_capture_changed"),
)
async def record_experience(app: App, call: Call, request: RecordExperienceRequest) -> ExperienceReceipt:
    """Keep a run: its goal, each step with what was seen, and the reported outcome, which counts as unverified.

    Sending the same `source_id` again revises it: what the new revision omits becomes unavailable.
    """
    request = await in_thread(_in_project, app, call, request)
    home = await in_thread(app.accounts.home_of, call.caller.user_id)
    done = await in_thread(publish, app.ledger, home, call, request)
    if not request.defer_embeddings:
        await until_visible(app, call.caller, done.sequence, [*done.revision.entities])
    return _receipt(app, call, done)


def _in_project(app: App, call: Call, request: RecordExperienceRequest) -> RecordExperienceRequest:
    said = request.experience.project_id
    if said is None:
        raise ValidationFailed(
            "An operational experience requires a project_id.",
            remediation="Send the id of a project in which you are a contributor.",
            details={"field": "body.experience.project_id", "expected": "id of a project"},
        )
    project_id = ProjectNames(app, call.caller).id_of(said)
    if project_id is None:
        raise NoProject(said)
    require_project(call.caller, project_id)
    return request.model_copy(update={"experience": request.experience.model_copy(update={"project_id": project_id})})


def _receipt(app: App, call: Call, done: Published) -> ExperienceReceipt:
    revision, kept, distilling = done.revision, done.kept, done.jobs.get(DISTILL)
    manifest, source_id = next(iter(revision.entities)), done.memory.capture.source_id
    return ExperienceReceipt(
        source_id=source_id,
        manifest_id=manifest,
        content_hash=revision.content_hash,
        written_entities=kept.written_entities,
        written_relationships=kept.written_relations,
        retired_entities=len(kept.retired_entities),
        retired_relationships=kept.retired_relations,
        entity_ids=[*revision.entities],
        relationship_ids=[*revision.relations.values()],
        background_jobs=ExperienceJobs(
            embedding_backfill=EmbeddingBackfill(job_ids=[done.jobs[EMBED]], queued_entities=len(revision.entities)),
            note_distillation=NoteDistillation(status="skipped", job_ids=[], queued_sources=0)
            if distilling is None
            else NoteDistillation(status="queued", job_ids=[distilling], queued_sources=1),
        ),
        mutation_receipt=capture_receipt(app, call, [done.memory.entity.id], [manifest]),
    )


class ExperienceEvidenceRequest(Request):
    """An experience, or one part of its evidence."""

    source_id: Identifier = Field(description="The run's own id.")
    observation_id: Identifier | None = Field(None, description="The step that the evidence belongs to.")
    evidence_id: Identifier | None = Field(None, description="The part; without it, the outline alone.")
    offset: int = Field(0, ge=0, le=EVIDENCE_LIMIT, description="Characters of the part to skip.")
    content_max_chars: int = Field(18_000, ge=1, le=EXCERPT_LIMIT, description="Most characters of the part.")


class EvidenceView(Result):
    """An experience as it was sent."""

    source_id: str
    manifest_id: str
    content_hash: str
    state: ExperienceState = Field(description="`complete` once every index shows its records.")
    revision: int = Field(description="Revision of the source, from 1.")
    experience: StoredJson | None = Field(
        description="Without evidence_id: the sent run, with the size and SHA-256 of evidence instead of its text."
    )
    content: str | None = Field(description="The part that was asked for, verbatim.")
    has_more: bool = Field(description="True if the part is longer.")


@entry(
    Route("GET", PATH, tag="memory", errors=(404, 409)),
    tool=Tool("Read evidence", read_only=True, toolset="experience"),
)
def experience_evidence(app: App, call: Call, request: ExperienceEvidenceRequest) -> EvidenceView:
    """Read an experience as it was sent: its outline, and one part of its evidence, verbatim."""
    organization, manifest = call.caller.organization_id, manifest_id(request.source_id)
    memory_id, payloads = memory_id_of(manifest), app.ledger.payloads
    memory = app.ledger.memories.memory(organization, memory_id)
    revision = ExperienceRevision.read(payloads.text(organization, memory_id, REVISION))
    told = payloads.text(organization, memory_id, OUTLINE)
    is_readable = memory is not None and may_read_memory(call.caller, memory.entity.visibility)
    if not is_readable or told is None or revision is None:
        raise NotFound(f"There is no experience {request.source_id[:200]}.", remediation="Check its source_id.")
    outline, text = json.loads(told), ""
    if request.evidence_id is not None:
        place, digest = _part_of(outline, request.observation_id or "", request.evidence_id)
        text = payloads.text(organization, memory_id, EVIDENCE + place) or ""
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            raise Conflict("The experience was revised while it was read.", remediation="Read it again.")
    end = request.offset + request.content_max_chars
    return EvidenceView.of(
        revision,
        source_id=request.source_id,
        manifest_id=manifest,
        revision=revision.number,
        experience=outline if request.evidence_id is None else None,
        content=None if request.evidence_id is None else text[request.offset : end],
        has_more=len(text) > end,
    )


def _part_of(outline: dict[str, Any], observation_id: str, evidence_id: str) -> tuple[int, str]:
    parts = ((step["id"], part) for step in outline["observations"] for part in step["evidence"])
    for place, (step_id, part) in enumerate(parts):
        if (step_id, part["id"]) == (observation_id, evidence_id):
            return place, part["sha256"]
    raise NotFound(
        f"The observation {observation_id[:200]} has no evidence part {evidence_id[:200]}.",
        remediation="Read the experience without evidence_id: it names all parts.",
    )
