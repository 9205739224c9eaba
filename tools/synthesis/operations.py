"""Synthesis operations: plan, verify, draft and keep a document, and the handbook."""

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
from pydantic import JsonValue

from auth.memory_policy import MemoryScopeRequest, writable_memory
from auth.policy import NoProject, Visibility, reaches_readers_of
from auth.principal import Principal
from auth.visibility import entity_key
from stores.errors import Forbidden, InvalidRequest, ValidationFailed
from stores.records import JsonObject, RawMemory
from tools.app import App
from tools.frame.audit_entries import remember_entry
from tools.frame.operation import READERS, WRITERS, Call, Route, Tool, entry, mutation
from tools.frame.threads import in_thread
from tools.memory.memories import memory_draft
from tools.records.memory_models import RAW_CONTENT_LIMIT, RawMemoryFields
from tools.records.projects import require_live
from tools.records.receipts import capture_receipt
from tools.retrieval.pipeline import answered
from tools.synthesis.gathering import GENERATED_SUFFIX, SURFACE, gather, still_there
from tools.synthesis.models import (
    Artifact,
    DraftRequest,
    HandbookRequest,
    Outline,
    OutlineSection,
    PlanRequest,
    SourcePack,
    SourceView,
    SynthesisDraft,
    SynthesisRun,
)
from tools.synthesis.outline import Pack, Source, run_id, sections_of, title_of
from tools.synthesis.statements import Told, drafted_gaps, planned_gaps, tell, verification
from tools.synthesis.templates import EXTENTS
from tools.synthesis.writing import markdown, payload

OPENING = "index_unavailable"
INDEX_WAITS_S = (0.2, 0.5, 1.0)
SAME_LIMIT = 20
CITED_LIMIT = 500
ORGANIZATION_GOAL = "What this team works on, what it decided, how it does things and what to beware of"


def _planned(run: SynthesisRun) -> dict[str, Any]:
    sections = [
        {
            "name": section.title,
            "sources": [{"id": each.id, "type": each.type, "name": each.name} for each in pack.sources],
            **{name: getattr(pack, name) or None for name in ("hidden_count", "correction_count", "redaction_count")},
        }
        for section, pack in zip(run.outline.sections, run.source_packs, strict=True)
    ]
    return {"run_id": run.run_id, "name": run.outline.title, "sections": sections, "gaps": run.verification.gaps}


@entry(
    Route("POST", "/api/synthesis/plan", tag="synthesis", errors=(400,)),
    roles=READERS,
    scope="write",
    tool=Tool("Plan a document", read_only=True, toolset="synthesis", answer=_planned),
)
async def synthesis_plan(app: App, call: Call, request: PlanRequest) -> SynthesisRun:
    """Plan a document: its sections, the records that each would rest on, and what is missing."""
    return (await _whole(app, call, request, is_drafted=False))[0]


def _verified(run: SynthesisRun) -> dict[str, Any]:
    checked = run.verification
    sections = [{"name": each.title, "sources": len(each.source_ids)} for each in run.outline.sections]
    return {"run_id": run.run_id, "status": checked.status, "sections": sections, "gaps": checked.gaps}


@entry(
    roles=READERS,
    scope="write",
    tool=Tool("Verify a document's plan", read_only=True, toolset="synthesis", answer=_verified),
)
async def synthesis_verify(app: App, call: Call, request: PlanRequest) -> SynthesisRun:
    """Check, before it is drafted, whether each section of a document would rest on sources; name each gap."""
    return (await _whole(app, call, request, is_drafted=True))[0]


def _drafted(draft: SynthesisDraft) -> dict[str, Any]:
    artifact = draft.artifact
    kept = {name: getattr(artifact, f"remembered_{name}") for name in ("memory_id", "scope")}
    if kept["scope"] != draft.request["memory_scope"]:
        kept["why"] = "private, because not everybody in the project may read all of its sources"
    return {
        **(
            {"document": artifact.json_payload}
            if artifact.format == "json"
            else {"markdown": artifact.markdown.rstrip()}
        ),
        "artifact_id": artifact.artifact_id,
        "verification": artifact.verification.status,
        **({"kept": kept} if artifact.remembered_memory_id else {}),
    }


