"""Write a batch of the feed into a graph, inside an open transaction.

New records are one list in one statement: a tenth of the time. Each end needs a MATCH of its own, since `MATCH (a),
(b)` forms every pair. No COPY: ladybug 0.22 does not log it, so a kill would lose the edges and keep the position.
"""

from collections.abc import Sequence

from stores.graph import schema
from stores.graph.engine import Session
from stores.index import IndexBatch
from stores.records import Entity, Relation

_WORTH_A_LIST = 8


def write(session: Session, batch: IndexBatch) -> set[str]:
    """Write a batch and its position; return the ends of all changed edges."""
    relations = batch.relations
    ends = {end for relation in relations for end in (relation.source_id, relation.target_id)}
    for entity in _known_entities(session, batch.entities):
        session.rows(schema.PUT_ENTITY, **schema.entity_values(entity))
    for entity_id in batch.gone("entity"):
        session.rows(schema.BURY_ENTITY, id=entity_id)
    for relation in _known_relations(session, relations):
        ends.update(_put_relation(session, relation))
    for relation_id in batch.gone("relation"):
        for source_id, target_id in session.rows(schema.FIND_LINK, id=relation_id):
            session.rows(schema.BURY_EDGE, id=relation_id, source_id=source_id, target_id=target_id)
            ends.update((source_id, target_id))
    session.rows(schema.PUT_POSITION, **schema.position_values(batch.position))
    return ends


def _known_entities(session: Session, entities: Sequence[Entity]) -> Sequence[Entity]:
    if not session.finds_rows_by_key or len(entities) < _WORTH_A_LIST:
        return entities
    known = _existing(session, [entity.id for entity in entities])
    if fresh := [schema.entity_row(entity) for entity in entities if entity.id not in known]:
        session.rows(schema.CREATE_ENTITIES, rows=fresh)
    return [entity for entity in entities if entity.id in known]


def _known_relations(session: Session, relations: Sequence[Relation]) -> Sequence[Relation]:
    if not session.finds_rows_by_key or len(relations) < _WORTH_A_LIST:
        return relations
    known = {row[0] for row in session.rows(schema.FIND_LINKS, ids=[relation.id for relation in relations])}
    fresh = [relation for relation in relations if relation.id not in known]
    if not fresh:
        return relations
    ends = list(dict.fromkeys(end for relation in fresh for end in (relation.source_id, relation.target_id)))
    for end in set(ends) - _existing(session, ends):
        session.rows(schema.PUT_STAND_IN, id=end)
    rows = [schema.edge_row(relation) for relation in fresh]
    session.rows(schema.CREATE_LINKS, rows=rows)
    session.rows(schema.CREATE_EDGES, rows=rows)
    return [relation for relation in relations if relation.id in known]


def _existing(session: Session, entity_ids: Sequence[str]) -> set[str]:
    return {row[0] for row in session.rows(schema.FIND_ENTITIES, ids=list(entity_ids))}


def _put_relation(session: Session, relation: Relation) -> list[str]:
    ends = [relation.source_id, relation.target_id]
    values = schema.edge_values(relation)
    known = session.rows(schema.FIND_LINK, id=relation.id)
    left: list[str] = known[0] if known and known[0] != ends else []
    if left:
        session.rows(schema.BURY_EDGE, id=relation.id, source_id=left[0], target_id=left[1])
    if known and session.rows(schema.UPDATE_EDGE, **values):
        if not left:
            return left
    elif not session.rows(schema.CREATE_EDGE, **values):
        for end in ends:
            session.rows(schema.PUT_STAND_IN, id=end)
        session.rows(schema.CREATE_EDGE, **values)
    session.rows(schema.PUT_LINK, id=relation.id, source_id=relation.source_id, target_id=relation.target_id)
    return left
