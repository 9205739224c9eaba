"""A bounded breadth-first walk."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from stores.graph.neighbours import Direction, Edge


class Step(NamedTuple):
    """Edge of a path, seen from where the walk came."""

    name: str
    direction: Direction


class Reached(NamedTuple):
    """Entity and the way by which the walk first arrived."""

    id: str
    distance: int
    path: tuple[Step, ...]
    others: tuple[Step, ...] = ()
    """Other edges from the entity before it, each name and direction once."""

    @property
    def name(self) -> str:
        return self.path[-1].name

    @property
    def direction(self) -> Direction:
        return self.path[-1].direction


@dataclass(frozen=True, slots=True)
class Walk:
    """Entities of a walk without its start, nearest first."""

    entities: tuple[Reached, ...]
    capped: bool
    """There may be more."""


Hop = Callable[[Sequence[str]], tuple[Sequence[Edge], bool]]
"""Returns the edges of some entities, and whether some were left out."""


AT_ONCE = 16
"""Entities looked up between two checks of the bounds."""
MOST_EDGES = 20_000


def breadth_first(
    start: str, *, depth: int, cap: int, neighbours: Hop, most_around: float = math.inf, at_once: int = AT_ONCE
) -> Walk:
    """Visit at most `cap` entities within `depth` edges, by at most `MOST_EDGES` and about `most_around` look-ups."""
    seen: dict[str, Reached] = {start: Reached(start, 0, ())}
    frontier = [start]
    capped, edges, around = False, 0, 0
    for _ in range(depth):
        arrivals: dict[str, Reached] = {}
        room = cap - (len(seen) - 1)
        for place in range(0, len(frontier), at_once):
            if around >= most_around or len(arrivals) >= room or edges > MOST_EDGES:
                capped = True
                break
            origins = frontier[place : place + at_once]
            near, cut = neighbours(origins)
            around += len(origins)
            edges += len(near)
            capped = capped or cut
            arrivals |= _arrivals(_from(origins, near), seen, arrivals)
        capped = capped or len(arrivals) > room
        frontier = list(arrivals)[:room]
        seen |= {each: arrivals[each] for each in frontier}
        if not frontier:
            break
    return Walk(tuple(seen.values())[1:], capped)


def _from(origins: Sequence[str], found: Iterable[Edge]) -> Iterator[Edge]:
    of: dict[str, list[Edge]] = {origin: [] for origin in origins}
    for edge in found:
        if (edges := of.get(edge[0])) is not None:
            edges.append(edge)
    return chain.from_iterable(of.values())


def _arrivals(found: Iterable[Edge], seen: Mapping[str, Reached], known: Mapping[str, Reached]) -> dict[str, Reached]:
    arrivals: dict[str, Reached] = {}
    origins: dict[str, str] = {}
    # Cached: thousands of edges have few different steps and paths.
    steps: dict[tuple[str, Direction], Step] = {}
    origin, paths = "", dict[Step, tuple[Step, ...]]()
    for origin_id, id_, name, direction in found:
        if id_ in seen or id_ in known or origins.setdefault(id_, origin_id) != origin_id:
            continue
        way = name, direction
        if (step := steps.get(way)) is None:
            step = steps[way] = Step(name, direction)
        if (reached := arrivals.get(id_)) is None:
            if origin_id != origin:
                origin, paths = origin_id, {}
            if (path := paths.get(step)) is None:
                path = paths[step] = (*seen[origin_id].path, step)
            arrivals[id_] = Reached(id_, len(path), path)
        elif step != reached.path[-1] and step not in reached.others:
            arrivals[id_] = reached._replace(others=(*reached.others, step))
    return arrivals
