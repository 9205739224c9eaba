"""The outline of a document: its sections, what each looks for, and the ids that name them. Pure."""

import hashlib
import json
from dataclasses import dataclass

from tools.organizations import slug_of
from tools.packs.facets import Facet
from tools.synthesis.models import PlanRequest
from tools.synthesis.templates import EVERYTHING, EXTENTS, OPEN, TEMPLATES, Extent
from tools.text.plain import one_line

TITLE_LIMIT = 120


@dataclass(frozen=True, slots=True)
class Section:
    """A section before anything is known of its sources."""

    id: str
    title: str
    prompt: str
    query: str
    facets: tuple[Facet, ...]
    work: frozenset[str] = OPEN
    required_ids: tuple[str, ...] = ()
    is_requested: bool = False
    """Whether somebody asked for it in words of their own."""


def run_id(request: PlanRequest) -> str:
    """Name a run by what is asked: the same request has the same id, and so have a plan and its draft."""
    asked = {name: value for name, value in request.model_dump(mode="json").items() if name in PlanRequest.model_fields}
    canonical = json.dumps(asked, sort_keys=True, ensure_ascii=False)
    return f"synthesis:{hashlib.sha256(canonical.encode(errors='surrogatepass')).hexdigest()[:16]}"


def extent_of(request: PlanRequest) -> Extent:
    """Say how much the depth of a request allows."""
    return EXTENTS[request.depth]


def title_of(request: PlanRequest) -> str:
    """Call a document by its goal."""
    goal = one_line(request.goal, TITLE_LIMIT).rstrip(".:;,")
    return goal[:1].upper() + goal[1:]


def sections_of(request: PlanRequest) -> list[Section]:
    """Plan the sections: those that were asked for, else those of the type as far as the depth and the limit go."""
    base = (request.seed_query or "").strip() or request.goal
    if request.required_sections:
        # The default limit is about templates: it drops no section that somebody asked for.
        most = request.max_sections if "max_sections" in request.model_fields_set else len(request.required_sections)
        return [
            Section(
                id=_section_id(place, wanted.title),
                title=one_line(wanted.title),
                prompt=wanted.prompt,
                query="\n".join(filter(None, (wanted.title, wanted.prompt, base))),
                facets=EVERYTHING,
                required_ids=tuple(dict.fromkeys(wanted.required_source_ids)),
                is_requested=True,
            )
            for place, wanted in enumerate(request.required_sections[:most], start=1)
        ]
    most = min(request.max_sections, extent_of(request).sections)
    return [
        Section(_section_id(place, each.title), each.title, each.prompt, base, each.facets, each.work)
        for place, each in enumerate(TEMPLATES[request.output_type][:most], start=1)
    ]


def _section_id(place: int, title: str) -> str:
    return f"section:{place:02}-{slug_of(title, 'section')}"
