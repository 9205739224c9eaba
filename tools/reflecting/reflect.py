"""Reflection: find and keep what is worth keeping in session notes."""

from collections.abc import Sequence
from itertools import groupby

import structlog

from auth.policy import Visibility
from auth.visibility import memory_key
from stores.records import JsonObject
from tools.app import App
from tools.frame.operation import WRITERS, Call, Route, Tool, mutation
from tools.llm import ModelFailed
from tools.records.receipts import capture_receipt, readable_by
from tools.reflecting.duplicates import Statement, compare
from tools.reflecting.proposing import READ_LIMIT, admit, propose
from tools.reflecting.reflect_candidates import (
    Reflection,
    ReflectionCandidate,
    ReflectionFinding,
    ReflectionPack,
    ReflectRequest,
    candidate,
    ties,
)
from tools.reflecting.reflect_keeping import Stored, place_of, store, stores_anything
from tools.reflecting.reflection.extract import extract
from tools.reflecting.reflection.finding import KINDS, Finding
from tools.reflecting.reflection.words import as_said
from tools.runtime.threads import in_thread, in_turn
from tools.search.citations import cited
from tools.text.plain import one_line

CONTENT_SHOWN = 600


def markdown(
    request: ReflectRequest, candidates: Sequence[ReflectionCandidate], source_id: str | None, notes: Sequence[str]
) -> str:
    lines = [f"# {' '.join(request.source_title.split())}", ""]
    lines += [_summary(candidates, source_id), *notes]
    order = {kind: number for number, kind in enumerate(KINDS)}
    ordered = sorted(candidates, key=lambda each: order[each.kind])
    for kind, group in groupby(ordered, key=lambda each: each.kind):
        lines += ["", "## Session" if kind == "session" else f"## {kind.capitalize()}s", ""]
        for each in group:
            lines += _entry(each)
    return "\n".join(lines) + "\n"


def _summary(candidates: Sequence[ReflectionCandidate], source_id: str | None) -> str:
    kept = sum(each.persisted_id is not None for each in candidates)
    known = sum(any(each.kind == "duplicate" for each in found.reflection_findings) for found in candidates)
    opposed = sum(
        any(each.kind in ("contradiction", "supersession", "stale") for each in found.reflection_findings)
        for found in candidates
    )
    parts = [f"{len(candidates)} candidate{'' if len(candidates) == 1 else 's'}"]
    parts += [f"{kept} kept"] if kept else []
    parts += [f"{known} known already"] if known else []
    parts += [f"{opposed} at odds with what is known"] if opposed else []
    source = f" The notes are kept as {source_id}." if source_id else ""
    return f"{', '.join(parts)}.{source}" if candidates else f"Nothing in the notes is worth keeping.{source}"


def _entry(candidate: ReflectionCandidate) -> list[str]:
    kept = f" → {candidate.persisted_id}" if candidate.persisted_id else ""
    lines = [f"- **{candidate.title}** ({candidate.confidence:.2f}){kept}"]
    said = " ".join(candidate.content.split())
    if said.strip(" .").lower() != candidate.title.strip(" .").lower():
        lines.append(f"  {one_line(said, CONTENT_SHOWN)}")
    return [*lines, *(f"  - {_finding(each)}" for each in candidate.reflection_findings)]


def _finding(finding: ReflectionFinding) -> str:
    target = finding.target_source_id
    named = f" ({target})" if target and target not in finding.reason else ""
    return one_line(f"{finding.kind}{named}: {finding.reason}")


def usage_hint(request: ReflectRequest, count: int, kept: int) -> str:
    if not count:
        return "Nothing to do: state decisions, causes and to-dos in the notes to have them found."
    if request.persist_review:
        return "Review the candidates, then promote each by its persisted_id (POST /api/memory/reflection/promote)."
    if request.persist and kept:
        return "Kept. What a contradiction names, and is wrong, is retired by a record with related_to supersedes:<id>."
    if request.persist:
        return "Nothing was written: every candidate is known already, or sensitive. The findings name the records."
    return "Nothing of this is in the graph: send the notes again with persist, or persist_review."


log = structlog.get_logger("reflect")


Extraction = tuple[Sequence[Finding], JsonObject]
"""Findings with a description of their extraction: `method` is `rules` or `model`."""


