"""Which neighbours of the best candidates a search takes in, and which of them tell of what led to them. Pure."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from tools.retrieval.plan import NEIGHBOURS_EACH

MEMBERSHIP = frozenset(("BELONGS_TO", "PART_OF", "CONTAINS"))
"""Relations that say where a record is filed: half a project answers no question for the project's name."""
SUCCESSION = "SUPERSEDES"


class Link(NamedTuple):
    """One relation of a candidate, in either direction."""

    seed: str
    record_id: str
    name: str


class Reached(NamedTuple):
    """What a candidate leads to."""

    record_id: str
    lead: float
    """The score of the best candidate that leads to it."""
    telling: bool
    """Whether it is about that candidate, and not merely filed with it or one of many."""


def reach(
    strength: Mapping[str, float], links: Iterable[Link], *, shown: Collection[str], replaced: Collection[str]
) -> list[Reached]:
    """Return the neighbours, each once, `NEIGHBOURS_EACH` of a candidate.

    A candidate that is not shown leads nowhere; one that was replaced leads to its successor. One with more neighbours
    than are taken in is a hub, and what is linked to it is one of many.
    """
    around: dict[str, dict[str, bool]] = {}
    for link in links:
        is_succession = link.name == SUCCESSION
        if link.seed in shown or (link.seed in replaced and is_succession):
            found = around.setdefault(link.seed, {})
            found[link.record_id] = found.get(link.record_id, False) or link.name not in MEMBERSHIP
    reached: dict[str, Reached] = {}
    for seed, found in around.items():
        for record_id in list(found)[:NEIGHBOURS_EACH]:
            telling = found[record_id] and len(found) <= NEIGHBOURS_EACH
            each = Reached(record_id, strength[seed], telling)
            before = reached.get(record_id)
            if before is None or (each.telling, each.lead) > (before.telling, before.lead):
                reached[record_id] = each
    return list(reached.values())
