"""Source packs: pinned records, a context pack per section, and linked records. Blocks.

Rights, supersession and lifecycle are those of context packs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, NamedTuple

from auth.memory_policy import may_read_memory
from auth.policy import visible_beside
from auth.principal import Principal
from auth.visibility import members_key, project_key, space_key, team_key
from stores.ledger import EntityQuery
from stores.ledger.links import DirectedLink
from stores.records import Entity, RawMemory
from tools.app import App
from tools.frame.json_values import texts_in
from tools.frame.operation import Call
from tools.packs.context import Packed, packed, withheld
from tools.packs.context_models import ContextRequest, RelatedItem
from tools.packs.facets import DONE, LIMITS, Facet, Option, types_of
from tools.packs.options import STRUCTURE, in_force, links_of, readable_records, related_items
from tools.records.derivation import LINK, LINKS
from tools.records.entity_types import GONE
from tools.synthesis.models import PlanRequest
from tools.synthesis.outline import WORK, Pack, Section, Source, facet_of, shown_name, source_of
from tools.synthesis.templates import ABOUT_WORK, EXTENTS, Extent

SURFACE, GENERATED_SUFFIX = "synthesis", ":generated"
QUERY_LIMIT = 4_000
HUBS = ("project", "source")
LISTED_RECORDS = 100
SPARE = 2
ARTIFACT = "artifact:"
FALLBACK_FACETS: Mapping[str, Facet | None] = {
    "decision_ids": "decisions",
    "task_ids": "active_work",
    "entity_ids": None,
    "artifact_ids": "artifacts",
}


class Floors(NamedTuple):
    """Least cosines of a relevant record; chosen on `dev` of `docs/experiments/documents.md`.

    Higher than those of context packs: off-topic text weighs more in a document.
    """

    with_words: float
    wordless: float
    share: float
    wordless_share: float
    peak: float = 0.0


TOPIC = Floors(with_words=0.12, wordless=0.2, share=0.25, wordless_share=0.4)
OWN_WORDS = Floors(with_words=0.25, wordless=0.35, share=0.5, wordless_share=0.6, peak=0.35)
"""For sections requested by name: nearness to the goal tells little of them."""


def near_enough(options: Iterable[Option], floors: Floors) -> list[Option]:
    found = [option for option in options if option.score > 0]
    nearest = max((option.nearness for option in found if option.nearness < 1), default=0.0)
    holds_all = any(option.nearness >= 1 and option.shares_words for option in found)
    if nearest < floors.peak and not holds_all:
        return []
    with_words = max(floors.with_words, floors.share * nearest)
    wordless = max(floors.wordless, floors.wordless_share * nearest)
    return [option for option in found if option.nearness >= (with_words if option.shares_words else wordless)]


class SectionRequest(ContextRequest):
    """A context pack for one section."""

    wanted: tuple[Facet, ...] = ()
    tells_of_work: bool = False
    is_steady: ClassVar[bool] = True

    @property
    def led_by(self) -> str | None:
        return self.project if self.tells_of_work else None

    @property
    def facets(self) -> tuple[Facet, ...]:
        return self.wanted


class Pin(NamedTuple):
    id: str
    record: Entity | None = None
    lifecycle: str = ""
    """`superseded`, `archived` and the like."""
    is_output: bool = False

    def as_source(self) -> "Pin":
        return Pin(self.id) if self.is_output else self


class Gatherer(NamedTuple):
    app: App
    call: Call
    request: PlanRequest
    extent: Extent
    pins: Mapping[str, Sequence[Pin]]
    unread: frozenset[str]
    """Visibility keys of records that are counted, not shown."""

    @property
    def caller(self) -> Principal:
        return self.call.caller


def gather(app: App, call: Call, request: PlanRequest, sections: Sequence[Section]) -> list[Pack]:
    """Fill the source pack of each section, the readable pinned records first. Blocks."""
    gatherer = Gatherer(
        app,
        call,
        request,
        EXTENTS[request.depth],
        _read_pins(app, call.caller, request, sections),
        _withheld_keys(app, call.caller, request.project),
    )
    packs: dict[str, Pack] = {}
    for query in dict.fromkeys(section.query for section in sections):
        alike = [section for section in sections if section.query == query]
        parts, asked = [section.facets for section in alike], _asked(gatherer, alike)
        keep = partial(near_enough, floors=OWN_WORDS if alike[0].is_on_its_own else TOPIC)
        found = packed(app, call, asked, parts, keep)
        hidden = [0] * len(alike)
        if gatherer.unread:
            hidden = withheld(app, call, asked.model_copy(update={"limit": gatherer.extent.sources}), parts, keep,
                              gatherer.unread)  # fmt: skip
        for section, items, count in zip(alike, found, hidden, strict=True):
            packs[section.id] = _pack(gatherer, section, items, count)
    return [packs[section.id] for section in sections]


def still_there(app: App, caller: Principal, packs: Sequence[Pack]) -> list[Pack]:
    """Drop sources deleted, hidden or retired meanwhile. Blocks."""
    ids = {each for pack in packs for each in pack.source_ids}
    usable = in_force(app, caller, ids, caller.readable)
    return [replace(pack, sources=tuple(each for each in pack.sources if each.id in usable)) for pack in packs]


def _pack(gatherer: Gatherer, section: Section, found: Packed, hidden: int) -> Pack:
    extent = gatherer.extent
    entities = readable_records(gatherer.app, gatherer.caller, [item.id for item in found.items])
    generated = _generated_among(gatherer.app, gatherer.caller, entities.values())
    pins = gatherer.pins.get(section.id, ())
    pinned = [pin.record for pin in pins if pin.record is not None]
    project = gatherer.request.project
    is_beside = project is not None and (section.is_on_its_own or not section.is_first)
    left_out = generated | {each.id for each in pinned} | ({str(project)} if is_beside else set())
    fitting = [
        item
        for item in found.items
        if item.id in entities and item.id not in left_out and _fits(section, entities[item.id])
    ]
    items = fitting[: extent.sources]
    sources = [source_of(each, extent.preview, is_pinned=True) for each in pinned]
    sources += [source_of(entities[item.id], extent.preview, item=item) for item in items]
    if section.is_listed:
        room = extent.sources - len(items)
        sources += _listed(gatherer, section, left_out | {each.id for each in sources})[:room]
    around = links_of(gatherer.app, gatherer.caller, [each.id for each in sources])
    if gatherer.request.include_neighborhoods:
        sources += _neighbours(gatherer, sources)
    corrections, claims = _judged(gatherer, sources, around)
    left = [*found.gone, *(pin.lifecycle for pin in pins if pin.lifecycle)]
    return Pack(
        section=section,
        sources=tuple(sources),
        missing=tuple(pin.id for pin in pins if pin.record is None),
        hidden=hidden + len(generated) + left.count("archived"),
        corrections=(*corrections, *(state for state in left if state != "archived")),
        claims=tuple(claims),
        degraded=found.degraded,
    )


def _asked(gatherer: Gatherer, alike: Sequence[Section]) -> SectionRequest:
    request, extent = gatherer.request, gatherer.extent
    wanted = tuple(dict.fromkeys(facet for section in alike for facet in section.facets))
    return SectionRequest.model_construct(
        goal=alike[0].query[:QUERY_LIMIT],
        intent="research",
        layer="recall",
        domain=request.domain,
        project=request.project,
        limit=min(extent.sources * SPARE, LIMITS["recall"]),
        include_related=False,
        record_exposure=False,
        wanted=wanted,
        tells_of_work=request.output_type in ABOUT_WORK and not alike[0].is_on_its_own,
    )


def _listed(gatherer: Gatherer, section: Section, known: set[str]) -> list[Source]:
    project, caller = gatherer.request.project, gatherer.caller
    query = EntityQuery(
        visibility=visible_beside(caller, project),
        types=tuple(sorted(types_of(section.facets))),
        project_ids=() if project is None else (project,),
        limit=LISTED_RECORDS,
    )
    found, _ = gatherer.app.ledger.records.list_entities(caller.organization_id, query)
    usable = in_force(gatherer.app, gatherer.caller, [each.id for each in found])
    generated = _generated_among(gatherer.app, caller, found)
    return [
        source_of(each, gatherer.extent.preview)
        for each in found
        if each.id in usable
        and each.id not in known | generated
        and _fits(section, each)
        and facet_of(each.entity_type, str(each.metadata.get("status") or "").lower(), section.facets)
    ]


def _fits(section: Section, entity: Entity) -> bool:
    status = str(entity.metadata.get("status") or "").lower()
    if entity.entity_type not in WORK or section.is_requested:
        return True
    return status in section.work or ("prior_art" in section.facets and status in DONE)


def _neighbours(gatherer: Gatherer, sources: Sequence[Source]) -> list[Source]:
    request, extent, known = gatherer.request, gatherer.extent, {each.id for each in sources}
    around = related_items(gatherer.app, gatherer.caller, [*known], limit=extent.related, project_id=request.project)
    wanted: dict[str, tuple[str, RelatedItem]] = {}
    for source in sources:
        for related in around.get(source.id, ()):
            # Membership is unrelated to the content of a record.
            is_filed = related.relationship in STRUCTURE and not {source.type, related.type}.isdisjoint(HUBS)
            if related.id not in known and not is_filed:
                wanted.setdefault(related.id, (source.id, related))
    entities = readable_records(gatherer.app, gatherer.caller, wanted)
    generated = _generated_among(gatherer.app, gatherer.caller, entities.values())
    told = [each for each in wanted if each in entities and each not in generated]
    told = [each for each in told if (entities[each].content or entities[each].description).strip()]
    found = []
    for each in told[: extent.sources // 2]:
        (around_id, link), source = wanted[each], source_of(entities[each], extent.preview)
        metadata = source.metadata | {"related_to": around_id, "direction": link.direction}
        is_outgoing = link.direction == "outgoing"
        found.append(
            replace(source, relation=link.relationship, around=around_id, is_outgoing=is_outgoing, metadata=metadata)
        )
    return found


def _judged(
    gatherer: Gatherer, sources: Sequence[Source], around: Mapping[str, Sequence[DirectedLink]]
) -> tuple[list[str], list[str]]:
    replaced = {
        link.id for links in around.values() for link in links if link.name == "SUPERSEDES" and link.way == "outgoing"
    }
    opposed = {
        (source.id, link.id) for source in sources for link in around.get(source.id, ()) if link.name == "CONTRADICTS"
    }
    names = {source.id: source.name for source in sources}
    there = in_force(gatherer.app, gatherer.caller, {other for _, other in opposed} - names.keys())
    others = readable_records(gatherer.app, gatherer.caller, there)
    names |= {each: shown_name(entity.name) for each, entity in others.items()}
    claims = [claim for source in sources for claim in source.claims]
    pairs = sorted({tuple(sorted(pair)) for pair in opposed if pair[1] in names})
    claims += [f"“{names[one]}” and “{names[other]}” contradict each other" for one, other in pairs]
    return ["superseded"] * len(replaced), list(dict.fromkeys(claims))


def _withheld_keys(app: App, caller: Principal, project_id: str | None) -> frozenset[str]:
    organization = caller.organization_id
    found = None if caller.is_narrowed else app.ledger.people.caller(caller.user_id, organization)
    if found is None:
        return frozenset()
    projects = {each.project_id for each in found[1].projects}
    if project_id is not None:
        projects &= {project_id}
    keys = {key(each) for each in projects for key in (project_key, members_key)}
    keys |= {team_key(team.id) for team in app.ledger.teams.of_organization(organization)}
    keys |= {
        space_key(space.memory_scope, space.scope_key)
        for space in app.ledger.spaces.spaces(organization, caller.user_id)
        if space.memory_scope == "shared" and space.scope_key and space.state == "active"
    }
    return frozenset(keys - caller.visible)


def _read_pins(
    app: App, caller: Principal, request: PlanRequest, sections: Sequence[Section]
) -> Mapping[str, Sequence[Pin]]:
    placed = {each for section in sections for each in section.required_ids}
    read = _read(app, caller, placed.union(*(getattr(request, field) for field in FALLBACK_FACETS)))
    pins = {section.id: [read[each].as_source() for each in section.required_ids] for section in sections}
    for field, facet in FALLBACK_FACETS.items():
        for each in getattr(request, field):
            if each not in placed:
                placed.add(each)
                pin = read[each] if field == "artifact_ids" else read[each].as_source()
                pins[_home(sections, pin.record, facet)].append(pin)
    return pins


def _home(sections: Sequence[Section], record: Entity | None, fallback: Facet | None) -> str:
    status = "" if record is None else str(record.metadata.get("status") or "")
    own = None if record is None else facet_of(record.entity_type, status)
    homes = (
        section.id
        for facet in (own, fallback)
        for section in sections
        if facet in section.facets and (facet != "active_work" or status.lower() in section.work)
    )
    return next(homes, sections[0].id)


def _read(app: App, caller: Principal, wanted: Collection[str]) -> Mapping[str, Pin]:
    organization = caller.organization_id
    readable = readable_records(app, caller, wanted)
    pins = {each: Pin(each, readable.get(each)) for each in wanted}
    statuses = app.ledger.records.statuses(organization, readable, visibility=caller.visible)
    for each, found in statuses.items():
        status = "superseded" if found.superseded else found.facets.status
        if status in GONE:
            pins[each] = Pin(each, lifecycle=status)
    memories = [*app.ledger.memories.by_ids(organization, wanted).items()]
    for each in wanted:
        if each.startswith(ARTIFACT):
            source = each if each.endswith(GENERATED_SUFFIX) else each + GENERATED_SUFFIX
            memories += [(each, memory) for memory in app.ledger.memories.memories_from(organization, source)]
    for each, memory in memories:
        if may_read_memory(caller, memory.entity.visibility) and memory.capture.review_state != "archived":
            is_output = _is_generated(memory) or memory.capture.candidate is not None
            pins[each] = Pin(each, memory.entity, is_output=is_output)
    return pins


def _is_generated(memory: RawMemory) -> bool:
    return memory.capture.capture_surface == SURFACE and memory.capture.source_id.endswith(GENERATED_SUFFIX)


def _generated_among(app: App, caller: Principal, entities: Iterable[Entity]) -> set[str]:
    # No document feeds on another.
    made_of = {
        entity.id: {*texts_in([entity.metadata.get(LINK)]), *texts_in(entity.metadata.get(LINKS))}
        for entity in entities
    }
    named = {each for ids in made_of.values() for each in ids}
    if not named:
        return set()
    memories = app.ledger.memories.by_ids(caller.organization_id, named)
    generated = {each for each, memory in memories.items() if _is_generated(memory)}
    return {each for each, ids in made_of.items() if ids & generated}
