"""One hop from an entity: the question, the answer, and the statement that gets it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from stores.graph.engine import Session, Value
from stores.graph.schema import known_end, known_time, stored_time

Direction = Literal["outgoing", "incoming"]
_ARROWS: dict[Direction, str] = {"outgoing": "-[r:Relation]->", "incoming": "<-[r:Relation]-"}


@dataclass(frozen=True, slots=True)
class NeighbourQuery:
    """Which edges to follow. Everything is filtered before the limit, so rare visible edges of a hub are found."""

    visibility: frozenset[str]
    """Origin, relation and neighbour must each carry one of these keys."""
    names: frozenset[str] | None = None
    """Relation types; None means all."""
    include_incoming: bool = True
    as_of: datetime | None = None
    """None: edges that are current now. Else edges that were true then: `valid_at <= as_of < invalid_at`."""
    limit_per_id: int = 50
    entity_types: frozenset[str] | None = None
    project_ids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.limit_per_id < 1:
            raise ValueError("limit_per_id must be at least 1")

    def finds_nothing(self) -> bool:
        """Whether an empty set rules every edge out; engines cannot type an empty list."""
        return any(
            wanted is not None and not wanted
            for wanted in (self.visibility, self.names, self.entity_types, self.project_ids)
        )


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity one edge away from an origin."""

    origin_id: str
    id: str
    relation_id: str
    name: str
    direction: Direction
    valid_at: datetime
    invalid_at: datetime | None


def hop(session: Session, origin_id: str, query: NeighbourQuery, now: datetime) -> list[Neighbour]:
    """Follow the edges of one entity: latest `valid_at` first, then by relation id.

    Returns up to `limit_per_id + 1` neighbours; the one too many tells that there are more. Where edges exceed the
    limit, which of them are returned is the engine's choice: ordering a hub's edges would mean reading them all.
    """
    values = _values(query, now) | {"id": origin_id}
    directions: tuple[Direction, ...] = ("outgoing", "incoming") if query.include_incoming else ("outgoing",)
    found = [
        _neighbour(origin_id, direction, row)
        for direction in directions
        for row in session.rows(_statement(query, direction, session.hop_hint), **values)
    ]
    found.sort(key=lambda neighbour: neighbour.relation_id)
    found.sort(key=lambda neighbour: neighbour.valid_at, reverse=True)
    return found[: query.limit_per_id + 1]


def _statement(query: NeighbourQuery, direction: Direction, hint: str) -> str:
    if query.as_of is None:
        edge = ["r.expired_at > $moment", "r.invalid_at > $moment"]
    else:
        edge = ["r.valid_at <= $moment", "r.invalid_at > $moment"]
    edge.append("r.visibility IN $visibility")
    if query.names is not None:
        edge.append("r.name IN $names")
    # Tested beside a column of the edge, or the planner scans all entities for the neighbour first (30 times slower).
    neighbour = f"(r.id = '' OR ({' AND '.join(_neighbour_tests(query))}))"
    return (
        f"MATCH (a:Entity {{id: $id}}){_ARROWS[direction]}(b:Entity) "
        f"WHERE a.visibility IN $visibility AND {' AND '.join(edge)} AND {neighbour} {hint} "
        f"RETURN b.id, r.id, r.name, r.valid_at, r.invalid_at LIMIT {_rounded(query.limit_per_id + 1)}"
    )


def _neighbour_tests(query: NeighbourQuery) -> list[str]:
    tests = ["b.visibility IN $visibility"]
    if query.entity_types is not None:
        tests.append("b.entity_type IN $entity_types")
    if query.project_ids is not None:
        tests.append("b.project_id IN $project_ids")
    return tests


def _values(query: NeighbourQuery, now: datetime) -> dict[str, Value]:
    values: dict[str, Value] = {"visibility": sorted(query.visibility), "moment": stored_time(query.as_of or now)}
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


def _neighbour(origin_id: str, direction: Direction, row: list[Any]) -> Neighbour:
    neighbour_id, relation_id, name, valid_at, invalid_at = row
    return Neighbour(origin_id, neighbour_id, relation_id, name, direction, known_time(valid_at), known_end(invalid_at))
