"""Choice of the graph neighbours that a search adds. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from tools.retrieval.plan import NEIGHBOURS_EACH

MEMBERSHIP = frozenset(("BELONGS_TO", "PART_OF", "CONTAINS"))
"""Weak evidence for a query that names the whole."""
SUCCESSION = "SUPERSEDES"


class SeedLink(NamedTuple):
    seed: str
    record_id: str
    name: str
    of_now_alone: bool = False
    """On the named days others of its name were true."""


class Reached(NamedTuple):
    record_id: str
    lead: float
    telling: bool
    """No membership, no hub, and true on the named days."""


def dated(then: Sequence[SeedLink], now: Iterable[SeedLink]) -> list[SeedLink]:
    replaced, known = {(link.seed, link.name) for link in then if link.name != SUCCESSION}, set(then)
    later = (link for link in now if link not in known)
    return [*then, *(link._replace(of_now_alone=(link.seed, link.name) in replaced) for link in later)]


def reach(
    strength: Mapping[str, float], links: Iterable[SeedLink], *, shown: Collection[str], replaced: Collection[str]
) -> list[Reached]:
    """Return each neighbour once, `NEIGHBOURS_EACH` per candidate.

    Hidden candidates lead nowhere, superseded ones to their successor.
    """
    around: dict[str, dict[str, bool]] = {}
    counted: dict[str, set[str]] = {}
    for link in links:
        is_succession = link.name == SUCCESSION
        if link.seed in shown or (link.seed in replaced and is_succession):
            found = around.setdefault(link.seed, {})
            tells = link.name not in MEMBERSHIP and not link.of_now_alone
            found[link.record_id] = found.get(link.record_id, False) or tells
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