@mutation(
    Route("POST", "/api/context/reflect", tag="context", errors=frozenset({400, 404, 409})),
    roles=WRITERS,
    tool=Tool(
        "Reflect on session notes",
        read_only=False,
        # The markdown says the rest.
        answer=lambda pack: {
            "markdown": pack.markdown.rstrip(),
            "source_id": pack.source_id,
            "readable_by": pack.readable_by,
            "usage_hint": pack.usage_hint,
        },
    ),
    events=("entity_pending", "entity_created", "raw_capture_changed"),
)
async def reflect(app: App, call: Call, request: ReflectRequest) -> ReflectionPack:
    """Find what is worth keeping in the notes of a session: decisions, tasks, plans, ideas, claims, procedures.

    Each candidate quotes the notes and says what is known already or speaks against it. `persist` keeps the candidates,
    `persist_review` lets them wait for a review; the notes themselves are kept unless `persist_source` is false.
    """
    place = await in_thread(place_of, app, call.caller, request)
    extraction = await _extract(app, request)
    made, fault = await in_turn(app.reflection_turns, _compared, app, call, request, place, extraction)
    stored = Stored()
    if stores_anything(request) or call.claim is not None:
        stored = await in_thread(store, app, call, made)
    pack = _pack(made, stored, extraction[1] | ({"not_compared": fault} if fault else {}))
    key = place.key if request.persist else memory_key(place.key)
    readers = await in_thread(readable_by, app, call.caller, key) if stores_anything(request) else None
    extra: dict[str, object] = {"readable_by": readers, "citation_usage": await _citation_usage(app, call, request)}
    if stored.memory_ids or stored.entities:
        entity_ids = [entity.id for entity in stored.entities]
        extra["mutation_receipt"] = capture_receipt(app, call, stored.memory_ids, entity_ids)
    return pack.model_copy(update=extra)


async def _extract(app: App, request: ReflectRequest) -> Extraction:
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
    said: JsonObject = {"model": model.name, "proposed": len(proposals), "dropped": {**admitted.dropped}}
    if proposals and not admitted.findings:
        log.warning("nothing_proposed_is_in_the_notes", model=model.name, proposed=len(proposals))
        return await _by_rules(app, request, said | {"fallback_reason": "nothing_borne_out"})
    return admitted.findings, {"method": "model", **said}


async def _by_rules(app: App, request: ReflectRequest, said: JsonObject) -> Extraction:
    findings = await in_turn(app.reflection_turns, extract, request.content, limit=request.limit)
    return findings, {"method": "rules", **said}


def _compared(
    app: App, call: Call, request: ReflectRequest, place: Visibility, extraction: Extraction
) -> tuple[Reflection, str | None]:
    findings, said = extraction
    linked = ties(app, call.caller, request, place.key)
    statements = [Statement(as_said(each.title, each.content), each.kind, request.project) for each in findings]
    compared = compare(app, call.caller, statements, place.key)
    fault = next((each.fault for each in compared if each.fault), None)
    return Reflection(request, place, linked, app.clock(), str(said["method"]), findings, compared), fault


def _pack(made: Reflection, stored: Stored, said: JsonObject) -> ReflectionPack:
    request = made.request
    candidates = [
        candidate(made, finding, compared.known, stored.source_ids, stored.record_ids.get(place))
        for place, (finding, compared) in enumerate(zip(made.findings, made.compared, strict=True))
    ]
    return ReflectionPack.of(
        request,
        candidates=candidates,
        total_candidates=len(candidates),
        persisted_count=stored.count,
        markdown=markdown(request, candidates, stored.source_id, _notes(said)),
        source_id=stored.source_id,
        readable_by=None,
        citation_usage={},
        usage_hint=usage_hint(request, len(candidates), stored.count),
        extraction=said,
    )


def _notes(said: JsonObject) -> list[str]:
    found = []
    if "fallback_reason" in said:
        found.append(f"The language model was not used ({said['fallback_reason']}): these were found by rules.")
    if "not_compared" in said:
        found.append("Not everything that is known could be looked through.")
    return found


async def _citation_usage(app: App, call: Call, request: ReflectRequest) -> JsonObject:
    if not request.cited_ids:
        return {}
    result = await in_thread(cited, app, call, request.cited_ids, surface="reflect")
    return result.model_dump(mode="json")
