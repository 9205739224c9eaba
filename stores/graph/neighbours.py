"""One hop from an entity: the question, the answer, and the statement that gets it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from stores.graph.engine import Session, Value
from stores.graph.schema import OPEN_ENDED, known_end, known_time, stored_time

Direction = Literal["outgoing", "incoming"]
_Ways = Direction | Literal["both"]
_ARROWS: Mapping[_Ways, tuple[str, str]] = {"outgoing": ("-", "->"), "incoming": ("<-", "-"), "both": ("-", "-")}
RING_LIMIT = 8_192
"""Paths that are read at once; where there are more, entities are asked one by one."""


@dataclass(frozen=True, slots=True)
class NeighbourQuery:
    """Which edges to follow. Everything is filtered before the limit, so rare visible edges of a hub are found."""

    visibility: frozenset[str]
    """Origin, relation and neighbour must each carry one of these keys."""
    names: frozenset[str] | None = None
    """Relation types; None means all."""
    include_incoming: bool = True
    incoming_names: frozenset[str] | None = None
    """Relation types of edges that point at the origin, where these are others than `names`."""
    as_of: datetime | None = None
    """None: edges that are current now: begun, neither closed nor ended. Else edges that were true then:
    `valid_at <= as_of < invalid_at`, by what is known today. What was known then of an end that was announced or
    changed, the ledger alone knows (`relation_history`): operations that ask about a moment ask there."""
    until: datetime | None = None
    """With `as_of`: edges that were true at some moment from then until this one: `valid_at < until`, in its stead."""
    limit_per_id: int = 50
    entity_types: frozenset[str] | None = None
    project_ids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.limit_per_id < 1:
            raise ValueError("limit_per_id must be at least 1")
        if self.until is not None and (self.as_of is None or self.until <= self.as_of):
            raise ValueError("until must be later than as_of")

    def finds_nothing(self) -> bool:
        """Whether an empty set rules every edge out; engines cannot type an empty list."""
        return (
            any(wanted is not None and not wanted for wanted in (self.visibility, self.entity_types, self.project_ids))
            or not self.ways
        )

    @property
    def ways(self) -> "tuple[Direction, ...]":
        """The directions in which some edge may be followed."""
        found: list[Direction] = [] if self.names is not None and not self.names else ["outgoing"]
        incoming = self.names if self.incoming_names is None else self.incoming_names
        if self.include_incoming and (incoming is None or incoming):
            found.append("incoming")
        return tuple(found)

    def towards(self, direction: "Direction") -> "NeighbourQuery":
        """The same question about one direction alone."""
        if direction == "outgoing" or self.incoming_names is None:
            return self
        return replace(self, names=self.incoming_names, incoming_names=None)


class Neighbour(NamedTuple):
    """An entity one edge away from an origin."""

    origin_id: str
    id: str
    relation_id: str
    name: str
    direction: Direction
    valid_at: datetime
    invalid_at: datetime | None

    @property
    def edge(self) -> "Edge":
        """What a walk needs of it."""
        return self.origin_id, self.id, self.name, self.direction


def hop(session: Session, origin_id: str, query: NeighbourQuery, now: datetime) -> list[Neighbour]:
    """Follow the edges of one entity: latest `valid_at` first, then by relation id.

    Returns up to `limit_per_id + 1` neighbours; the one too many tells that there are more. Where edges exceed the
    limit, which of them are returned is the engine's choice: ordering a hub's edges would mean reading them all.
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
"""What a walk needs of a neighbour: the ids of the origin and of what is there, and the relation's name and direction.

A plain one: a walk passes thousands.
"""


def ring(session: Session, start_id: str, distance: int, query: NeighbourQuery, now: datetime) -> list[Edge] | None:
    """Follow the edges of all that lies so many steps from an entity, in one statement; those of an origin as `hop`.

    Several times faster than one statement for each of them. The origins are what a path of that length leads to,
    the start and what is nearer among them. None where the question is not the same at each step, where some origin
    may have more edges than the limit, and where there are more than `RING_LIMIT` paths.
    """
    if query.incoming_names is not None or query.entity_types is not None or query.project_ids is not None:
        return None
    ways: _Ways = "both" if len(query.ways) > 1 else query.ways[0]
    rows = session.rows(_ring_statement(query, ways, distance), **_values(query, now), id=start_id)
    if len(rows) > RING_LIMIT:
        return None
    # Several paths lead to an origin, and an edge from an entity to itself leads there twice.
    rows = list({(row[0], row[2]): row for row in rows}.values())
    most = Counter([row[0] for row in rows]).most_common(1)
    if most and most[0][1] > query.limit_per_id:
        return None
    rows.sort(key=itemgetter(2))
    rows.sort(key=itemgetter(4), reverse=True)
    return [
        (origin_id, id_, name, "outgoing" if source_id == origin_id else "incoming")
        for origin_id, id_, _, name, _, source_id in rows
    ]