@mutation(
    Route("POST", "/api/synthesis/draft", tag="synthesis", errors=(400,)),
    tool=Tool("Draft a document", read_only=False, idempotent=True, answer=_drafted),
    events=("raw_capture_changed",),
)
async def synthesis_draft(app: App, call: Call, request: DraftRequest) -> SynthesisDraft:
    """Write a document from what is known: each line quotes records and cites them; gaps are named.

    No language model is asked: the same request gives the same text.
    """
    place = await in_thread(_require_place, app, call.caller, request)
    run, told = await _whole(app, call, request, is_drafted=True)
    artifact = _artifact(request, run, told)
    kept = None
    if place is not None or call.claim is not None:
        sources = {source.id: source for each in told for source in each.pack.sources}
        cited = [sources[each] for each in artifact.source_ids]
        kept = await in_thread(_keep, app, call, request, place, artifact, cited)
    if kept is None:
        return SynthesisDraft(**dict(run), artifact=artifact)
    memory, is_new = kept
    remembered = {
        "remembered_memory_id": memory.entity.id,
        "remembered_source_id": memory.capture.source_id,
        "remembered_scope": memory.entity.memory_scope,
    }
    receipt = capture_receipt(app, call, [memory.entity.id] if is_new else [])
    return SynthesisDraft(**dict(run), artifact=artifact.model_copy(update=remembered), mutation_receipt=receipt)


@entry(Route("GET", "/api/synthesis/handbook", tag="synthesis"), roles=READERS, scope="write")
async def synthesis_handbook(app: App, call: Call, request: HandbookRequest) -> SynthesisDraft:
    """Write the handbook of a project: orientation, decisions in force, current work, gotchas, what there is to read.

    Without a project it is the whole organization's. Nothing is kept.
    """
    return await synthesis_draft(app, call, await in_thread(_handbook, app, call.caller, request))


async def _whole(app: App, call: Call, request: PlanRequest, *, is_drafted: bool) -> tuple[SynthesisRun, list[Told]]:
    answer = partial(_run, app, call, request, is_drafted=is_drafted)
    for wait_s in INDEX_WAITS_S:
        run, told = await answered(app, call.caller.organization_id, answer)
        if not any(OPENING in pack.degraded.values() for pack in run.source_packs):
            return run, told
        await anyio.sleep(wait_s)
    return await answered(app, call.caller.organization_id, answer)


def _handbook(app: App, caller: Principal, request: HandbookRequest) -> DraftRequest:
    if request.project is None:
        return DraftRequest(goal=ORGANIZATION_GOAL, output_type="handbook", depth=request.depth)
    project = app.ledger.records.entity(caller.organization_id, request.project)
    name = project.name if project is not None else request.project
    about = f"{name}\n{project.content or project.description}"[:1_000] if project is not None else None
    return DraftRequest(
        goal=f"Handbook of {name}",
        output_type="handbook",
        depth=request.depth,
        seed_query=about,
        project=request.project,
    )


def _run(app: App, call: Call, request: PlanRequest, *, is_drafted: bool) -> tuple[SynthesisRun, list[Told]]:
    packs = still_there(app, call.caller, gather(app, call, request, sections_of(request)))
    told = tell(packs, EXTENTS[request.depth]) if is_drafted else []
    gaps = [drafted_gaps(each) for each in told] if is_drafted else [planned_gaps(pack) for pack in packs]
    checked = verification(packs, [gap for each in gaps for gap in each], is_drafted=is_drafted)
    sections = [
        OutlineSection.of(
            pack.section,
            section_id=pack.section.id,
            source_query=pack.section.query,
            source_ids=pack.source_ids,
            gaps=found,
        )
        for pack, found in zip(packs, gaps, strict=True)
    ]
    run = SynthesisRun(
        run_id=run_id(request),
        status="verified" if checked.status == "pass" else "planned",
        request=request.model_dump(mode="json"),
        outline=Outline.of(request, title=title_of(request), sections=sections),
        source_packs=[_shown(pack) for pack in packs],
        verification=checked,
    )
    return run, told


