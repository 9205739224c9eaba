"""Cascade updates and deletes to chunks, notes, learnings and relations."""

from dataclasses import replace

from auth.policy import may_read, require_writable
from auth.principal import Principal
from auth.visibility import private_key
from stores.ledger import SUPERSEDES, Transaction
from stores.records import Entity
from tools.records.containment import contain


def cascade(tx: Transaction, caller: Principal, before: Entity, after: Entity) -> None:
    """Cascade a stored change to the chunks, notes and relations of a record."""
    if before.visibility != after.visibility:
        tx.relations.follow_visibility(before, after, left=_without_right(tx, caller, after))
    if after.entity_type == "source":
        _carry_to_chunks(tx, before, after)
    elif after.entity_type in ("task", "epic"):
        _carry_beside(tx, caller, before, after)


def cascade_delete(tx: Transaction, caller: Principal, entity: Entity) -> None:
    """Delete the notes of a task that is about to be deleted."""
    if entity.entity_type == "task":
        for note in _own_notes(tx, caller, entity):
            tx.records.delete_entity(note.id)


def _own_notes(tx: Transaction, caller: Principal, task: Entity) -> list[Entity]:
    return [note for note in tx.records.notes_about(task.id) if _is_beside(caller, note, task)]


def _is_beside(caller: Principal, record: Entity, work: Entity) -> bool:
    return (
        record.metadata.get(f"{work.entity_type}_id") == work.id
        and record.visibility == work.visibility
        and (
            record.project_id is None or record.project_id == work.project_id or caller.may_write_in(record.project_id)
        )
    )


def _carry_beside(tx: Transaction, caller: Principal, before: Entity, work: Entity) -> None:
    def follow(record: Entity) -> Entity:
        return replace(_placed_like(work, record), metadata={**record.metadata, "project_id": work.project_id})

    if (before.visibility, before.project_id) == (work.visibility, work.project_id):
        return
    for record in (*tx.records.notes_about(work.id), *tx.records.learned_on(work.id)):
        if _is_beside(caller, record, before):
            moved = tx.records.update_entity(record.id, follow)
            tx.relations.follow_visibility(record, moved)
            contain(tx, caller, record, moved)


def _without_right(tx: Transaction, caller: Principal, entity: Entity) -> frozenset[str]:
    if entity.visibility == private_key(entity.principal_id):
        return frozenset()
    left = set()
    for relation in tx.relations.unended_relations(entity.id, {SUPERSEDES}):
        target = tx.records.entity(relation.target_id)
        if target is None or not may_read(caller, target.visibility):
            left.add(relation.id)
        else:
            require_writable(caller, target)
    return frozenset(left)


def _carry_to_chunks(tx: Transaction, before: Entity, source: Entity) -> None:
    def follow(chunk: Entity) -> Entity:
        return replace(_placed_like(source, chunk), name=source.name)

    kept = ("name", "visibility", "project_id")
    if all(getattr(before, name) == getattr(source, name) for name in kept):
        return
    for chunk_id in tx.records.chunk_ids(source.id):
        chunk = tx.records.entity(chunk_id)
        if chunk is not None:
            tx.relations.follow_visibility(chunk, tx.records.update_entity(chunk_id, follow))


def _placed_like(owner: Entity, entity: Entity) -> Entity:
    return replace(
        entity,
        visibility=owner.visibility,
        memory_scope=owner.memory_scope,
        scope_key=owner.scope_key,
        project_id=owner.project_id,
    )
