"""Reflection: reads the notes of a session, says what is worth keeping in them, and keeps it where it is asked to."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from auth.policy import Visibility
from stores.records import JsonObject
from tools.app import App
from tools.citations import cited
from tools.known import Statement, compare
from tools.llm import ModelFailed, propose
from tools.llm.proposing import READ_LIMIT
from tools.operation import WRITERS, Call, Operation, Route, Tool
from tools.receipts import capture_receipt
from tools.reflect_candidates import Setting, candidate
from tools.reflect_keeping import Keeping, Stored, place_of, store, stores_anything
from tools.reflect_models import ReflectionPack, ReflectRequest
from tools.reflect_text import markdown, usage_hint
from tools.reflect_ties import ties
from tools.reflection import Finding, extract
from tools.reflection.proposals import admit
from tools.reflection.stating import as_said
from tools.threads import in_thread, in_turn

log = structlog.get_logger("reflect")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in the notes, and by whom."""

    findings: Sequence[Finding]
    method: str
    """`rules` or `model`."""
    said: JsonObject
    """How it went, for the pack."""


async def reflect(app: App, call: Call, request: ReflectRequest) -> ReflectionPack:
    """Find what is worth keeping in the notes of a session: decisions, tasks, plans, ideas, claims, procedures.

    Each candidate quotes the notes and says what is known already or speaks against it. `persist` keeps the candidates,
    `persist_review` lets them wait for a review; the notes themselves are kept unless `persist_source` is false.
    """
    place = await in_thread(place_of, app, call.caller, request)
    extraction = await _extract(app, request)
    keeping, fault = await in_turn(app.reflection_turns, _compared, app, call, request, place, extraction)
    stored = Stored()
    if stores_anything(request) or call.claim is not None:
        stored = await in_thread(store, app, call, keeping)
    pack = _pack(keeping, stored, extraction, fault)
    extra: dict[str, object] = {"citation_usage": await _citation_usage(app, call, request)}
    if stored.has_written:
        entity_ids = [entity.id for entity in stored.entities]
        extra["mutation_receipt"] = capture_receipt(app, call, stored.memory_ids, entity_ids)
    return pack.model_copy(update=extra)


async def _extract(app: App, request: ReflectRequest) -> Extraction:
    """Let a language model propose, where there is one, and the notes decide; else, or when it fails, use the rules."""
    model = app.language_model
    if model is None:
        return await _by_rules(app, request, {})
    if len(request.content) > READ_LIMIT:
        return await _by_rules(app, request, {"model": model.name, "fallback_reason": "notes_too_long"})
    try:
        proposals = await propose(model, request.content, limit=request.limit)
    except ModelFailed as failure:
        return await _by_rules(app, request, {"model": model.name, "fallback_reason": failure.why})
    admitted = await in_turn(app.reflection_turns, admit, request.content, proposals, limit=request.limit)
    dropped: JsonObject = {flaw: count for flaw, count in admitted.dropped.items()}  # noqa: C416 - of other types
    said: JsonObject = {"model": model.name, "proposed": len(proposals), "dropped": dropped}
    if proposals and not admitted.findings:
        log.warning("nothing_proposed_is_in_the_notes", model=model.name, proposed=len(proposals))
        return await _by_rules(app, request, said | {"fallback_reason": "nothing_borne_out"})
    return Extraction(admitted.findings, "model", {"method": "model", **said})


async def _by_rules(app: App, request: ReflectRequest, said: JsonObject) -> Extraction:
    findings = await in_turn(app.reflection_turns, extract, request.content, limit=request.limit)
    return Extraction(findings, "rules", {"method": "rules", **said})


def _compared(
    app: App, call: Call, request: ReflectRequest, place: Visibility, extraction: Extraction
) -> tuple[Keeping, str | None]:
    """Hold the findings against what is known, and read what they are linked to; tell what was in the way. Blocks."""
    linked = ties(app, call.caller, request, place.key)
    statements = [
        Statement(as_said(each.title, each.content), each.kind, request.project) for each in extraction.findings
    ]
    compared = compare(app, call.caller, statements, place.key)
    setting = Setting(request, place, linked, app.clock(), extraction.method)
    fault = next((each.fault for each in compared if each.fault), None)
    return Keeping(setting, extraction.findings, [each.known for each in compared]), fault


def _pack(keeping: Keeping, stored: Stored, extraction: Extraction, fault: str | None) -> ReflectionPack:
    request = keeping.request
    candidates = [
        candidate(keeping.setting, finding, known, stored.kept(place))
        for place, (finding, known) in enumerate(zip(keeping.findings, keeping.known, strict=True))
    ]
    said = extraction.said | ({"not_compared": fault} if fault else {})
    return ReflectionPack(
        candidates=candidates,
        total_candidates=len(candidates),
        persisted_count=stored.count,
        markdown=markdown(request, candidates, stored.source_id, _notes(said)),
        source_title=request.source_title,
        source_id=stored.source_id,
        intent=request.intent,
        domain=request.domain,
        project=request.project,
        citation_usage={},
        usage_hint=usage_hint(request, len(candidates), stored.count),
        extraction=said,
    )


def _notes(said: JsonObject) -> list[str]:
    """What a reader has to know of how the candidates were found."""
    found = []
    if "fallback_reason" in said:
        found.append(f"The language model was not used ({said['fallback_reason']}): these were found by rules.")
    if "not_compared" in said:
        found.append("Not everything that is known could be looked through.")
    return found


async def _citation_usage(app: App, call: Call, request: ReflectRequest) -> JsonObject:
    """Count the citations, and say what became of each."""
    if not request.cited_ids:
        return {}
    result = await in_thread(cited, app, call, request.cited_ids, surface="reflect")
    return result.model_dump(mode="json")


OPERATIONS = (
    Operation(
        reflect,
        roles=WRITERS,
        scope="write",
        route=Route("POST", "/api/context/reflect", tag="context", errors=frozenset({400, 404, 409})),
        tool=Tool(
            "Reflect on session notes",
            read_only=False,
            # Its text says all of it.
            omit_result=frozenset({"candidates"}),
            render=lambda pack: pack.markdown + pack.usage_hint,
        ),
        mutates=True,
        events=("entity_pending", "entity_created", "raw_capture_changed"),
    ),
)
