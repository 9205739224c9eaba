"""Cycle detection for dependencies, parents and supersessions."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from auth.principal import Principal
from stores.errors import InvalidRequest
from stores.ledger import SUPERSEDES, Transaction
from stores.records import Entity

WORK = frozenset({"task", "epic"})
ALWAYS = frozenset({"CHILD_OF", SUPERSEDES})
SHOWN = 20

Edges = defaultdict[str, list[str]]


def refuse_cycles(tx: Transaction, caller: Principal, links: Iterable[tuple[Entity, str, str]]) -> None:
    """Refuse relations, just recorded as (source, name, target id), that close a cycle.

    Only relations that the caller may read are followed, so that the message reveals nothing else.
    """
    added: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for source, name, target_id in links:
        if name in ALWAYS or (name == "DEPENDS_ON" and source.entity_type in WORK):
            added[name].append((source.id, target_id))
    for name, pairs in added.items():
        edges = _reachable(tx, caller, name, {target for _, target in pairs})
        for source_id, target_id in pairs:
            if way := shortest_path(edges, target_id, source_id):
                raise _cycle(name, [source_id, *way])


def _reachable(tx: Transaction, caller: Principal, name: str, starts: set[str]) -> Edges:
    edges: Edges = defaultdict(list)
    seen, frontier = set(starts), set(starts)
    while frontier:
        found = tx.relations.edges_from(frontier, name, caller.visible)
        for source_id, target_id in found:
            edges[source_id].append(target_id)
        frontier = {target_id for _, target_id in found} - seen
        seen |= frontier
    return edges


def shortest_path(edges: Mapping[str, Collection[str]], start: str, goal: str) -> list[str]:
    """Return the ids on the way, both ends included; empty if there is none."""
    before: dict[str, str | None] = {start: None}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if here == goal:
            return _back(before, goal)
        for there in edges.get(here, ()):
            if there not in before:
                before[there] = here
                waiting.append(there)
    return []


def _back(before: dict[str, str | None], goal: str) -> list[str]:
    way: list[str] = []
    here: str | None = goal
    while here is not None:
        way.append(here)
        here = before[here]
    return way[::-1]


def _cycle(name: str, way: Sequence[str]) -> InvalidRequest:
    shown = [*way[: SHOWN - 1], "…", way[-1]] if len(way) > SHOWN else way
    return InvalidRequest(
        f"{name} would make a circle: {' -> '.join(shown)}.",
        remediation="End one of these relations first, or leave this one out.",
        details={"field": "body", "relationship_type": name},
    )
