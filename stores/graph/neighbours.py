"""One hop from an entity (query, result and Cypher statement), and a bounded walk of several."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from stores.graph.engine import Session
from stores.graph.schema import OPEN_ENDED, Value, stored_time

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
    """None: edges current now. Else `valid_at <= as_of < invalid_at`, by present knowledge."""
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
    def ways(self) -> tuple[Direction, ...]:
        wanted: tuple[Direction, ...] = ("outgoing", "incoming") if self.include_incoming else ("outgoing",)
        return tuple(way for way in wanted if self.names_towards(way) != frozenset())

    def names_towards(self, way: _Ways) -> frozenset[str] | None:
        return self.incoming_names if way == "incoming" and self.incoming_names is not None else self.names


Edge = tuple[str, str, str, Direction]
"""Origin id, neighbour id, relation name, direction. A plain tuple: a walk passes thousands."""
_Dated = tuple[datetime, str, Edge]
"""With its `valid_at` and relation id."""


def hop(session: Session, origin_id: str, query: NeighbourQuery, now: datetime) -> list[Edge]:
    """Return the edges of one entity, latest `valid_at` first, then by relation id.

    At most `limit_per_id + 1`; the surplus one tells of more. The engine chooses which ones a hub keeps.
    """
    # One look-up is faster than two, but the many edges of one direction may hide the others.
    at_once = len(query.ways) > 1 and query.incoming_names is None
    found = _along(session, origin_id, query, "both", now) if at_once else []
    if not at_once or len(found) > query.limit_per_id:
        found = [edge for way in query.ways for edge in _along(session, origin_id, query, way, now)]
    found.sort(key=lambda dated: dated[1])
    latest = sorted(found, key=lambda dated: dated[0], reverse=True)[: query.limit_per_id + 1]
    return [edge for _, _, edge in latest]


def _along(session: Session, origin_id: str, query: NeighbourQuery, way: _Ways, now: datetime) -> list[_Dated]:
    found: list[_Dated] = []
    loops: set[str] = set()
    statement, values = _statement(query, way, now, session.hop_hint)
    for id_, relation_id, name, valid_at, source_id in session.rows(statement, id=origin_id, **values):
        # Both ways, an edge from an entity to itself comes twice.
        outgoing = source_id == origin_id and relation_id not in loops
        if id_ == origin_id:
            loops.add(relation_id)
        direction: Direction = way if way != "both" else "outgoing" if outgoing else "incoming"
        found.append((valid_at, relation_id, (origin_id, id_, name, direction)))
    return found


def _statement(query: NeighbourQuery, way: _Ways, now: datetime, hint: str) -> tuple[str, dict[str, Value]]:
    values: dict[str, Value] = {"visibility": sorted(query.visibility), "moment": stored_time(query.as_of or now)}
    if query.as_of is None:
        # A relation that was true when it was recorded has begun, whatever the clock says.
        begun = "(r1.valid_at <= $moment OR r1.valid_at <= r1.created_at)"
        tests = ["r1.expired_at = $never", "r1.invalid_at > $moment", begun]
        values["never"] = OPEN_ENDED
    elif query.until is None:
        tests = ["r1.valid_at <= $moment", "r1.invalid_at > $moment"]
    else:
        tests = ["r1.valid_at < $until", "r1.invalid_at > $moment"]
        values["until"] = stored_time(query.until)
    tests.append("r1.visibility IN $visibility")
    if (names := query.names_towards(way)) is not None:
        tests.append("r1.name IN $names")
        values["names"] = sorted(names)
    others = ["e1.visibility IN $visibility"]
    if query.entity_types is not None:
        others.append("e1.entity_type IN $entity_types")
        values["entity_types"] = sorted(wanted.lower() for wanted in query.entity_types)
    if query.project_ids is not None:
        others.append("e1.project_id IN $project_ids")
        values["project_ids"] = sorted(query.project_ids)
    # Tested beside a column of the edge, or the planner scans all entities for the neighbour first (30 times slower).
    tests.append(f"(r1.id = '' OR ({' AND '.join(others)}))")
    left, right = _ARROWS[way]
    # Rounded up, so that few statements are prepared.
    limit = 1 << query.limit_per_id.bit_length()
    statement = (
        f"MATCH (e0:Entity {{id: $id}}){left}[r1:Relation]{right}(e1:Entity) "
        f"WHERE e0.visibility IN $visibility AND {' AND '.join(tests)} {hint} "
        f"RETURN e1.id, r1.id, r1.name, r1.valid_at, r1.source_id LIMIT {limit}"
    )
    return statement, values


class Step(NamedTuple):
    """Edge, seen from where a walk came."""

    name: str
    direction: Direction


class Reached(NamedTuple):
    """Entity and the edge by which a walk first arrived."""

    id: str
    distance: int
    name: str
    direction: Direction
    others: tuple[Step, ...] = ()
    """Other edges from the entity before it, each name and direction once."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Entities of a walk without its start, nearest first."""

    entities: tuple[Reached, ...]
    capped: bool
    """There may be more."""


Hop = Callable[[Sequence[str]], tuple[Sequence[Edge], bool]]
"""Returns the edges of some entities, entity by entity, and whether some were left out."""


AT_ONCE = 16
"""Entities looked up between two checks of the bounds."""
MOST_EDGES = 20_000


def breadth_first(
    start: str, *, depth: int, cap: int, neighbours: Hop, most_around: float = math.inf, at_once: int = AT_ONCE
) -> Walk:
    """Visit at most `cap` entities within `depth` edges, by at most `MOST_EDGES` edges and `most_around` look-ups."""
    seen: dict[str, Reached] = {start: Reached(start, 0, "", "outgoing")}
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
            arrivals |= _arrivals(near, seen, arrivals)
        capped = capped or len(arrivals) > room
        frontier = list(arrivals)[:room]
        seen |= {each: arrivals[each] for each in frontier}
        if not frontier:
            break
    return Walk(tuple(seen.values())[1:], capped)


def _arrivals(found: Iterable[Edge], seen: Mapping[str, Reached], known: Mapping[str, Reached]) -> dict[str, Reached]:
    arrivals: dict[str, Reached] = {}
    origins: dict[str, str] = {}
    for origin_id, id_, name, direction in found:
        if id_ in seen or id_ in known or origins.setdefault(id_, origin_id) != origin_id:
            continue
        reached = arrivals.get(id_)
        if reached is None:
            arrivals[id_] = Reached(id_, seen[origin_id].distance + 1, name, direction)
        elif (name, direction) not in ((reached.name, reached.direction), *reached.others):
            arrivals[id_] = reached._replace(others=(*reached.others, Step(name, direction)))
    return arrivals
