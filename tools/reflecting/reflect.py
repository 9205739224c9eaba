"""Reflection: find and keep what is worth keeping in session notes."""

from collections.abc import Sequence
from itertools import groupby

from auth.policy import Visibility
from auth.visibility import memory_key
from stores.records import JsonObject
from tools.app import App
from tools.frame.operation import WRITERS, Call, Route, Tool, mutation
from tools.frame.threads import in_thread, in_turn
from tools.llm.model import ModelFailed
from tools.records.receipts import capture_receipt, readable_by
from tools.reflecting.duplicates import OPPOSING, Statement, compare
from tools.reflecting.proposing import READ_LIMIT, admit, propose
from tools.reflecting.reflect_candidates import (
    Reflection,
    ReflectionCandidate,
    ReflectionPack,
    ReflectRequest,
    Stored,
    candidate,
    ties,
)
from tools.reflecting.reflect_keeping import place_of, store, stores_anything
from tools.reflecting.reflection.extract import extract
from tools.reflecting.reflection.finding import KINDS, Finding
from tools.reflecting.reflection.words import as_said
from tools.search.exposure import CiteRequest, cited
from tools.text.plain import one_line

CONTENT_SHOWN = 600


def markdown(
    request: ReflectRequest, candidates: Sequence[ReflectionCandidate], source_id: str | None, said: JsonObject
) -> str:
    lines = [f"# {' '.join(request.source_title.split())}", "", _summary(candidates, source_id)]
    if "fallback_reason" in said:
        lines.append(f"The language model was not used ({said['fallback_reason']}): these were found by rules.")
    if "not_compared" in said:
        lines.append("Not everything that is known could be looked through.")
    ordered = sorted(candidates, key=lambda each: KINDS.index(each.kind))
    for kind, group in groupby(ordered, key=lambda each: each.kind):
        lines += ["", "## Session" if kind == "session" else f"## {kind.capitalize()}s", ""]
        for each in group:
            lines += _entry(each)
    return "\n".join(lines) + "\n"


def _summary(candidates: Sequence[ReflectionCandidate], source_id: str | None) -> str:
    source = f" The notes are kept as {source_id}." if source_id else ""
    if not candidates:
        return f"Nothing in the notes is worth keeping.{source}"
    kinds = [{finding.kind for finding in each.reflection_findings} for each in candidates]
    counts = {
        "kept": sum(each.persisted_id is not None for each in candidates),
        "known already": sum("duplicate" in each for each in kinds),
        "at odds with what is known": sum(not each.isdisjoint((*OPPOSING, "stale")) for each in kinds),
    }
    said = [f"{len(candidates)} candidate{'' if len(candidates) == 1 else 's'}"]
    return ", ".join(said + [f"{count} {what}" for what, count in counts.items() if count]) + f".{source}"


def _entry(candidate: ReflectionCandidate) -> list[str]:
    kept = f" → {candidate.persisted_id}" if candidate.persisted_id else ""
    lines = [f"- **{candidate.title}** ({candidate.confidence:.2f}){kept}"]
    said = " ".join(candidate.content.split())
    if said.strip(" .").lower() != candidate.title.strip(" .").lower():
        lines.append(f"  {one_line(said, CONTENT_SHOWN)}")
    for each in candidate.reflection_findings:
        target = each.target_source_id
        named = f" ({target})" if target and target not in each.reason else ""
        lines.append(f"  - {one_line(f'{each.kind}{named}: {each.reason}')}")
    return lines


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
            "kept": [each.persisted_id for each in pack.candidates if each.persisted_id],
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
    findings, said = await _extract(app, request)
    made = await in_turn(app.reflection_turns, _compared, app, call, request, place, findings, str(said["method"]))
    if fault := next((each.fault for each in made.compared if each.fault), None):
        said["not_compared"] = fault
    stored, readers, usage, receipt = Stored(), None, JsonObject(), None
    if stores_anything(request) or call.claim is not None:
        stored = await in_thread(store, app, call, made)
    if stores_anything(request):
        key = place.key if request.persist else memory_key(place.key)
        readers = await in_thread(readable_by, app, call.caller, key)
    if request.cited_ids:
        said_helpful = CiteRequest(cited_ids=request.cited_ids, surface="reflect")
        usage = (await in_thread(cited, app, call, said_helpful)).model_dump(mode="json")
    if stored.memory_ids or stored.entities:
        receipt = capture_receipt(app, call, stored.memory_ids, [entity.id for entity in stored.entities])
    candidates = [candidate(made, number, each.known, stored) for number, each in enumerate(made.compared)]
    return ReflectionPack.of(
        request,
        candidates=candidates,
        total_candidates=len(candidates),
        persisted_count=stored.count,
        markdown=markdown(request, candidates, stored.source_id, said),
        source_id=stored.source_id,
        readable_by=readers,
        citation_usage=usage,
        usage_hint=usage_hint(request, len(candidates), stored.count),
        extraction=said,
        mutation_receipt=receipt,
    )


async def _extract(app: App, request: ReflectRequest) -> tuple[Sequence[Finding], JsonObject]:
    model, content, limit = app.language_model, request.content, request.limit
    said: JsonObject = {} if model is None else {"model": model.name}
    if model is not None and len(content) > READ_LIMIT:
        said["fallback_reason"] = "notes_too_long"
    elif model is not None:
        try:
            proposals = await propose(model, content, limit=limit)
        except ModelFailed as failure:
            said["fallback_reason"] = failure.why
        else:
            findings, dropped = await in_turn(app.reflection_turns, admit, content, proposals, limit=limit)
            said |= {"proposed": len(proposals), "dropped": {**dropped}}
            if findings or not proposals:
                return findings, {"method": "model", **said}
            said["fallback_reason"] = "nothing_borne_out"
    return await in_turn(app.reflection_turns, extract, content, limit=limit), {"method": "rules", **said}


def _compared(
    app: App, call: Call, request: ReflectRequest, place: Visibility, findings: Sequence[Finding], extractor: str
) -> Reflection:
    linked = ties(app, call.caller, request, place.key)
    statements = [Statement(as_said(each.title, each.content), each.kind, request.project) for each in findings]
    compared = compare(app, call.caller, statements, place.key)
    return Reflection(request, place, linked, app.clock(), extractor, findings, compared)
