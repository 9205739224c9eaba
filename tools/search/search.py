"""The verb search: one retrieval over graph, documents and raw memories."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from auth.memory_policy import MemoryScopeRequest, readable_memory
from auth.policy import MemoryScope
from auth.principal import Principal
from stores.exposures import Shown
from stores.ledger.documents import ChunkPlace
from stores.records import RAW_MEMORY, Entity, Facet, IndexFilter, JsonObject, RawMemory, matches, searchable_text
from tools.app import App
from tools.frame.dates import Date, optional_moment
from tools.frame.operation import Call, Filters, Route, Tool, entry
from tools.records.entity_models import CommaSeparated, EntityId, Label, Labels, chunk_metadata, split_list
from tools.records.entity_types import ENTITY_TYPES, EntityType
from tools.records.memory_models import SourceId, memory_place
from tools.records.receipts import authors
from tools.records.trust import TRUST, trust_of
from tools.retrieval.pipeline import answered
from tools.retrieval.plan import AGENTS_SCORE, DECAY_DAYS, DETAILED, EVERYTHING, Imported, Mode, Plan
from tools.retrieval.pool import Candidate, Ranking
from tools.search.answers import ORIGINS, SPARE, Distinct, SearchResponse, SearchResult, for_agents, ranked, traced
from tools.search.exposure import exposed, stamp

SearchType = Literal[EntityType, "raw_memory"]
QUERY_LIMIT = 100_000


class SearchRequest(Filters):
    """A query with its filters."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=QUERY_LIMIT)] = Field(
        description='Question in plain words; exact identifiers and "quoted phrases" work too.'
    )
    types: Annotated[list[SearchType], Field(max_length=50)] | None = Field(
        None, description="Only these types: those of `add`, or raw_memory."
    )
    language: Label | None = Field(None, description="Only this programming language.")
    category: Label | None = Field(None, description="Only this category.")
    tags: Labels = Field([], description="Only records with one of these tags.")
    status: CommaSeparated | None = Field(None, description="Only work with one of these statuses, comma-separated.")
    project: EntityId | None = Field(None, description="Only this project (id).")
    source: Label | None = Field(None, description="Only documents of this source (name).")
    source_id: SourceId | None = Field(None, description="Only documents or raw memories of this source (id).")
    source_name: Label | None = Field(None, description="Only documents of sources whose name contains this.")
    assignee: Label | None = Field(None, description="Only tasks assigned to this person.")
    since: Date | None = Field(None, description="Only what changed since: ISO date, or like 7d.")
    reference_time: Date | None = Field(None, description="Reference for recency and relative dates.")
    as_of: Date | None = Field(None, description="Search as of this moment.")
    limit: int = Field(10, ge=1, le=50, description="Most results.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Results to skip.")
    min_score: float = Field(0, ge=0, le=1, description="Least score of a result.")
    include_content: bool = Field(True, description="Return the content of results.")
    content_max_chars: int = Field(500, ge=0, le=50_000, description="Characters of content per result.")
    include_documents: bool = Field(True, description="Search documentation chunks.")
    include_graph: bool = Field(True, description="Search the entities of the graph.")
    include_raw_memory: bool = Field(True, description="Search raw memories.")
    memory_scope: MemoryScope = Field("private", description="Scope of the raw memories.")
    scope_key: EntityId | None = Field(None, description="Key of that scope: a project, team or space id.")
    participants: Labels = Field([], description="Only raw memories with one of these in metadata.participants.")
    labels: Labels = Field([], description="Only raw memories with one of these in metadata.labels.")
    thread_id: EntityId | None = Field(None, description="Only raw memories with this metadata.thread_id.")
    occurred_after: Date | None = Field(
        None, description="Only raw memories whose metadata.occurred_at, or a part of it, lies then or later."
    )
    occurred_before: Date | None = Field(
        None, description="Only raw memories whose metadata.occurred_at, or a part of it, lies earlier."
    )
    use_enhanced: bool = Field(True, description="Let the graph contribute to the ranking.")
    boost_recent: bool = Field(True, description="Rank newer records higher.")
    temporal_decay_days: float | None = Field(None, gt=0, le=36_500, description="Days in which recency halves.")
    include_retrieval_diagnostics: bool = Field(False, description="Say how each result was found.")
    record_exposure: bool = Field(True, description="Record what was returned.")


REST_ONLY = frozenset({
    "reference_time", "as_of", "include_raw_memory", "participants", "labels",
    "thread_id", "occurred_after", "occurred_before", "record_exposure",
})  # fmt: skip


@entry(
    Route("POST", "/api/search", tag="search", errors=frozenset({400})),
    tool=Tool(
        "Search the memory",
        read_only=True,
        omit=REST_ONLY,
        defaults={"min_score": AGENTS_SCORE, "content_max_chars": 400},
        answer=for_agents,
    ),
)
async def search(app: App, call: Call, request: SearchRequest) -> SearchResponse:
    """Search the shared memory by meaning, words and relations; best hits first, scores comparable between queries.

    `total` counts the permitted candidates of a pool of at most 1,000, not everything that matches.
    """
    return await answered(app, call.caller.organization_id, partial(searched, app, call, request))


