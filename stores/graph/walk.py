"""A bounded breadth-first walk."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from stores.graph.neighbours import Direction, Edge


class Step(NamedTuple):
    """One edge of a path, seen from where the walk came."""

    name: str
    direction: Direction


class Reached(NamedTuple):
    """An entity and how the walk first arrived at it."""

    id: str
    distance: int
    path: tuple[Step, ...]
    others: tuple[Step, ...] = ()
    """What else links it to the entity from which the walk arrived, each name and direction once."""

    @property
    def name(self) -> str:
        """The type of the relation by which the walk arrived."""
        return self.path[-1].name

    @property
    def direction(self) -> Direction:
        """The direction in which the walk arrived."""
        return self.path[-1].direction


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk reached, nearest first; the start is not among it."""

    entities: tuple[Reached, ...]
    capped: bool
    """Whether there may be more: a bound was reached, or an entity had more edges than were followed."""


Hop = Callable[[Sequence[str]], tuple[Sequence[Edge], bool]]
"""The neighbours of some entities, and whether some were left out."""


class Front(NamedTuple):
    """Where a walk stands."""

    distance: int
    ids: Sequence[str]
    """What lies so many steps from the start."""
    seen: Mapping[str, Reached]
    """These and what is nearer: edges that lead back there may be left out."""
    room: int
    """Entities of which there may be more; edges to others after one too many may be left out."""
    most: int
    """Edges that it may look at."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a walk goes."""

    depth: int
    cap: int
    most_around: float
    """Entities whose edges are followed."""
    follows: Callable[[Iterable[str]], bool]
    """Whether the edges of all these are here as they are now."""


Ring = Callable[[Front], tuple[Sequence[Edge], int] | None]
"""All edges of a front that lead on, and how many it has; None where entities are to be asked for theirs."""

AT_ONCE = 16
"""Entities whose neighbours are looked up before asking whether there is room for more."""
MOST_EDGES = 20_000
"""Edges that a walk looks at; those of the entities after that are left out."""


def breadth_first(
    start: str, *, depth: int, cap: int, neighbours: Hop, ring: Ring = lambda _: None, most_around: int | None = None
) -> Walk:
    """Visit everything within `depth` edges of the start, at most `cap` entities; each only on its first arrival.

    The work is bounded, too: nobody's neighbours are looked up once the cap or `MOST_EDGES` is reached, or once they
    were of about `most_around` entities.
    """
    seen: dict[str, Reached] = {start: Reached(start, 0, ())}
    frontier = [start]
    capped, edges, around = False, 0, 0
    for distance in range(depth):
        arrivals: dict[str, Reached] = {}
        is_near = most_around is None or around + len(frontier) <= most_around
        room = cap - (len(seen) - 1)
        front = Front(distance, frontier, seen, room, MOST_EDGES - edges)
        if distance and is_near and room > 0 and (found := ring(front)) is not None:
            arrivals = _arrivals(_from(frontier, found[0]), seen, {})
            pages: Iterable[int] = ()
            around, edges = around + len(frontier), edges + found[1]
        else:
            pages = range(0, len(frontier), AT_ONCE)
        for place in pages:
            is_enough = most_around is not None and around >= most_around
            if is_enough or len(seen) + len(arrivals) > cap or edges > MOST_EDGES:
                capped = True
                break
            origins = frontier[place : place + AT_ONCE]
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
    """Leave out the edges of other origins, and order the rest as if each origin had been asked in its turn."""
    of: dict[str, list[Edge]] = {origin: [] for origin in origins}
    for edge in found:
        if (edges := of.get(edge[0])) is not None:
            edges.append(edge)
    return chain.from_iterable(of.values())


def _arrivals(found: Iterable[Edge], seen: Mapping[str, Reached], known: Mapping[str, Reached]) -> dict[str, Reached]:
    """Tell what is met for the first time; all edges of an origin are found together."""
    arrivals: dict[str, Reached] = {}
    origins: dict[str, str] = {}
    # Few different ones, and few ways from an origin: made once, and not for each of thousands of edges.
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
