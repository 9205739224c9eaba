"""Wire shapes of synthesis: requests, run and document."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from stores.errors import EngrainError, Forbidden
from tools.frame.json_values import StoredJson
from tools.frame.operation import Request, Result
from tools.records.entity_models import EntityId, Label, MutationReceipt
from tools.synthesis.templates import MOST_SECTIONS, Depth, OutputType

GOAL_LIMIT, AUDIENCE_LIMIT, PROMPT_LIMIT = 1_000, 500, 2_000
PINNED_LIMIT, REQUIRED_LIMIT, CONSTRAINTS_LIMIT, TAGS_LIMIT = 100, 50, 50, 50

OutputFormat = Literal["markdown", "json"]
GapReason = Literal[
    "required_source_ids_not_found",
    "no_source_supports_requested_section",
    "no_materialized_sources",
    "no_citable_sources",
    "missing_freshness_metadata",
    "unresolved_claim",
]


def _listed(given: object) -> object:
    return [] if given is None else given


Pinned = Annotated[list[EntityId], BeforeValidator(_listed), Field(max_length=PINNED_LIMIT)]
Constraint = Annotated[str, StringConstraints(min_length=1, max_length=GOAL_LIMIT)]


class RequiredSection(Request):
    """A section that somebody wants."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")] = Field(
        description="Heading; it is searched for."
    )
    prompt: Annotated[str, StringConstraints(max_length=PROMPT_LIMIT)] = Field(
        "", description="Subject of the section; searched for as well."
    )
    required_source_ids: Annotated[list[EntityId], BeforeValidator(_listed), Field(max_length=REQUIRED_LIMIT)] = Field(
        [], description="Records it must rest on."
    )


class _OfProject(Request):
    @staticmethod
    def project_refusal(project: str) -> EngrainError:
        return Forbidden(
            f"project_access_denied: there is no project {project} that you may read.",
            remediation="List the entities of type project and use one of their ids, or leave `project` out.",
            details={"field": "body.project", "project": project},
        )


class PlanRequest(_OfProject):
    """Plan a document."""

    goal: Annotated[str, StringConstraints(min_length=1, max_length=GOAL_LIMIT, pattern=r"\S")] = Field(
        description="Subject, in plain words."
    )
    output_type: OutputType = Field("documentation", description="Decides the sections.")
    audience: Annotated[str, StringConstraints(max_length=AUDIENCE_LIMIT)] | None = Field(None, description="Readers.")
    depth: Depth = Field("standard", description="4, 8 or 16 sources a section.")
    seed_query: Annotated[str, StringConstraints(max_length=1_000)] | None = Field(
        None, description="Looked for instead of the goal."
    )
    project: EntityId | None = Field(None, description="Id of the project.")
    domain: Label | None = Field(None, description="Field of knowledge, added to the search.")
    entity_ids: Pinned = Field([], description="Records to include.")
    decision_ids: Pinned = Field([], description="Decisions to include.")
    task_ids: Pinned = Field([], description="Tasks to include.")
    artifact_ids: Pinned = Field([], description="Artifacts and earlier documents to include.")
    required_sections: Annotated[list[RequiredSection], BeforeValidator(_listed), Field(max_length=MOST_SECTIONS)] = (
        Field([], description="Sections instead of the type's.")
    )
    constraints: Annotated[list[Constraint], BeforeValidator(_listed), Field(max_length=CONSTRAINTS_LIMIT)] = Field(
        [], description="Repeated at its beginning, not checked."
    )
    max_sections: int = Field(6, ge=1, le=MOST_SECTIONS, description="Most sections.")
    include_neighborhoods: bool = Field(True, description="Include linked records.")


class DraftRequest(PlanRequest):
    """Draft a document, and optionally keep it."""

    output_format: OutputFormat = Field("markdown", description="`json`: sections as data.")
    remember: bool = Field(False, description="Keep it as a raw memory.")
    memory_scope: Literal["private", "project"] = Field("private", description="Readers.")
    scope_key: EntityId | None = Field(None, description="Project of the scope; else `project`.")
    tags: Annotated[list[Label], BeforeValidator(_listed), Field(max_length=TAGS_LIMIT)] = Field(
        [], description="Labels of the stored document."
    )


class HandbookRequest(_OfProject):
    """Select the handbook of a project or organization."""

    project: EntityId | None = Field(None, description="Id of the project; without one, of the whole organization.")
    depth: Depth = Field("standard", description="4, 8 or 16 sources a section.")


class Gap(Result):
    """Something that a section does not rest on."""

    section_id: str
    reason: GapReason
    query: str = Field(description="Search text; for an unresolved claim the claim, for missing dates the ids.")
    missing_source_ids: list[str]


class OutlineSection(Result):
    """A section of the document."""

    section_id: str
    title: str
    prompt: str
    source_query: str
    source_ids: list[str]
    gaps: list[Gap]


class Outline(Result):
    """Outline of the document."""

    title: str
    output_type: OutputType
    audience: str | None
    sections: list[OutlineSection]


class SourceView(Result):
    """A record that a section rests on."""

    id: str
    type: str
    name: str
    content_preview: str = Field(description="Empty where it was redacted.")
    score: float
    source: str | None = Field(description="Name of the document source.")
    origin: Literal["graph", "document", "raw_memory"]
    relation: str | None = Field(description="Relation to another source, if that brought it in.")
    metadata: StoredJson


class SourcePack(Result):
    """Sources of a section, and counts of omitted ones."""

    section_id: str
    title: str
    query: str
    source_ids: list[str]
    sources: list[SourceView]
    hidden_count: int = Field(description="Relevant records that were withheld.")
    redaction_count: int
    correction_count: int
    correction_reasons: list[str]
    freshness: dict[str, datetime | None] = Field(description="Time of the last change, by source.")
    unresolved_claims: list[str]
    degraded: dict[str, str] = Field(description="Failed parts of the search, with reasons.")


class Verification(Result):
    """Verification of the document or plan against its sources."""

    status: Literal["pending", "gaps", "pass"]
    source_count: int
    gap_count: int
    gaps: list[Gap]


class SynthesisRun(Result):
    """A plan with its sources."""

    run_id: str
    status: Literal["planned", "drafting", "verified", "failed"]
    request: StoredJson
    outline: Outline
    source_packs: list[SourcePack]
    verification: Verification


class Artifact(Result):
    """A document."""

    artifact_id: str
    format: OutputFormat
    title: str
    markdown: str
    json_payload: StoredJson = Field(description="Empty unless the format is `json`.")
    source_ids: list[str] = Field(description="Cited records, in the order of the text.")
    section_source_ids: dict[str, list[str]]
    generated_text_hash: str
    verification: Verification
    remembered_memory_id: str | None
    remembered_source_id: str | None
    remembered_scope: str | None = Field(
        description="`private` also where `project` was asked for and not everybody there may read all sources."
    )


class SynthesisDraft(SynthesisRun):
    """A plan with its sources, and the document."""

    artifact: Artifact
    mutation_receipt: MutationReceipt | None = None
