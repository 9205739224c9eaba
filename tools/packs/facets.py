"""Facets of a context pack: by intent, by entity type, and sizes by layer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, get_args

Intent = Literal["build", "plan", "ideate", "research", "review", "debug", "decide", "learn", "general"]
Layer = Literal["wake", "recall", "deep_search"]
Facet = Literal[
    "active_work", "prior_art", "artifacts", "constraints", "decisions", "domain", "gotchas", "ideation", "planning",
    "procedures", "recent_memory", "verification",
]  # fmt: skip
FACETS: tuple[Facet, ...] = get_args(Facet)


@dataclass(frozen=True, slots=True)
class Shelf:
    title: str
    types: tuple[str, ...]


SHELVES: Mapping[Facet, Shelf] = {
    "active_work": Shelf("Active Work", ("task", "epic", "project")),
    "prior_art": Shelf("Prior Art", ("task", "epic")),
    "artifacts": Shelf("Artifacts", ("artifact", "document", "source", "config_file")),
    "constraints": Shelf("Constraints", ("rule", "guide")),
    "decisions": Shelf("Decisions", ("decision",)),
    "domain": Shelf("Domain Knowledge", ("domain", "topic", "claim")),
    "gotchas": Shelf("Gotchas", ("error_pattern", "pattern")),
    "ideation": Shelf("Ideas", ("idea",)),
    "planning": Shelf("Plans", ("plan",)),
    "procedures": Shelf("Procedures", ("procedure", "template", "tool")),
    "recent_memory": Shelf("Recent Memory", ("session", "episode", "note")),
    "verification": Shelf("Verification", ("claim", "rule", "procedure")),
}

INTENTS: Mapping[Intent, tuple[Facet, ...]] = {
    "build": (
        "active_work", "decisions", "constraints", "procedures", "gotchas", "prior_art", "artifacts", "recent_memory",
    ),
    "plan": ("planning", "decisions", "ideation", "domain", "constraints", "active_work", "prior_art"),
    "ideate": ("ideation", "domain", "decisions", "planning", "recent_memory"),
    "research": ("domain", "artifacts", "recent_memory", "decisions", "constraints"),
    "review": (
        "verification", "decisions", "constraints", "gotchas", "artifacts", "active_work", "prior_art", "recent_memory",
    ),
    "debug": (
        "gotchas", "procedures", "decisions", "constraints", "artifacts", "active_work", "prior_art", "recent_memory",
    ),
    "decide": ("decisions", "ideation", "domain", "constraints", "planning"),
    "learn": ("recent_memory", "domain", "procedures", "gotchas", "decisions"),
    "general": (
        "active_work", "decisions", "planning", "ideation", "domain", "procedures", "prior_art", "recent_memory",
    ),
}  # fmt: skip

LIMITS: Mapping[Layer, int] = {"wake": 8, "recall": 24, "deep_search": 50}
ON_WAKING = frozenset[Facet]({"recent_memory", "active_work", "decisions", "gotchas", "procedures"})
FEWEST_EACH, MOST_EACH = 2, 8


def facets_of(intent: Intent, layer: Layer) -> tuple[Facet, ...]:
    facets = INTENTS[intent]
    return tuple(facet for facet in facets if facet in ON_WAKING) if layer == "wake" else facets


def types_of(facets: Iterable[Facet]) -> frozenset[str]:
    return frozenset(each for facet in facets for each in SHELVES[facet].types)


def most_each(limit: int, facets: Sequence[Facet]) -> int:
    return max(FEWEST_EACH, min(ceil(limit / len(facets)), MOST_EACH))
