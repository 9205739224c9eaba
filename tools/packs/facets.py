"""Facets of a context pack, by intent, entity type and layer, and the choice of its records. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple, get_args

from tools.records.entity_types import GONE, UNVERIFIED

Intent = Literal["build", "plan", "ideate", "research", "review", "debug", "decide", "learn", "general"]
Layer = Literal["wake", "recall", "deep_search"]
Facet = Literal[
    "active_work", "prior_art", "artifacts", "constraints", "decisions", "domain", "gotchas", "ideation", "planning",
    "procedures", "recent_memory", "verification",
]  # fmt: skip
FACETS: tuple[Facet, ...] = get_args(Facet)


class Shelf(NamedTuple):
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


DONE = frozenset({"done", "completed"})
LEAST_NEAR: Mapping[Layer, float] = {"wake": 0.12, "recall": 0.12, "deep_search": 0.06}
"""Least cosines to the goal, as measured in `docs/experiments/packs.md`.

Not scores: these depend on unreadable records, and the size of a pack must not reveal them.
"""
STRONG = 0.3
"""Least score of a record that a pack names though no section shows it: `docs/experiments/other-kinds.md`."""
LEAST_SHARE = 0.5
UNDER_WAY = 0.5
"""Least weight of current work; no record that it leads weighs more."""
WORDLESS_SHARE, WORDLESS_MOST = 0.35, 0.2


@dataclass(frozen=True, slots=True)
class Option:
    id: str
    entity_type: str
    status: str
    score: float
    nearness: float = 1.0
    """Cosine to the goal; 1 if found by other evidence."""
    shares_words: bool = True
    is_under_way: bool = False

    @property
    def is_done(self) -> bool:
        return self.status in DONE and self.entity_type in SHELVES["active_work"].types


class Chosen(NamedTuple):
    option: Option
    facet: Facet


def relevant(options: Iterable[Option], layer: Layer) -> list[Option]:
    found = [option for option in options if option.score > 0]
    best = max((option.nearness for option in found), default=0.0)
    least = min(LEAST_NEAR[layer], LEAST_SHARE * best)
    nearest = max((option.nearness for option in found if option.nearness < 1), default=0.0)
    wordless = 0.0 if layer == "deep_search" else min(WORDLESS_MOST, WORDLESS_SHARE * nearest)
    return [option for option in found if option.nearness >= (least if option.shares_words else max(least, wordless))]


def select(options: Iterable[Option], facets: Sequence[Facet], limit: int) -> list[Chosen]:
    """Choose at most `limit` records, most useful first, by score.

    The best of a facet counts double, so that facets survive a cut, but none of them hides a stronger record.
    """
    shelved: dict[Facet, list[Option]] = {facet: [] for facet in facets}
    room = most_each(limit, facets)
    open_ = list(facets)
    for option in sorted(options, key=lambda each: (not each.is_under_way, -each.score)):
        facet = next((each for each in open_ if takes(each, option)), None)
        if facet is not None:
            shelved[facet].append(option)
            if len(shelved[facet]) == room:
                open_.remove(facet)
        if not open_:
            break
    weighed = [
        (_weight(option, is_first=not place), Chosen(option, facet))
        for facet, found in shelved.items()
        for place, option in enumerate(found)
    ]
    return [chosen for _, chosen in sorted(weighed, key=lambda each: -each[0])][:limit]


def takes(facet: Facet, option: Option) -> bool:
    if option.status in GONE:
        return False
    if option.is_done:
        return facet == "prior_art"
    if option.status == UNVERIFIED and facet == "verification":
        return False
    return facet != "prior_art" and option.entity_type in SHELVES[facet].types


def _weight(option: Option, *, is_first: bool) -> float:
    weight = option.score if is_first else option.score / 2
    return max(weight, UNDER_WAY) if option.is_under_way else weight
