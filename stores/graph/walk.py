"""A bounded breadth-first walk."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from stores.graph.neighbours import Direction, Neighbour


@dataclass(frozen=True, slots=True)
class Step:
    """One edge of a path, seen from where the walk came."""

    name: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class Reached:
    """An entity and how the walk first arrived at it."""

    id: str
    distance: int
    path: tuple[Step, ...]

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
    """Whether there was more: the cap was reached, or an entity had more edges than were followed."""


Hop = Callable[[Sequence[str]], tuple[list[Neighbour], bool]]
"""The neighbours of some entities, and whether some were left out."""


def breadth_first(start: str, *, depth: int, cap: int, neighbours: Hop) -> Walk:
    """Visit everything within `depth` edges of the start, at most `cap` entities; each only on its first arrival."""
    seen: dict[str, Reached] = {start: Reached(start, 0, ())}
    frontier = [start]
    capped = False
    for _ in range(depth):
        found, cut = neighbours(frontier)
        arrivals = _arrivals(found, seen)
        room = cap - (len(seen) - 1)
        capped = capped or cut or len(arrivals) > room
        frontier = []
        for reached in arrivals[:room]:
            seen[reached.id] = reached
            frontier.append(reached.id)
        if not frontier:
            break
    return Walk(tuple(seen.values())[1:], capped)


def _arrivals(found: Iterable[Neighbour], seen: dict[str, Reached]) -> list[Reached]:
    arrivals: dict[str, Reached] = {}
    for neighbour in found:
        if neighbour.id not in seen and neighbour.id not in arrivals:
            origin = seen[neighbour.origin_id]
            step = Step(neighbour.name, neighbour.direction)
            arrivals[neighbour.id] = Reached(neighbour.id, origin.distance + 1, (*origin.path, step))
    return list(arrivals.values())