def _shown(pack: Pack) -> SourcePack:
    return SourcePack.of(
        pack.section,
        section_id=pack.section.id,
        source_ids=pack.source_ids,
        sources=[SourceView.of(each, content_preview=each.text, source=each.document) for each in pack.sources],
        hidden_count=pack.hidden,
        redaction_count=sum(each.is_redacted for each in pack.sources),
        correction_count=len(pack.corrections),
        correction_reasons=sorted(set(pack.corrections)),
        freshness={each.id: each.changed_at for each in pack.sources},
        unresolved_claims=list(pack.claims),
        degraded=dict(pack.degraded),
    )


def _artifact(request: DraftRequest, run: SynthesisRun, told: Sequence[Told]) -> Artifact:
    text, data = markdown(request, told, run.verification), dict[str, Any]()
    if request.output_format == "json":
        data = payload(run.run_id, request, told, run.verification)
    digest = hashlib.sha256((_as_json(data) if data else text).encode(errors="surrogatepass")).hexdigest()
    return Artifact(
        artifact_id=f"artifact:{run.run_id.partition(':')[2]}:{digest[:12]}",
        format=request.output_format,
        title=run.outline.title,
        markdown=text,
        json_payload=data,
        source_ids=list(dict.fromkeys(cited for each in told for cited in each.source_ids)),
        section_source_ids={each.pack.section.id: each.source_ids for each in told},
        generated_text_hash=f"sha256:{digest}",
        verification=run.verification,
        remembered_memory_id=None,
        remembered_source_id=None,
        remembered_scope=None,
    )


def _as_json(payload: JsonObject) -> str:
    return json.dumps(payload, ensure_ascii=False, indent=2) + "\n"


def _require_place(app: App, caller: Principal, request: DraftRequest) -> Visibility | None:
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
        require_live(str(project), app.ledger.records.entity(caller.organization_id, str(project)))
        return writable_memory(caller, MemoryScopeRequest("project", project))
    except NoProject as error:
        raise request.project_refusal(str(project)) from error


def _keep(
    app: App, call: Call, request: DraftRequest, place: Visibility | None, artifact: Artifact, cited: Sequence[Source]
) -> tuple[RawMemory, bool] | None:
    """Keep a document if asked to; settle the claim in any case. Return the memory, and if it is new."""
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        tx.show_in_answer([each.id for each in cited])
        if place is None:
            return None
        readers = entity_key(place.key)
        if not all(reaches_readers_of(caller, each.visibility, readers) for each in cited):
            place = writable_memory(caller, MemoryScopeRequest())
        fields = _memory_fields(app, caller, request, place, artifact)
        for known in tx.memories.same_memories(place.key, fields.raw_content, limit=SAME_LIMIT):
            if known.capture.source_id == fields.source_id:
                tx.show_in_answer([known.entity.id])
                return known, False
        memory = tx.memories.create_memory(*memory_draft(tx, caller, fields))
        tx.audit(remember_entry(app.accounts.home_of(caller.user_id), call, memory))
        return memory, True


def _memory_fields(
    app: App, caller: Principal, request: DraftRequest, place: Visibility, artifact: Artifact
) -> RawMemoryFields:
    text = _as_json(artifact.json_payload) if artifact.format == "json" else artifact.markdown
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
        source_id=f"{artifact.artifact_id}{GENERATED_SUFFIX}",
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
