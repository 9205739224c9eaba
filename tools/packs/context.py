"""Context packs: known records for a goal, chosen by facets from one search."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from auth.visibility import members_key, project_key
from stores.event_times import recent_at
from stores.exposures import Shown
from stores.ledger.documents import ChunkPlace
from stores.records import Entity, IndexFilter, JsonObject, matches
from tools.app import App
from tools.frame.operation import Call, Route, Tool, entry
from tools.packs.context_models import (
    ContextPack,
    ContextRequest,
    Evidence,
    EvidenceRequest,
    PackItem,
    PackSection,
    Quality,
    RelatedItem,
)
from tools.packs.facets import SHELVES, Chosen, Facet, Option, relevant, select, types_of
from tools.packs.markdown import CONTENT_LIMIT, Entry, also_known_text, excerpt_around, render
from tools.packs.options import Ranked, also_known, leading_tasks, nearest, options_of, reason, related_items
from tools.records.entity_models import chunk_metadata
from tools.records.entity_types import GONE, OPERATIONAL_NOTE
from tools.records.receipts import authors
from tools.records.trust import TRUST, trust_of
from tools.retrieval.passages import body_of, with_passages
from tools.retrieval.pipeline import answered, retrieve
from tools.retrieval.plan import DOUBTFUL, UNRELATED, Plan
from tools.retrieval.pool import Candidate
from tools.search.answers import SearchResponse, details, identities_of
from tools.search.exposure import UsageExposure, exposed
from tools.search.search import SearchRequest, searched

CONSIDERED = 400
PLACES_PER_NOTE = 4
LEAN_METADATA = (
    "author", "status", "priority", "category", "languages", "assignees", "due_date", "epic_id", "heading_path",
    "document_id", TRUST,
)  # fmt: skip
HINT = "Read one whole by its id with get_entity, and cite the ids of what you used."
DOUBT = "Nothing here is about this; these are the nearest records."
NOTHING = "Nothing that is kept is about this. Keep what you learn with add."


def _for_agents(pack: ContextPack) -> dict[str, Any]:
    audited = [
        item.model_dump(exclude={"content", "related", "quality"})
        for section in pack.sections
        for item in section.items
        if "retrieval_signals" in item.metadata
    ]
    return {"markdown": pack.markdown.rstrip(), "audit": audited or None}


@entry(
    Route("POST", "/api/context/pack", tag="context", errors=frozenset({404})),
    tool=Tool(
        "Compile a context pack",
        read_only=True,
        omit=frozenset({"record_exposure", "evidence"}),
        omit_values={"intent": frozenset({"review"})},
        answer=_for_agents,
    ),
)
async def context(app: App, call: Call, request: ContextRequest) -> ContextPack:
    """Compile what is known for a goal before you start: work under way, decisions, rules, pitfalls, prior work.

    The intent decides which of these and in which order; the text stays within the token budget.
    """
    return await answered(app, call.caller.organization_id, partial(_compile, app, call, request))


class _Found(NamedTuple):
    chosen: Sequence[Chosen]
    entities: Mapping[str, Entity]
    candidates: Mapping[str, Candidate]
    places: Mapping[str, ChunkPlace]
    authors: Mapping[str, str | None]
    strongest: float


def _compile(app: App, call: Call, request: ContextRequest) -> ContextPack:
    pending = app.indexer.unread(call.caller.organization_id, call.caller.visible)
    keep = partial(relevant, layer=request.layer)
    ranked = _rank(app, call, request, keep)
    scores = [each.score for each in ranked.options if not each.is_under_way and not ranked.plan.is_naive]
    best = max(scores, default=1.0)
    if best < UNRELATED:
        ranked = replace(ranked, options=nearest(ranked.options))
    found, degraded = _choose(app, request, ranked, request.facets), ranked.ranking.degraded
    items = _items(app, call, request, found)
    also = also_known(app, call.caller, request, ranked, found.entities)
    best = 1.0 if also else best
    sections = [
        PackSection(facet=facet, title=SHELVES[facet].title, items=of_facet)
        for facet in request.facets
        if (of_facet := [item for item in items if item.facet == facet])
    ]
    hint, exposure = HINT if items or also else NOTHING, _exposed(app, call, request, items, found)
    return ContextPack.of(
        request,
        sections=sections,
        total_items=len(items),
        usage_metadata={} if exposure is None else {"usage_exposure": exposure},
        usage_hint=hint,
        markdown=render(
            request.goal,
            [_entry(item, found.entities[item.id]) for item in items],
            [section.title for section in sections],
            budget=request.markdown_token_budget,
            hint=hint,
            closing=[*_doubts(best, degraded, pending), *also_known_text(also, request.markdown_token_budget)],
        ),
        also_known=also,
        evidence=_evidence(app, call, request, request.evidence) if request.evidence is not None else None,
        degraded=degraded,
        pending_records=pending,
    )


def _doubts(best: float, degraded: Mapping[str, str], pending: int) -> list[str]:
    faults = ", ".join(f"{name} ({why})" for name, why in sorted(degraded.items()))
    missing = [f"Not all could be searched: {faults}."] if faults else []
    if pending:
        missing.append(f"Records that are not searchable yet: {pending}. Ask again later.")
    return [DOUBT, *missing] if best < DOUBTFUL else missing


class Packed(NamedTuple):
    items: Sequence[PackItem]
    gone: Sequence[str]
    """States of records left out as superseded, retired or archived."""
    degraded: Mapping[str, str]


Keep = Callable[[Iterable[Option]], list[Option]]
"""Drops records that are too far from the goal."""


def packed(app: App, call: Call, request: ContextRequest, parts: Sequence[Sequence[Facet]], keep: Keep) -> list[Packed]:
    """Choose a pack for each list of facets from one search. Blocks. The project must be readable."""
    ranked = _rank(app, call, request, keep)
    packs = []
    for facets in parts:
        found = _choose(app, request, ranked, facets)
        gone = [each.status for each in ranked.options if each.status in GONE and each.entity_type in types_of(facets)]
        packs.append(Packed(_items(app, call, request, found), gone, ranked.ranking.degraded))
    return packs


def withheld(
    app: App, call: Call, request: ContextRequest, parts: Sequence[Sequence[Facet]], keep: Keep, keys: frozenset[str]
) -> list[int]:
    """Count the records with these visibility keys that each pack would hold if the caller might read them. Blocks.

    Only their number leaves this function.
    """
    plan = _plan(app, call, request)
    ranking = retrieve(app, replace(plan, filter=replace(plan.filter, visibility=keys), expand=False))
    options = keep(options_of(request, ranking, set()))
    return [len(select(options, facets, request.most)) for facets in parts]


def _exposed(
    app: App, call: Call, request: ContextRequest, items: Sequence[PackItem], found: _Found
) -> UsageExposure | None:
    shown = [
        Shown(item.id, found.entities[item.id].visibility, place, item.score)
        for place, item in enumerate(items, start=1)
    ]
    return exposed(app, call, "context", shown, session_key=request.agent_id) if request.record_exposure else None


def _rank(app: App, call: Call, request: ContextRequest, keep: Keep) -> Ranked:
    plan = _plan(app, call, request)
    ranking = retrieve(app, plan)
    leading: Sequence[Option] = ()
    if request.led_by is not None and "active_work" in request.facets:
        tasks = leading_tasks(app, call.caller, request.led_by, {each.id: each.score for each in ranking.best})
        leading = [each for each in tasks if each.score >= request.min_score]
    others = list(options_of(request, ranking, {each.id for each in leading}))
    kept = others if plan.is_naive else keep(others)
    return Ranked(plan, ranking, [*leading, *kept])


def _choose(app: App, request: ContextRequest, ranked: Ranked, facets: Sequence[Facet]) -> _Found:
    organization, ranking = ranked.plan.organization_id, ranked.ranking
    candidates = {each.id: each for each in ranking.best}
    chosen = select(ranked.options, facets, request.most)
    entities = app.ledger.records.entities(organization, [each.option.id for each in chosen])
    wanted = ranked.plan.filter
    there = [each for each in chosen if each.option.id in entities and matches(entities[each.option.id], wanted)]
    first: dict[Hashable, Chosen] = {}
    for each in there:
        first.setdefault(identities_of(entities[each.option.id])[0], each)
    kept = list(first.values())
    shown = [(candidates[each.option.id], entities[each.option.id]) for each in kept if each.option.id in candidates]
    candidates |= {hit.id: hit for hit, _ in with_passages(shown, ranking.terms)}
    places = app.ledger.records.chunks(organization, [each.id for each in entities.values() if each.source_id])
    return _Found(
        chosen=kept,
        entities=entities,
        candidates=candidates,
        places=places,
        authors=authors(app, entities.values()),
        strongest=max((each.lexical for each in ranking.best if each.lexical is not None), default=0.0),
    )


def _plan(app: App, call: Call, request: ContextRequest) -> Plan:
    visible = call.caller.visible
    if request.project is not None:
        others = call.caller.project_roles.keys() - {request.project}
        visible -= {key(each) for each in others for key in (project_key, members_key)}
    return Plan(
        organization_id=call.caller.organization_id,
        query=request.query,
        filter=IndexFilter(visibility=visible, any_of={"entity_type": types_of(request.facets)}),
        now=app.clock(),
        wanted=CONSIDERED,
        min_score=request.min_score,
        boost_recent=not request.is_steady,
        boost_cited=app.settings.usage_signal and not request.is_steady,
        mode=request.evidence.retrieval_mode if request.evidence is not None else "fast",
    )


def _items(app: App, call: Call, request: ContextRequest, found: _Found) -> list[PackItem]:
    ids = [each.option.id for each in found.chosen]
    is_naive = request.evidence is not None and request.evidence.retrieval_mode == "naive"
    around: Mapping[str, list[RelatedItem]] = {}
    if request.include_related and request.related_limit and request.layer != "wake" and not is_naive:
        around = related_items(app, call.caller, ids, limit=request.related_limit, project_id=request.project)
    return [_item(request, found, each, around.get(each.option.id, [])) for each in found.chosen]


def _item(request: ContextRequest, found: _Found, chosen: Chosen, related: list[RelatedItem]) -> PackItem:
    option = chosen.option
    entity, hit, place = found.entities[option.id], found.candidates.get(option.id), found.places.get(option.id)
    source, url = (place.source_name, place.document_url) if place is not None else (None, entity.source_file)
    metadata: JsonObject = {
        **entity.metadata,
        **(chunk_metadata(place) if place is not None else {}),
        "category": entity.category,
        "languages": [*entity.languages],
        "author": found.authors[entity.id],
    }
    return PackItem.of(
        entity,
        type=entity.entity_type,
        content=_content(entity, hit),
        score=option.score,
        facet=chosen.facet,
        reason=reason(hit, chosen.facet, status=option.status, is_under_way=option.is_under_way),
        source=source,
        quality=Quality.of(
            entity,
            origin="document" if entity.entity_type == "document" else "graph",
            source=source,
            url=url,
            valid_at=valid_at if isinstance(valid_at := entity.metadata.get("valid_at"), str) else None,
        ),
        metadata=_audited(entity, metadata, hit, found)
        if request.audit
        else {key: metadata[key] for key in LEAN_METADATA if metadata.get(key) not in (None, [], "")},
        related=related,
    )


def _audited(entity: Entity, metadata: JsonObject, hit: Candidate | None, found: _Found) -> JsonObject:
    shown: JsonObject = {
        **metadata,
        "memory_scope": entity.memory_scope,
        "scope_key": entity.scope_key,
        "principal_id": entity.principal_id,
        "revision": entity.revision,
        "tags": [*entity.tags],
        "retrieval_signals": [*hit.sources] if hit is not None else [],
    }
    if hit is not None:
        shown["retrieval"] = details(hit, found.strongest)
        shown["passage"] = {"start": hit.passage[0], "end": hit.passage[1]} if hit.passage is not None else None
    return shown


def _content(entity: Entity, hit: Candidate | None) -> str:
    text = entity.content or entity.description
    before = body_of(entity)[1] - len(text)
    start = hit.passage[0] - before if hit is not None and hit.passage is not None else 0
    return excerpt_around(text, max(start, 0), CONTENT_LIMIT)


def _entry(item: PackItem, entity: Entity) -> Entry:
    author, status = (item.metadata.get(name) for name in ("author", "status"))
    states = [each for each in (status, trust_of(entity.metadata)) if isinstance(each, str)]
    marks = [item.type, *states, *([f"by {author}"] if author else [])]
    marks.append(recent_at(entity).date().isoformat())
    marks += [f"score {item.score:.2f}"] if item.score else []
    return Entry(
        section=SHELVES[item.facet].title,
        id=item.id,
        name=item.heading,
        marks=(*marks, *([item.source] if item.source else [])),
        content=item.content,
        is_cut=item.content != (entity.content or entity.description).strip(),
        links=item.related,
    )


def _evidence(app: App, call: Call, request: ContextRequest, wanted: EvidenceRequest) -> Evidence:
    is_naive = wanted.retrieval_mode == "naive"
    asked = SearchRequest(
        query=request.query,
        include_raw_memory="raw_memory" in wanted.types,
        use_enhanced=not is_naive,
        boost_recent=not is_naive,
        **wanted.model_dump(include={"types", "limit", "content_max_chars", "include_retrieval_diagnostics"}),
        **request.model_dump(include={"project", "min_score", "record_exposure"}),
    )
    found = searched(app, call, asked, wanted.retrieval_mode)
    reserves = wanted.reserve_distilled_notes and not is_naive
    if reserves and "session" in wanted.types and "note" not in wanted.types:
        least, most = max(asked.min_score, DOUBTFUL), max(asked.limit // PLACES_PER_NOTE, 1)
        kind = {"types": ["note"], "category": OPERATIONAL_NOTE, "include_raw_memory": False}
        of_notes = asked.model_copy(update={**kind, "min_score": least, "limit": most})
        found = _with_notes(found, searched(app, call, of_notes, wanted.retrieval_mode))
    filters = {**found.filters, "retrieval_mode": wanted.retrieval_mode, "reserve_distilled_notes": reserves}
    return Evidence.of(found, filters=filters, retrieval_arm="naive" if is_naive else None)


def _with_notes(found: SearchResponse, notes: SearchResponse) -> SearchResponse:
    others = found.results[: found.limit - len(notes.results)]
    merged = sorted([*others, *notes.results], key=lambda each: -each.score)
    counts = {name: getattr(found, name) + getattr(notes, name) for name in ("total", "graph_count")}
    has_more = found.limit < counts["total"]
    return found.model_copy(update=counts | {"results": merged, "has_more": has_more})
