"""Which neighbours of the best candidates a search takes in, and which of them tell of what led to them. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    of_now_alone: bool = False
    """Whether the question names days, and others of its name were true then in its stead."""


class Reached(NamedTuple):
    """What a candidate leads to."""

    record_id: str
    lead: float
    """The score of the best candidate that leads to it."""
    telling: bool
    """Whether it is about that candidate, and not merely filed with it, one of many or of other days than are meant."""


def dated(then: Sequence[Link], now: Iterable[Link]) -> list[Link]:
    """Join what was true in the days that a question names with what is true now; the former come first.

    A candidate of which something was true then is not asked for what of the same name is true now alone.
    """
    told, known = {(link.seed, link.name) for link in then if link.name != SUCCESSION}, set(then)
    later = (link for link in now if link not in known)
    return [*then, *(link._replace(of_now_alone=(link.seed, link.name) in told) for link in later)]


def reach(
    strength: Mapping[str, float], links: Iterable[Link], *, shown: Collection[str], replaced: Collection[str]
) -> list[Reached]:
    """Return the neighbours, each once, `NEIGHBOURS_EACH` of a candidate.

    A candidate that is not shown leads nowhere; one that was replaced leads to its successor. One with more neighbours
    than are taken in is a hub, and what is linked to it is one of many; those of now alone do not make it one.
    """
    around: dict[str, dict[str, bool]] = {}
    counted: dict[str, set[str]] = {}
    for link in links:
        is_succession = link.name == SUCCESSION
        if link.seed in shown or (link.seed in replaced and is_succession):
            found = around.setdefault(link.seed, {})
            found[link.record_id] = found.get(link.record_id, False) or _tells(link)
            if not link.of_now_alone:
                counted.setdefault(link.seed, set()).add(link.record_id)
    reached: dict[str, Reached] = {}
    for seed, found in around.items():
        is_hub = len(counted.get(seed, ())) > NEIGHBOURS_EACH
        for record_id in list(found)[:NEIGHBOURS_EACH]:
            telling = found[record_id] and not is_hub
            each = Reached(record_id, strength[seed], telling)
            before = reached.get(record_id)
            if before is None or (each.telling, each.lead) > (before.telling, before.lead):
                reached[record_id] = each
    return list(reached.values())


def _tells(link: Link) -> bool:
    return link.name not in MEMBERSHIP and not link.of_now_alone
