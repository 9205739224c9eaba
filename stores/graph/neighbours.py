"""One hop from an entity (query, result and Cypher statement), and a bounded walk of several."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, Literal, NamedTuple

from stores.graph.engine import Session, Value
from stores.graph.schema import OPEN_ENDED, known_end, known_time, stored_time

Direction = Literal["outgoing", "incoming"]
_Ways = Direction | Literal["both"]
_ARROWS: Mapping[_Ways, tuple[str, str]] = {"outgoing": ("-", "->"), "incoming": ("<-", "-"), "both": ("-", "-")}


@dataclass(frozen=True, slots=True)
class NeighbourQuery:
    """Filter of edges, applied before the limit: the rare visible edges of a hub count."""

    visibility: frozenset[str]
    """Origin, relation and neighbour must each carry one of these keys."""
    names: frozenset[str] | None = None
    include_incoming: bool = True
    incoming_names: frozenset[str] | None = None
    """Types of incoming edges where they differ from `names`."""
    as_of: datetime | None = None
    """None: edges current now. Else `valid_at <= as_of < invalid_at`, by what is known today."""
    until: datetime | None = None
    """With `as_of`: true at some moment between the two (`valid_at < until`)."""
    limit_per_id: int = 50
    entity_types: frozenset[str] | None = None
    project_ids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.limit_per_id < 1:
            raise ValueError("limit_per_id must be at least 1")
        if self.until is not None and (self.as_of is None or self.until <= self.as_of):
            raise ValueError("until must be later than as_of")

    def finds_nothing(self) -> bool:
        """Return whether an empty set excludes all; engines cannot type an empty list."""
        return (
            any(wanted is not None and not wanted for wanted in (self.visibility, self.entity_types, self.project_ids))
            or not self.ways
        )

    @property
    def ways(self) -> "tuple[Direction, ...]":
        found: list[Direction] = [] if self.names is not None and not self.names else ["outgoing"]
        incoming = self.names if self.incoming_names is None else self.incoming_names
        if self.include_incoming and (incoming is None or incoming):
            found.append("incoming")
        return tuple(found)

    def towards(self, direction: "Direction") -> "NeighbourQuery":
        if direction == "outgoing" or self.incoming_names is None:
            return self
        return replace(self, names=self.incoming_names, incoming_names=None)


class Neighbour(NamedTuple):
    origin_id: str
    id: str
    relation_id: str
    name: str
    direction: Direction
    valid_at: datetime
    invalid_at: datetime | None

    @property
    def edge(self) -> "Edge":
        return self.origin_id, self.id, self.name, self.direction


def hop(session: Session, origin_id: str, query: NeighbourQuery, now: datetime) -> list[Neighbour]:
    """Return neighbours of one entity, latest `valid_at` first, then by relation id.

    At most `limit_per_id + 1`; the surplus one tells of more. The engine chooses which ones a hub keeps.
    """
    if len(query.ways) > 1 and query.incoming_names is None:
        found = _around(session, query, _values(query, now) | {"id": origin_id})
    else:
        found = []
        for direction in query.ways:
            asked = query.towards(direction)
            found += _along(session, asked, direction, _values(asked, now) | {"id": origin_id})
    return _sorted(found)[: query.limit_per_id + 1]


Edge = tuple[str, str, str, Direction]
"""Origin id, neighbour id, relation name, direction. A plain tuple: a walk passes thousands."""


def _sorted(found: Iterable[Neighbour]) -> list[Neighbour]:
    by_id = sorted(found, key=lambda neighbour: neighbour.relation_id)
    return sorted(by_id, key=lambda neighbour: neighbour.valid_at, reverse=True)


def _around(session: Session, query: NeighbourQuery, values: Mapping[str, Value]) -> list[Neighbour]:
    found = _both(values, session.rows(_statement(query, "both", session.hop_hint), **values))
    if len(found) <= query.limit_per_id:
        return found
    outgoing = _along(session, query, "outgoing", values)
    if len(outgoing) <= query.limit_per_id:
        return outgoing + [each for each in found if each.direction == "incoming"]
    return outgoing + _along(session, query, "incoming", values)


def _both(values: Mapping[str, Value], rows: Iterable[Sequence[Any]]) -> list[Neighbour]:
    found: list[Neighbour] = []
    loops: set[str] = set()
    for *edge, source_id in rows:
        # An edge from an entity to itself comes twice.
        outgoing = source_id == values["id"] and edge[1] not in loops
        if edge[0] == values["id"]:
            loops.add(edge[1])
        found.append(_neighbour(str(values["id"]), "outgoing" if outgoing else "incoming", edge))
    return found


def _along(
    session: Session, query: NeighbourQuery, direction: Direction, values: Mapping[str, Value]
) -> list[Neighbour]:
    rows = session.rows(_statement(query, direction, session.hop_hint), **values)
    return [_neighbour(str(values["id"]), direction, edge) for *edge, _ in rows]


def _statement(query: NeighbourQuery, ways: _Ways, hint: str) -> str:
    left, right = _ARROWS[ways]
    return (
        f"MATCH (e0:Entity {{id: $id}}){left}[r1:Relation]{right}(e1:Entity) "
        f"WHERE e0.visibility IN $visibility AND {_tests(query)} {hint} "
        f"RETURN e1.id, r1.id, r1.name, r1.valid_at, r1.invalid_at, r1.source_id "
        f"LIMIT {_rounded(query.limit_per_id + 1)}"
    )


def _tests(query: NeighbourQuery) -> str:
    if query.as_of is None:
        # A relation that was true when it was recorded has begun, whatever the clock says.
        begun = "(r1.valid_at <= $moment OR r1.valid_at <= r1.created_at)"
        tests = ["r1.expired_at = $never", "r1.invalid_at > $moment", begun]
    else:
        begun = "r1.valid_at <= $moment" if query.until is None else "r1.valid_at < $until"
        tests = [begun, "r1.invalid_at > $moment"]
    tests.append("r1.visibility IN $visibility")
    if query.names is not None:
        tests.append("r1.name IN $names")
    # Tested beside a column of the edge, or the planner scans all entities for the neighbour first (30 times slower).
    return f"{' AND '.join(tests)} AND (r1.id = '' OR ({' AND '.join(_entity_tests(query))}))"


def _entity_tests(query: NeighbourQuery) -> list[str]:
    tests = ["e1.visibility IN $visibility"]
    if query.entity_types is not None:
        tests.append("e1.entity_type IN $entity_types")
    if query.project_ids is not None:
        tests.append("e1.project_id IN $project_ids")
    return tests


def _values(query: NeighbourQuery, now: datetime) -> dict[str, Value]:
    values: dict[str, Value] = {"visibility": sorted(query.visibility), "moment": stored_time(query.as_of or now)}
    if query.as_of is None:
        values["never"] = OPEN_ENDED
    if query.until is not None:
        values["until"] = stored_time(query.until)
    if query.names is not None:
        values["names"] = sorted(query.names)
    if query.entity_types is not None:
        values["entity_types"] = sorted(wanted.lower() for wanted in query.entity_types)
    if query.project_ids is not None:
        values["project_ids"] = sorted(query.project_ids)
    return values


def _rounded(limit: int) -> int:
    return 1 << (limit - 1).bit_length()


def _neighbour(origin_id: str, direction: Direction, edge: Sequence[Any]) -> Neighbour:
    neighbour_id, relation_id, name, valid_at, invalid_at = edge
    return Neighbour(origin_id, neighbour_id, relation_id, name, direction, known_time(valid_at), known_end(invalid_at))


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
    """Visit at most `cap` entities within `depth` edges, by at most `MOST_EDGES` edges and `most_around` look-ups."""
    seen: dict[str, Reached] = {start: Reached(start, 0, ())}
    frontier = [start]
    capped, edges, around = False, 0, 0
    for _ in range(depth):
        arrivals: dict[str, Reached] = {}
        room = cap - (len(seen) - 1)
        place = 0
        while place < len(frontier):
            if around >= most_around or len(arrivals) >= room or edges > MOST_EDGES:
                capped = True
                break
            origins = frontier[place : place + int(min(at_once, most_around - around))]
            place += len(origins)
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