def searched(app: App, call: Call, request: SearchRequest, mode: Mode = "fast") -> SearchResponse:
    memories = _memories(call.caller, request)
    if request.types and RAW_MEMORY not in request.types:
        memories = None
    plan = _plan(app, call, request, memories, mode)
    ranking, page = Ranking(), Distinct()
    unread = 0
    if plan is not None:
        unread = app.indexer.unread(call.caller.organization_id, plan.filter.visibility)
        ranking, page = ranked(app, plan, partial(_readable, app, call, plan), request.offset, request.limit)
    kept, count = page.hits, page.counted(ranking)
    results = _results(app, call, request, kept)
    for result in results:
        if others := page.others.get(result.id):
            result.metadata["also_stored_as"] = [other.id for other in others]
    expands, detailed = plan is not None and plan.expand, request.include_retrieval_diagnostics
    filters = _echo(request)
    filters |= traced(ranking, mode, expands=expands, detailed_from=request.offset if detailed else None)
    if unread:
        filters["pending_records"] = unread
    usage = None
    if request.record_exposure:
        with ranking.timed("exposure"):
            placed = enumerate(kept, start=request.offset + 1)
            shown = [Shown(entity.id, entity.visibility, place, hit.score) for place, (hit, entity) in placed]
            usage = exposed(app, call, "search", shown)
        filters["usage_exposure"] = usage.model_dump() if usage is not None else {}
    stamp(usage, [(result.id, result.metadata) for result in results])
    return SearchResponse.of(
        request,
        results=results,
        total=sum(count.values()),
        filters=filters,
        graph_count=count["graph"],
        document_count=count["document"],
        raw_memory_count=count["raw_memory"],
        has_more=request.offset + request.limit < sum(count.values()),
    ).with_best(ranking.best)


def _memories(caller: Principal, request: SearchRequest) -> str | None:
    if not request.include_raw_memory:
        return None
    project_id = request.project if request.scope_key is None else None
    wanted = MemoryScopeRequest(request.memory_scope, request.scope_key, project_id)
    if "memory_scope" in request.model_fields_set:
        return readable_memory(caller, wanted).key
    return next(iter(caller.own_memories), None)


def _plan(app: App, call: Call, request: SearchRequest, memories: str | None, mode: Mode) -> Plan | None:
    now = app.clock()
    reference = optional_moment(request.reference_time, now=now, field="reference_time")
    updated_since = optional_moment(request.since, now=reference or now, field="since")
    as_of = optional_moment(request.as_of, now=now, field="as_of")
    imported, types = _imported(request, reference or now), _types(request)
    sources = _sources(app, call, request)
    if (types == () and memories is None) or sources == ():
        return None
    single: dict[Facet, str | None] = {
        "language": request.language,
        "category": request.category,
        "project_id": request.project,
        "assignee": request.assignee,
    }
    any_of = {facet: frozenset({value.lower()}) for facet, value in single.items() if value is not None}
    if request.status:
        any_of["status"] = frozenset(split_list(request.status.lower()))
    if types:
        any_of["entity_type"] = frozenset(types if memories is None else (*types, RAW_MEMORY))
    said = _memories_of_source(app, call, request, memories)
    visible = frozenset[str]() if types == () else call.caller.visible
    if sources is not None and said is None:
        any_of["source_id"] = frozenset(source.lower() for source in sources)
    if request.tags:
        tagged = frozenset(app.ledger.records.tagged(call.caller.organization_id, request.tags))
        said = tagged if said is None else said & tagged
    return Plan(
        organization_id=call.caller.organization_id,
        query=request.query,
        filter=IndexFilter(
            visibility=visible if memories is None else visible | {memories},
            any_of=any_of,
            updated_since=updated_since,
            ids=said,
        ),
        now=reference or now,
        wanted=max(
            request.offset + DETAILED if request.include_retrieval_diagnostics else 0,
            2 * (request.offset + request.limit) + SPARE,
        ),
        superseding_keys=call.caller.visible,
        # The filter is for memories; without them it would starve the lanes.
        imported=imported if memories is not None else EVERYTHING,
        as_of=as_of,
        expand=request.use_enhanced,
        boost_recent=request.boost_recent,
        newest_first=request.boost_recent,
        boost_cited=app.settings.usage_signal and as_of is None,
        decay_days=request.temporal_decay_days or DECAY_DAYS,
        min_score=request.min_score,
        mode=mode,
    )


def _memories_of_source(app: App, call: Call, request: SearchRequest, memories: str | None) -> frozenset[str] | None:
    if request.source_id is None or memories is None or request.source is not None or request.source_name is not None:
        return None
    found = app.ledger.memories.memories_from(call.caller.organization_id, request.source_id)
    return frozenset(each.entity.id for each in found if each.entity.visibility == memories) or None


