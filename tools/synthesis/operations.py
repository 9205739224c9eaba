"""Synthesis operations: plan, verify, draft, and handbook."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import anyio

from auth.policy import Visibility
from auth.principal import Principal
from stores.records import JsonObject
from tools.app import App
from tools.frame.operation import READERS, Call, Operation, Route, Tool, mutation
from tools.records.receipts import capture_receipt
from tools.retrieval.turns import answered
from tools.runtime.threads import in_thread
from tools.synthesis.gathering import gather, still_there
from tools.synthesis.keeping import Document, Kept, as_json, keep, require_place
from tools.synthesis.models import (
    Artifact,
    DraftRequest,
    Gap,
    HandbookRequest,
    Outline,
    OutlineSection,
    PlanRequest,
    SourcePack,
    SourceView,
    SynthesisDraft,
    SynthesisRun,
    Verification,
)
from tools.synthesis.outline import run_id, sections_of, title_of
from tools.synthesis.sources import Pack
from tools.synthesis.statements import Told, drafted_gaps, planned_gaps, tell, verification
from tools.synthesis.templates import EXTENTS
from tools.synthesis.writing import markdown, payload

OPENING = "index_unavailable"
WAITS_S = (0.2, 0.5, 1.0)
"""Waits for indexes that did not contribute to a document."""
ORGANIZATION_GOAL = "What this team works on, what it decided, how it does things and what to beware of"


@dataclass(frozen=True, slots=True)
class _Drafted:
    run: SynthesisRun
    told: Sequence[Told]
    markdown: str
    payload: JsonObject


async def synthesis_plan(app: App, call: Call, request: PlanRequest) -> SynthesisRun:
    """Plan a document: its sections, the records that each would rest on, and what is missing."""
    return await _whole(app, call, partial(_plan, app, call, request))


async def synthesis_verify(app: App, call: Call, request: PlanRequest) -> SynthesisRun:
    """Check, before it is drafted, whether each section of a document would rest on sources; name each gap."""
    return (await _whole(app, call, partial(_draft, app, call, request))).run


async def synthesis_draft(app: App, call: Call, request: DraftRequest) -> SynthesisDraft:
    """Write a document from what is known: each line quotes records and cites them; gaps are named.

    No language model is asked: the same request gives the same text.
    """
    place = await in_thread(require_place, app, call.caller, request)
    drafted = await _whole(app, call, partial(_draft, app, call, request))
    return await _kept(app, call, request, place, drafted)


async def synthesis_handbook(app: App, call: Call, request: HandbookRequest) -> SynthesisDraft:
    """Write the handbook of a project: orientation, decisions in force, current work, gotchas, what there is to read.

    Without a project it is the whole organization's. Nothing is kept.
    """
    return await synthesis_draft(app, call, await in_thread(_handbook, app, call.caller, request))


Answer = TypeVar("Answer", "SynthesisRun", "_Drafted")


async def _whole(app: App, call: Call, answer: Callable[[], Answer]) -> Answer:
    for wait_s in WAITS_S:
        found = await answered(app, call.caller.organization_id, answer)
        run = found if isinstance(found, SynthesisRun) else found.run
        if not any(OPENING in pack.degraded.values() for pack in run.source_packs):
            return found
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


def _packs(app: App, call: Call, request: PlanRequest) -> list[Pack]:
    return still_there(app, call.caller, gather(app, call, request, sections_of(request)))


def _plan(app: App, call: Call, request: PlanRequest) -> SynthesisRun:
    packs = _packs(app, call, request)
    gaps = [planned_gaps(pack) for pack in packs]
    checked = verification(packs, [gap for each in gaps for gap in each], is_drafted=False)
    return _run(request, packs, gaps, checked)


def _draft(app: App, call: Call, request: PlanRequest) -> _Drafted:
    packs = _packs(app, call, request)
    told = tell(packs, EXTENTS[request.depth])
    gaps = [drafted_gaps(each) for each in told]
    checked = verification(packs, [gap for each in gaps for gap in each], is_drafted=True)
    run = _run(request, packs, gaps, checked)
    return _Drafted(run, told, markdown(request, told, checked), payload(run.run_id, request, told, checked))


def _run(
    request: PlanRequest, packs: Sequence[Pack], gaps: Sequence[Sequence[Gap]], checked: Verification
) -> SynthesisRun:
    sections = [
        OutlineSection.of(
            pack.section,
            section_id=pack.section.id,
            source_query=pack.section.query,
            source_ids=pack.source_ids,
            gaps=list(found),
        )
        for pack, found in zip(packs, gaps, strict=True)
    ]
    return SynthesisRun(
        run_id=run_id(request),
        status="verified" if checked.status == "pass" else "planned",
        request=request.model_dump(mode="json"),
        outline=Outline.of(request, title=title_of(request), sections=sections),
        source_packs=[_shown(pack) for pack in packs],
        verification=checked,
    )


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


async def _kept(
    app: App, call: Call, request: DraftRequest, place: Visibility | None, drafted: _Drafted
) -> SynthesisDraft:
    run = drafted.run
    text = drafted.markdown if request.output_format == "markdown" else as_json(drafted.payload)
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    cited = list(dict.fromkeys(each for told in drafted.told for each in told.source_ids))
    sources = {source.id: source for told in drafted.told for source in told.pack.sources}
    document = Document(
        run_id=run.run_id,
        artifact_id=f"artifact:{run.run_id.partition(':')[2]}:{digest[:12]}",
        title=run.outline.title,
        text=text,
        verification=run.verification.status,
        sources=tuple(sources[each] for each in cited),
    )
    kept: Kept | None = None
    if place is not None or call.claim is not None:
        kept = await in_thread(keep, app, call, request, place, document)
    artifact = Artifact(
        artifact_id=document.artifact_id,
        format=request.output_format,
        title=run.outline.title,
        markdown=drafted.markdown,
        json_payload=drafted.payload if request.output_format == "json" else {},
        source_ids=cited,
        section_source_ids={told.pack.section.id: told.source_ids for told in drafted.told},
        generated_text_hash=f"sha256:{digest}",
        verification=run.verification,
        remembered_memory_id=kept.memory.entity.id if kept else None,
        remembered_source_id=kept.memory.capture.source_id if kept else None,
        remembered_scope=kept.memory.entity.memory_scope if kept else None,
    )
    receipt = capture_receipt(app, call, [kept.memory.entity.id] if kept.is_new else []) if kept else None
    return SynthesisDraft(**dict(run), artifact=artifact, mutation_receipt=receipt)


NAME_LIMIT, QUERY_LIMIT = 80, 120


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


def _verified(run: SynthesisRun) -> dict[str, Any]:
    checked = run.verification
    sections = [{"name": each.title, "sources": len(each.source_ids)} for each in run.outline.sections]
    return {"run_id": run.run_id, "status": checked.status, "sections": sections, "gaps": checked.gaps}


def _drafted(draft: SynthesisDraft) -> dict[str, Any]:
    artifact = draft.artifact
    kept = {name: getattr(artifact, f"remembered_{name}") for name in ("memory_id", "scope")}
    return {
        "markdown": artifact.markdown.rstrip(),
        "artifact_id": artifact.artifact_id,
        "verification": artifact.verification.status,
        **({"kept": kept} if artifact.remembered_memory_id else {}),
    }


ERRORS = frozenset({400})

OPERATIONS = (
    Operation(
        synthesis_plan,
        roles=READERS,
        scope="write",
        route=Route("POST", "/api/synthesis/plan", tag="synthesis", errors=ERRORS),
        tool=Tool("Plan a document", read_only=True, toolset="synthesis", answer=_planned),
    ),
    Operation(
        synthesis_verify,
        roles=READERS,
        scope="write",
        tool=Tool("Verify a document's plan", read_only=True, toolset="synthesis", answer=_verified),
    ),
    mutation(
        synthesis_draft,
        Route("POST", "/api/synthesis/draft", tag="synthesis", errors=ERRORS),
        tool=Tool("Draft a document", read_only=False, idempotent=True, answer=_drafted),
        events=("raw_capture_changed",),
    ),
    Operation(
        synthesis_handbook, roles=READERS, scope="write", route=Route("GET", "/api/synthesis/handbook", tag="synthesis")
    ),
)
