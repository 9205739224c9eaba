"""Persistence of a document: one raw memory, no wider than its sources."""

import json
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from auth.memory_policy import MemoryScopeRequest, writable_memory
from auth.policy import NoProject, Visibility, reaches_readers_of
from auth.principal import Principal
from auth.visibility import entity_key
from stores.errors import Forbidden, InvalidRequest, ValidationFailed
from stores.records import Entity, JsonObject, RawMemory
from tools.app import App
from tools.frame.audit_entries import remember_entry
from tools.frame.json_values import texts_in
from tools.frame.operation import WRITERS, Call
from tools.memory.memories import memory_draft
from tools.records.derivation import LINK
from tools.records.memory_models import RAW_CONTENT_LIMIT, RawMemoryFields
from tools.synthesis.models import Artifact, DraftRequest
from tools.synthesis.outline import Source, run_id

SURFACE = "synthesis"
GENERATED = ":generated"
SAME_LIMIT = 20
CITED_LIMIT = 500


def require_place(app: App, caller: Principal, request: DraftRequest) -> Visibility | None:
    project = request.scope_key or request.project
    if request.memory_scope == "project" and not project:
        raise InvalidRequest(
            "missing_scope_key",
            code="missing_scope_key",
            remediation="Name the project in scope_key or in project, or leave memory_scope out.",
            details={"field": "body.scope_key"},
        )
    if not request.remember:
        return None
    if caller.role not in WRITERS:
        raise Forbidden(
            f"Your role is {caller.role.capitalize()}; keeping a document needs Member, Admin or Owner.",
            remediation="Leave `remember` out: the document comes with the answer. Or ask an owner or admin.",
            details={"actual": caller.role, "expected": "Member or Admin or Owner"},
        )
    if request.memory_scope == "private":
        return writable_memory(caller, MemoryScopeRequest())
    try:
        place = writable_memory(caller, MemoryScopeRequest("project", project))
    except NoProject as error:
        raise request.project_refusal(str(project)) from error
    if app.ledger.records.entity(caller.organization_id, str(project)) is None:
        raise Forbidden(
            f"Project {project} was deleted: its memories stay, new ones do not come.",
            remediation="Name another project, or leave memory_scope out.",
        )
    return place


def keep(
    app: App, call: Call, request: DraftRequest, place: Visibility | None, artifact: Artifact, cited: Sequence[Source]
) -> tuple[RawMemory, bool] | None:
    """Keep a document if asked to; settle the claim in any case. Return the memory, and if it is new. Blocks."""
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        tx.show_in_answer([each.id for each in cited])
        if place is None:
            return None
        place = narrowest(caller, place, [each.visibility for each in cited])
        fields = _fields(app, caller, request, place, artifact)
        for known in tx.memories.same_memories(place.key, fields.raw_content, limit=SAME_LIMIT):
            if known.capture.source_id == fields.source_id:
                tx.show_in_answer([known.entity.id])
                return known, False
        memory = tx.memories.create_memory(*memory_draft(tx, caller, fields))
        tx.audit(remember_entry(app.accounts.home_of(caller.user_id), call, memory))
        return memory, True


def narrowest(caller: Principal, place: Visibility, sources: Iterable[str]) -> Visibility:
    """Return the requested scope if all its readers may read each source, else private.

    Raises:
        Forbidden: A narrowed API key has no private memories.
    """
    readers = entity_key(place.key)
    if all(reaches_readers_of(caller, each, readers) for each in sources):
        return place
    return writable_memory(caller, MemoryScopeRequest())


def as_json(payload: JsonObject) -> str:
    return json.dumps(payload, ensure_ascii=False, indent=2) + "\n"


def _fields(
    app: App, caller: Principal, request: DraftRequest, place: Visibility, artifact: Artifact
) -> RawMemoryFields:
    text = as_json(artifact.json_payload) if artifact.format == "json" else artifact.markdown
    if len(text) > RAW_CONTENT_LIMIT:
        raise ValidationFailed(
            f"The document has {len(text)} characters; {RAW_CONTENT_LIMIT} can be kept.",
            remediation="Ask for fewer sections, or for a lesser depth.",
            details={"field": "body.depth", "expected": f"a document of at most {RAW_CONTENT_LIMIT} characters"},
        )
    is_there = request.project and app.ledger.records.entity(caller.organization_id, request.project)
    derived_from: list[JsonValue] = [*artifact.source_ids[:CITED_LIMIT]]
    return RawMemoryFields(
        raw_content=text,
        title=artifact.title,
        source_id=f"{artifact.artifact_id}{GENERATED}",
        memory_scope=place.memory_scope,
        scope_key=place.scope_key if place.memory_scope == "project" else None,
        project_id=request.project if is_there and place.memory_scope == "private" else None,
        tags=list(dict.fromkeys([SURFACE, request.output_type, *request.tags])),
        metadata={
            "capture_mode": SURFACE,
            "run_id": run_id(request),
            "artifact_id": artifact.artifact_id,
            "output_type": request.output_type,
            "format": artifact.format,
            "verification": artifact.verification.status,
            "derived_from": derived_from,
        },
        provenance={"derived_from": derived_from, "goal": request.goal},
        capture_surface=SURFACE,
    )


def is_generated(memory: RawMemory) -> bool:
    return memory.capture.capture_surface == SURFACE and memory.capture.source_id.endswith(GENERATED)


def generated_among(app: App, caller: Principal, entities: Iterable[Entity]) -> set[str]:
    """Return the entities made of kept documents: no document feeds on another. Blocks."""
    made_of = {
        entity.id: {*texts_in([entity.metadata.get(LINK)]), *texts_in(entity.metadata.get("raw_source_ids"))}
        for entity in entities
    }
    named = {each for ids in made_of.values() for each in ids}
    if not named:
        return set()
    memories = app.ledger.memories.by_ids(caller.organization_id, named)
    generated = {each for each, memory in memories.items() if is_generated(memory)}
    return {each for each, ids in made_of.items() if ids & generated}
