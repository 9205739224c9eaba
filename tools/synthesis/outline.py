"""Outline of a document: its sections, their queries and ids, and their sources. Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from auth.visibility import entity_key
from stores.records import RAW_MEMORY, Entity, JsonObject
from tools.frame.json_values import texts_in
from tools.packs.context_models import PackItem
from tools.packs.facets import FACETS, Facet, Option, takes
from tools.packs.markdown import excerpt
from tools.records.projects import slug_of
from tools.records.trust import TRUST
from tools.reflecting.reflection.finding import sensitivity_flags
from tools.reflecting.reflection.similarity import stem, terms
from tools.search.answers import ORIGINS, Origin
from tools.synthesis.models import PlanRequest, RequiredSection
from tools.synthesis.templates import EXTENTS, LISTED_TYPES, OPEN, TEMPLATES
from tools.text.plain import one_line, plain

TITLE_LIMIT = 120
_GENERIC_WORDS = """
overview summary executive summaries background introduction context scope purpose goal status state current next step
action timeline roadmap milestone risk gap issue problem question open key detail note implementation approach evidence
finding result verification testing conclusion recommendation appendix reference change work history highlights impact
lesson learned known what why how main important point list describe explain section document report
"""
GENERIC_STEMS = frozenset(stem(word) for word in _GENERIC_WORDS.split())
_TEMPLATES = {each.title.casefold(): each for templates in TEMPLATES.values() for each in templates}


class Section(NamedTuple):
    id: str
    title: str
    prompt: str
    query: str
    facets: tuple[Facet, ...]
    work: frozenset[str] = OPEN
    required_ids: tuple[str, ...] = ()
    is_requested: bool = False
    is_first: bool = False
    is_listed: bool = False
    is_on_its_own: bool = False


def run_id(request: PlanRequest) -> str:
    """Return the id of a run: equal for a plan and its draft."""
    asked = {name: value for name, value in request.model_dump(mode="json").items() if name in PlanRequest.model_fields}
    canonical = json.dumps(asked, sort_keys=True, ensure_ascii=False)
    return f"synthesis:{hashlib.sha256(canonical.encode(errors='surrogatepass')).hexdigest()[:16]}"


def title_of(request: PlanRequest) -> str:
    goal = one_line(request.goal, TITLE_LIMIT).rstrip(".:;,")
    return goal[:1].upper() + goal[1:]


def sections_of(request: PlanRequest) -> list[Section]:
    base = (request.seed_query or "").strip() or request.goal
    if request.required_sections:
        # The default limit does not drop requested sections.
        most = request.max_sections if "max_sections" in request.model_fields_set else len(request.required_sections)
        wanted = request.required_sections[:most]
        return [_requested(place, each, base) for place, each in enumerate(wanted, start=1)]
    most = min(request.max_sections, EXTENTS[request.depth].sections)
    return [
        Section(
            id=_section_id(place, each.title),
            title=each.title,
            prompt=each.prompt,
            query=base,
            facets=each.facets,
            work=each.work,
            is_first=place == 1,
            is_listed=request.output_type in LISTED_TYPES,
        )
        for place, each in enumerate(TEMPLATES[request.output_type][:most], start=1)
    ]


def _requested(place: int, wanted: RequiredSection, base: str) -> Section:
    own = "\n".join(filter(None, (wanted.title.strip(), wanted.prompt.strip())))
    is_on_its_own = bool(terms(own).stems - GENERIC_STEMS)
    alike = None if is_on_its_own else _TEMPLATES.get(wanted.title.strip().casefold())
    return Section(
        id=_section_id(place, wanted.title),
        title=one_line(wanted.title),
        prompt=wanted.prompt,
        query=own if is_on_its_own else base,
        facets=alike.facets if alike else FACETS,
        work=alike.work if alike else OPEN,
        required_ids=tuple(dict.fromkeys(wanted.required_source_ids)),
        is_requested=True,
        is_first=place == 1,
        is_on_its_own=is_on_its_own,
    )


def _section_id(place: int, title: str) -> str:
    return f"section:{place:02}-{slug_of(title, 'section')}"


CLAIMS = "unresolved_claims"
CLAIMS_SHOWN, CLAIM_LIMIT = 10, 300
NAME_LIMIT = 160
SECRETS = frozenset({"private_key", "key", "token", "secret", "credential"})
REDACTED = "Redacted record"
WORK = ("task", "epic", "project")


@dataclass(frozen=True, slots=True)
class Source:
    id: str
    type: str
    name: str
    text: str
    score: float
    document: str | None
    origin: Origin
    facet: Facet | None
    status: str
    changed_at: datetime | None
    visibility: str
    """Key of those who may read entities made of it."""
    relation: str | None = None
    around: str | None = None
    """The source whose link brought it in."""
    is_outgoing: bool = True
    is_pinned: bool = False
    is_redacted: bool = False
    claims: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pack:
    section: Section
    sources: tuple[Source, ...]
    missing: tuple[str, ...] = ()
    hidden: int = 0
    corrections: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    degraded: Mapping[str, str] = field(default_factory=dict)

    @property
    def source_ids(self) -> list[str]:
        return [each.id for each in self.sources]


def source_of(entity: Entity, limit: int, *, item: PackItem | None = None, is_pinned: bool = False) -> Source:
    """Make a source of a record; `limit` is the length of its preview."""
    text = plain(item.content if item is not None else entity.content or entity.description)
    is_redacted = bool(SECRETS & set(sensitivity_flags(f"{entity.name}\n{entity.description}\n{entity.content}")))
    status = entity.metadata.get("status")
    claims = [one_line(each, CLAIM_LIMIT) for each in texts_in(entity.metadata.get(CLAIMS))[:CLAIMS_SHOWN]]
    claims = [each for each in claims if not SECRETS & set(sensitivity_flags(each))]
    return Source(
        id=entity.id,
        type=entity.entity_type,
        name=shown_name((entity.name if item is None else item.heading) or "Untitled"),
        text="" if is_redacted else excerpt(text, limit),
        score=item.score if item is not None else 0.0,
        document=item.source if item is not None else None,
        origin=ORIGINS.get(entity.entity_type, "graph"),
        facet=item.facet if item is not None else facet_of(entity.entity_type, str(status or "")),
        status=status if isinstance(status, str) and entity.entity_type in WORK else "",
        changed_at=entity.updated_at,
        visibility=entity_key(entity.visibility),
        is_pinned=is_pinned,
        is_redacted=is_redacted,
        claims=() if is_redacted else tuple(claims),
        metadata=_metadata(entity, item, is_pinned=is_pinned),
    )


def shown_name(name: str) -> str:
    return REDACTED if SECRETS & set(sensitivity_flags(name)) else one_line(name, NAME_LIMIT)


def facet_of(entity_type: str, status: str, among: Sequence[Facet] = FACETS) -> Facet | None:
    if entity_type == RAW_MEMORY:
        return "recent_memory" if "recent_memory" in among else None
    option = Option("", entity_type, status, score=0.0)
    return next((facet for facet in among if takes(facet, option)), None)


def _metadata(entity: Entity, item: PackItem | None, *, is_pinned: bool) -> JsonObject:
    shown: JsonObject = dict(item.metadata) if item is not None else {}
    if item is not None:
        shown |= {"facet": item.facet, "reason": item.reason}
    for key in ("status", "priority", TRUST):
        if isinstance(value := entity.metadata.get(key), str):
            shown.setdefault(key, value)
    shown |= {"project_id": entity.project_id} if entity.project_id else {}
    return shown | ({"pinned": True} if is_pinned else {})