def _sorted(found: Iterable[Neighbour]) -> list[Neighbour]:
    by_id = sorted(found, key=lambda neighbour: neighbour.relation_id)
    return sorted(by_id, key=lambda neighbour: neighbour.valid_at, reverse=True)


def _around(session: Session, query: NeighbourQuery, values: Mapping[str, Value]) -> list[Neighbour]:
    """Follow the edges of both directions in one statement, which takes less than half the time of two.

    Where they exceed the limit, each direction is given its own share, so that neither hides the other. A statement
    reads all edges of a hub whatever its limit, and hubs are hubs in one direction: the other is asked for first.
    """
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
    return (
        f"MATCH (e0:Entity {{id: $id}}){_arrow(ways, 1)}(e1:Entity) "
        f"WHERE e0.visibility IN $visibility AND {_tests(query, 1)} {hint} "
        f"RETURN e1.id, r1.id, r1.name, r1.valid_at, r1.invalid_at, r1.source_id "
        f"LIMIT {_rounded(query.limit_per_id + 1)}"
    )


def _ring_statement(query: NeighbourQuery, ways: _Ways, distance: int) -> str:
    steps = range(1, distance + 2)
    pattern = "".join(f"{_arrow(ways, step)}(e{step}:Entity)" for step in steps)
    last = distance + 1
    return (
        f"MATCH (e0:Entity {{id: $id}}){pattern} "
        f"WHERE e0.visibility IN $visibility AND {' AND '.join(_tests(query, step) for step in steps)} "
        f"RETURN e{distance}.id, e{last}.id, r{last}.id, r{last}.name, r{last}.valid_at, r{last}.source_id "
        f"LIMIT {RING_LIMIT + 1}"
    )


def _arrow(ways: _Ways, step: int) -> str:
    left, right = _ARROWS[ways]
    return f"{left}[r{step}:Relation]{right}"


def _tests(query: NeighbourQuery, step: int) -> str:
    """What the edge of a step and the entity at its end must be."""
    edge, entity = f"r{step}", f"e{step}"
    if query.as_of is None:
        # What was closed is closed, and what was true when it was recorded has begun, whatever the clock says.
        begun = f"({edge}.valid_at <= $moment OR {edge}.valid_at <= {edge}.created_at)"
        tests = [f"{edge}.expired_at = $never", f"{edge}.invalid_at > $moment", begun]
    else:
        begun = f"{edge}.valid_at <= $moment" if query.until is None else f"{edge}.valid_at < $until"
        tests = [begun, f"{edge}.invalid_at > $moment"]
    tests.append(f"{edge}.visibility IN $visibility")
    if query.names is not None:
        tests.append(f"{edge}.name IN $names")
    # Tested beside a column of the edge, or the planner scans all entities for the neighbour first (30 times slower).
    return f"{' AND '.join(tests)} AND ({edge}.id = '' OR ({' AND '.join(_entity_tests(query, entity))}))"


def _entity_tests(query: NeighbourQuery, entity: str) -> list[str]:
    tests = [f"{entity}.visibility IN $visibility"]
    if query.entity_types is not None:
        tests.append(f"{entity}.entity_type IN $entity_types")
    if query.project_ids is not None:
        tests.append(f"{entity}.project_id IN $project_ids")
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
    """The next power of two: few different statements to keep prepared."""
    return 1 << (limit - 1).bit_length()


def _neighbour(origin_id: str, direction: Direction, edge: Sequence[Any]) -> Neighbour:
    neighbour_id, relation_id, name, valid_at, invalid_at = edge
    return Neighbour(origin_id, neighbour_id, relation_id, name, direction, known_time(valid_at), known_end(invalid_at))