def _sources(app: App, call: Call, request: SearchRequest) -> tuple[str, ...] | None:
    found = None if request.source_id is None else {request.source_id}
    if request.source is not None or request.source_name is not None:
        sources, visible = app.ledger.records.sources, call.caller.visible
        names = {"name": request.source, "name_contains": request.source_name}
        named = set(sources(call.caller.organization_id, visibility=visible, **names))
        found = named if found is None else found & named
    return None if found is None else tuple(sorted(found))


def _imported(request: SearchRequest, now: datetime) -> Imported:
    return Imported(
        participants=frozenset(word.lower() for word in request.participants),
        labels=frozenset(word.lower() for word in request.labels),
        thread_id=request.thread_id,
        after=optional_moment(request.occurred_after, now=now, field="occurred_after"),
        before=optional_moment(request.occurred_before, now=now, field="occurred_before"),
    )


def _types(request: SearchRequest) -> tuple[str, ...] | None:
    wanted = [name for name in request.types or ENTITY_TYPES if name != RAW_MEMORY]
    kept = tuple(
        name for name in wanted if (request.include_documents if name == "document" else request.include_graph)
    )
    return None if len(kept) == len(ENTITY_TYPES) else kept


def _readable(app: App, call: Call, plan: Plan, ids: Sequence[str]) -> dict[str, Entity]:
    organization = call.caller.organization_id
    if plan.as_of is None:
        read = app.ledger.records.entities(organization, ids)
        return {each: entity for each, entity in read.items() if matches(entity, plan.filter)}
    # A revision that was private then stays private, even if the record has more readers now.
    read = app.ledger.records.entities_at(organization, ids, plan.as_of)
    return {each: entity for each, entity in read.items() if entity.visibility in plan.filter.visibility}


def _results(app: App, call: Call, request: SearchRequest, kept: list[tuple[Candidate, Entity]]) -> list[SearchResult]:
    organization = call.caller.organization_id
    chunks = app.ledger.records.chunks(organization, [entity.id for _, entity in kept if entity.source_id])
    memories = app.ledger.memories.by_ids(
        organization, [entity.id for _, entity in kept if entity.entity_type == RAW_MEMORY]
    )
    names = authors(app, (entity for _, entity in kept))
    results = []
    for hit, entity in kept:
        chunk = chunks.get(entity.id)
        metadata = _metadata(entity, chunk, memories.get(entity.id))
        if hit.passage is not None:
            metadata["passage"] = passage(entity, hit.passage, request)
        metadata["retrieval_signals"] = [*hit.sources]
        metadata["author"] = names[entity.id]
        metadata["updated_at"] = entity.updated_at.isoformat()
        result = SearchResult.of(
            entity,
            type=entity.entity_type,
            content=entity.content[: request.content_max_chars] if request.include_content else "",
            score=hit.score,
            source=chunk.source_name if chunk is not None else None,
            url=chunk.document_url if chunk is not None else entity.source_file,
            result_origin=ORIGINS.get(entity.entity_type, "graph"),
            metadata=metadata,
        )
        results.append(result)
    return results


def _metadata(entity: Entity, chunk: ChunkPlace | None, memory: RawMemory | None) -> JsonObject:
    if entity.entity_type == "document":
        return _document_metadata(entity, chunk)
    if entity.entity_type == RAW_MEMORY:
        return memory_place(memory) if memory is not None else {}
    return {
        "category": entity.category,
        "languages": list(entity.languages),
        "status": entity.metadata.get("status"),
        "priority": entity.metadata.get("priority"),
        **({TRUST: trust} if (trust := trust_of(entity.metadata)) else {}),
    }


def _document_metadata(entity: Entity, chunk: ChunkPlace | None) -> JsonObject:
    found = entity.metadata if chunk is None else chunk_metadata(chunk)
    shown: JsonObject = {key: found.get(key) for key in ("document_id", "source_id", "chunk_type", "heading_path")}
    whole = f"GET /api/entities/{entity.id}"
    shown["hint"] = (
        f"Read it whole with {whole}; it was not ingested, so nothing stands around it."
        if chunk is None
        else f"Read the whole chunk with {whole}, or with fetch_slice what stands around it."
    )
    return shown


def passage(entity: Entity, span: tuple[int, int], request: SearchRequest) -> JsonObject:
    start, end = span
    shown: JsonObject = {"start": start, "end": end}
    if request.include_content and request.content_max_chars:
        shown["text"] = searchable_text(entity)[start:end][: min(PASSAGE_LIMIT, request.content_max_chars)]
    return shown


def _echo(request: SearchRequest) -> dict[str, Any]:
    given = request.model_dump(mode="json", include=ECHOED, exclude_none=True)
    filters: dict[str, Any] = {key: value for key, value in given.items() if value != []}
    return filters | ({"min_score": request.min_score} if request.min_score > 0 else {})


ECHOED = {
    "types", "language", "category", "tags", "status", "project", "source", "source_id", "source_name", "assignee",
    "since", "reference_time", "as_of", "include_documents", "include_graph", "include_raw_memory", "memory_scope",
    "scope_key", "participants", "labels", "thread_id", "occurred_after", "occurred_before", "use_enhanced",
    "boost_recent", "content_max_chars",
}  # fmt: skip
PASSAGE_LIMIT = 1200
