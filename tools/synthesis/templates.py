"""Section templates by document type, and the extent of each depth."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from tools.packs.facets import Facet

OutputType = Literal[
    "documentation", "report", "briefing", "roadmap", "release_notes", "audit_packet", "custom", "handbook"
]
Depth = Literal["brief", "standard", "deep"]
MOST_SECTIONS = 12

UNDER_WAY = frozenset({"doing", "review", "in_progress", "active"})
WAITING = frozenset({"", "backlog", "todo", "planned", "planning"})
BLOCKED = frozenset({"blocked", "on_hold"})
OPEN = UNDER_WAY | WAITING | BLOCKED


class Template(NamedTuple):
    title: str
    prompt: str
    facets: tuple[Facet, ...]
    work: frozenset[str] = OPEN


_RISKS = "What can go wrong, what is blocked and what is not known."
_RISK_FACETS: tuple[Facet, ...] = ("gotchas", "active_work", "ideation")
TEMPLATES: Mapping[OutputType, tuple[Template, ...]] = {
    "documentation": (
        Template("Overview", "What it is, and what it is for.", ("domain", "artifacts", "recent_memory")),
        Template("Key Decisions", "What was decided, and which rules hold.", ("decisions", "constraints")),
        Template(
            "Implementation Notes",
            "How it is done.",
            ("procedures", "artifacts", "prior_art", "planning", "active_work"),
            UNDER_WAY | WAITING,
        ),
        Template("Risks And Gaps", _RISKS, _RISK_FACETS, BLOCKED),
    ),
    "report": (
        Template("Executive Summary", "What matters most.", ("decisions", "active_work", "domain"), UNDER_WAY),
        Template(
            "Evidence", "What bears it out.", ("artifacts", "recent_memory", "verification", "prior_art", "planning")
        ),
        Template("Risks And Gaps", _RISKS, _RISK_FACETS, BLOCKED),
    ),
    "briefing": (
        Template("Situation", "Where things stand.", ("active_work", "decisions", "domain"), UNDER_WAY | BLOCKED),
        Template("Signals", "What was seen and learned.", ("recent_memory", "gotchas", "prior_art", "artifacts")),
        Template(
            "Next Actions", "What is to be done next.", ("active_work", "planning", "procedures", "ideation"), WAITING
        ),
    ),
    "roadmap": (
        Template("Current State", "What is under way.", ("active_work", "decisions"), UNDER_WAY),
        Template("Completed Work", "What is done.", ("prior_art", "recent_memory"), frozenset()),
        Template("Next Milestones", "What comes next.", ("planning", "active_work"), WAITING),
        Template("Risks And Open Questions", _RISKS, _RISK_FACETS, BLOCKED),
    ),
    "release_notes": (
        Template("Highlights", "What is new.", ("prior_art", "artifacts"), frozenset()),
        Template("Behavior Changes", "What behaves otherwise.", ("decisions", "constraints", "planning")),
        Template("Verification", "How it was checked.", ("verification", "recent_memory")),
        Template("Known Gaps", "What is missing or does not work yet.", ("gotchas", "active_work"), OPEN),
    ),
    "audit_packet": (
        Template("Scope", "What was looked at.", ("domain", "constraints", "active_work"), UNDER_WAY),
        Template("Findings", "What was found.", ("decisions", "gotchas", "verification")),
        Template("Evidence", "What bears it out.", ("artifacts", "recent_memory", "prior_art")),
        Template("Gaps And Risks", _RISKS, ("gotchas", "active_work", "ideation", "planning"), BLOCKED | WAITING),
    ),
    "custom": (
        Template("Overview", "What it is about.", ("domain", "decisions", "constraints", "active_work"), UNDER_WAY),
        Template(
            "Evidence", "What bears it out.", ("artifacts", "recent_memory", "verification", "procedures", "prior_art")
        ),
        Template("Gaps", _RISKS, ("gotchas", "active_work", "ideation", "planning"), BLOCKED | WAITING),
    ),
    "handbook": (
        Template("Orientation", "What it is, and how things are done.", ("domain", "procedures", "constraints")),
        Template("Decisions In Force", "What was decided and holds.", ("decisions",)),
        Template("Current Work", "What is being worked on, and planned.", ("active_work", "planning")),
        Template("Gotchas", "What one stumbles over.", ("gotchas",)),
        Template("Key Artifacts", "What there is to read.", ("artifacts", "recent_memory")),
    ),
}
ABOUT_WORK: frozenset[OutputType] = frozenset({"roadmap", "handbook"})
LISTED_TYPES: frozenset[OutputType] = frozenset({"handbook"})


class Extent(NamedTuple):
    sections: int
    sources: int
    related: int
    preview: int
    """Characters."""
    quoted: int
    """Characters."""


EXTENTS: Mapping[Depth, Extent] = {
    "brief": Extent(sections=3, sources=4, related=1, preview=300, quoted=160),
    "standard": Extent(sections=MOST_SECTIONS, sources=8, related=2, preview=600, quoted=320),
    "deep": Extent(sections=MOST_SECTIONS, sources=16, related=3, preview=1200, quoted=800),
}
