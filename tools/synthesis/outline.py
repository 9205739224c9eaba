"""Outline of a document: its sections, their queries and ids. Pure."""

import hashlib
import json
from dataclasses import dataclass

from tools.packs.facets import FACETS, Facet
from tools.people.organizations import slug_of
from tools.reflecting.reflection.similarity import stem, terms
from tools.synthesis.models import PlanRequest, RequiredSection
from tools.synthesis.templates import EXTENTS, LISTED, OPEN, TEMPLATES
from tools.text.plain import one_line

TITLE_LIMIT = 120
_GENERIC_WORDS = """
overview summary executive summaries background introduction context scope purpose goal goals status state current next
step steps action actions timeline roadmap milestone milestones risk risks gap gaps issue issues problem problems
question questions open key detail details note notes implementation approach evidence finding findings result results
verification testing conclusion conclusions recommendation recommendations appendix reference references change changes
work history highlights impact lesson lessons learned known what why how main important point points list describe
explain section document report
"""
GENERIC = frozenset(stem(word) for word in _GENERIC_WORDS.split())
"""Stems that say which part a section is, not its subject."""
_TEMPLATES = {each.title.casefold(): each for templates in TEMPLATES.values() for each in templates}


@dataclass(frozen=True, slots=True)
class Section:
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
            is_listed=request.output_type in LISTED,
        )
        for place, each in enumerate(TEMPLATES[request.output_type][:most], start=1)
    ]


def _requested(place: int, wanted: RequiredSection, base: str) -> Section:
    own = "\n".join(filter(None, (wanted.title.strip(), wanted.prompt.strip())))
    is_on_its_own = bool(terms(own).stems - GENERIC)
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
