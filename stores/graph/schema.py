"""Tables of the graph and the statements that change them.

A deleted record is buried: its visibility becomes empty, and every read filters it out. Deleting edges kills the
process on kuzu (K1). A rebuild leaves them out. An absent end of a relation is a buried stand-in, so the
graph depends only on the set of records applied, never on their order.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from stores.records import Entity, Position, Relation

Value = str | datetime | list[str] | list[list[str]]
"""No integers: a prepared statement keeps the width of the first one it saw."""
SCHEMA_VERSION = 1
BURIED = ""
OPEN_ENDED = datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 engines drop offsets (K5)
"""Comparisons need no null checks, and a prepared statement sees one type."""

TABLES = (
    "CREATE NODE TABLE IF NOT EXISTS Entity(id STRING PRIMARY KEY, entity_type STRING, visibility STRING, "
    "project_id STRING, revision INT64)",
    # Finds a relation by its id: edges have no index of their own.
    "CREATE NODE TABLE IF NOT EXISTS Link(id STRING PRIMARY KEY, source_id STRING, target_id STRING)",
    "CREATE NODE TABLE IF NOT EXISTS Position(id STRING PRIMARY KEY, epoch STRING, sequence INT64, batch STRING)",
    "CREATE REL TABLE IF NOT EXISTS Relation(FROM Entity TO Entity, id STRING, source_id STRING, name STRING, "
    "visibility STRING, created_at TIMESTAMP, expired_at TIMESTAMP, valid_at TIMESTAMP, invalid_at TIMESTAMP)",
)

PUT_POSITION = (
    "MERGE (p:Position {id: 'feed'}) SET p.epoch = $epoch, p.sequence = CAST($sequence AS INT64), p.batch = $batch"
)
GET_POSITION = "MATCH (p:Position {id: 'feed'}) RETURN p.epoch, p.sequence, p.batch"

PUT_ENTITY = (
    "MERGE (e:Entity {id: $id}) SET e.entity_type = $entity_type, e.visibility = $visibility, "
    "e.project_id = $project_id, e.revision = CAST($revision AS INT64)"
)
BURY_ENTITY = f"MATCH (e:Entity {{id: $id}}) SET e.visibility = '{BURIED}'"
PUT_STAND_IN = (
    "MERGE (e:Entity {id: $id}) ON CREATE SET e.entity_type = '', "
    f"e.visibility = '{BURIED}', e.project_id = '', e.revision = 0"
)

FIND_LINK = "MATCH (l:Link {id: $id}) RETURN l.source_id, l.target_id"
PUT_LINK = "MERGE (l:Link {id: $id}) SET l.source_id = $source_id, l.target_id = $target_id"
_EDGE = "MATCH (a:Entity {id: $source_id})-[r:Relation]->(b:Entity {id: $target_id}) WHERE r.id = $id"
CREATE_EDGE = (
    "MATCH (a:Entity {id: $source_id}), (b:Entity {id: $target_id}) "
    "CREATE (a)-[r:Relation {id: $id, source_id: $source_id, name: $name, visibility: $visibility, "
    "created_at: $created_at, expired_at: $expired_at, valid_at: $valid_at, invalid_at: $invalid_at}]->(b) RETURN r.id"
)
UPDATE_EDGE = (
    f"{_EDGE} SET r.name = $name, r.visibility = $visibility, r.created_at = $created_at, "
    "r.expired_at = $expired_at, r.valid_at = $valid_at, r.invalid_at = $invalid_at RETURN r.id"
)
BURY_EDGE = f"{_EDGE} SET r.visibility = '{BURIED}'"

# Rows are lists of strings, counted from 1: a statement that was prepared for one type of row takes no other.
# Each end needs a MATCH of its own, since `MATCH (a), (b)` forms every pair.
FIND_LINKS = "UNWIND $ids AS id MATCH (l:Link {id: id}) RETURN l.id"
FIND_ENTITIES = "UNWIND $ids AS id MATCH (e:Entity {id: id}) RETURN e.id"
CREATE_ENTITIES = (
    "UNWIND $rows AS x CREATE (e:Entity {id: x[1], entity_type: x[2], visibility: x[3], project_id: x[4], "
    "revision: CAST(x[5] AS INT64)})"
)
CREATE_LINKS = "UNWIND $rows AS x CREATE (l:Link {id: x[1], source_id: x[2], target_id: x[3]})"
CREATE_EDGES = (
    "UNWIND $rows AS x MATCH (a:Entity {id: x[2]}) MATCH (b:Entity {id: x[3]}) "
    "CREATE (a)-[r:Relation {id: x[1], source_id: x[2], name: x[4], visibility: x[5], "
    "created_at: CAST(x[6] AS TIMESTAMP), expired_at: CAST(x[7] AS TIMESTAMP), valid_at: CAST(x[8] AS TIMESTAMP), "
    "invalid_at: CAST(x[9] AS TIMESTAMP)}]->(b)"
)

CONTENTS = f"MATCH (e:Entity) WHERE e.visibility <> '{BURIED}' RETURN e.id AS id, e.revision AS revision"
_LIVE_EDGE = f"MATCH (a:Entity)-[r:Relation]->(b:Entity) WHERE r.visibility <> '{BURIED}'"
RELATION_IDS = f"{_LIVE_EDGE} AND a.visibility <> '{BURIED}' AND b.visibility <> '{BURIED}' RETURN r.id AS id"
COUNT_ENTITIES = f"MATCH (e:Entity) RETURN count(*), sum(CASE WHEN e.visibility = '{BURIED}' THEN 1 ELSE 0 END)"
COUNT_EDGES = (
    f"MATCH (:Entity)-[r:Relation]->(:Entity) "
    f"RETURN count(*), sum(CASE WHEN r.visibility = '{BURIED}' THEN 1 ELSE 0 END)"
)
ALL_ENTITIES = (
    "MATCH (e:Entity) RETURN e.id AS id, e.entity_type AS entity_type, e.visibility AS visibility, "
    "e.project_id AS project_id"
)
EXPORT_EDGES = (
    f"{_LIVE_EDGE} RETURN a.id AS source_id, b.id AS target_id, r.id AS id, r.name AS name, "
    "r.visibility AS visibility, r.created_at AS created_at, r.expired_at AS expired_at, r.valid_at AS valid_at, "
    "r.invalid_at AS invalid_at"
)


def entity_values(entity: Entity) -> dict[str, Value]:
    """Return the parameters of PUT_ENTITY. The type is lower case, as in every index."""
    return {
        "id": entity.id,
        "entity_type": entity.entity_type.lower(),
        "visibility": entity.visibility,
        "project_id": entity.project_id or "",
        "revision": str(entity.revision),
    }


def edge_values(relation: Relation) -> dict[str, Value]:
    return {
        "id": relation.id,
        "source_id": relation.source_id,
        "target_id": relation.target_id,
        "name": relation.name,
        "visibility": relation.visibility,
        "created_at": stored_time(relation.created_at),
        "expired_at": stored_time(relation.expired_at),
        "valid_at": stored_time(relation.valid_at),
        "invalid_at": stored_time(relation.invalid_at),
    }


def row(values: Mapping[str, Value]) -> list[str]:
    """Return the values of an entity or edge as a row of CREATE_ENTITIES, CREATE_LINKS and CREATE_EDGES."""
    return [
        value.isoformat(" ", "microseconds") if isinstance(value, datetime) else str(value) for value in values.values()
    ]


def position_values(position: Position) -> dict[str, Value]:
    return {"epoch": position.epoch, "sequence": str(position.sequence), "batch": position.batch}


def stored_time(moment: datetime | None) -> datetime:
    """Return naive UTC: engines drop the offset of an aware time (K5)."""
    return OPEN_ENDED if moment is None else moment.astimezone(UTC).replace(tzinfo=None)
