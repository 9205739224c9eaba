"""What follows a record that changes or goes: chunks of a source, notes of a task, who may read what records state."""

from dataclasses import replace

from auth.policy import may_read, private_key, require_writable
from auth.principal import Principal
from stores.ledger import SUPERSEDES, Transaction
from stores.records import Entity
from tools.containment import contain


def carry(tx: Transaction, caller: Principal, before: Entity, after: Entity) -> None:
    """Let the chunks of a source, and the relations that records state, follow a change that was just stored.

    Raises:
        Forbidden: The record would retire, for others than its author, what the caller may not change.
    """
    if before.visibility != after.visibility:
        tx.follow_visibility(before, after, left=_without_right(tx, caller, after))
    if after.entity_type == "source":
        _carry_to_chunks(tx, before, after)
    elif after.entity_type == "task":
        _carry_to_notes(tx, caller, before, after)


def let_go(tx: Transaction, caller: Principal, entity: Entity) -> None:
    """Erase what goes with a record that is about to be erased: the notes of a task."""
    if entity.entity_type == "task":
        for note in _own_notes(tx, caller, entity):
            tx.delete_entity(note.id)


def _own_notes(tx: Transaction, caller: Principal, task: Entity) -> list[Entity]:
    """The notes that were written on a task and are still read by whoever reads it.

    Others that are about it belong to whoever wrote them, and stay as they are.
    """
    return [
        note
        for note in tx.notes_about(task.id)
        if note.metadata.get("task_id") == task.id
        and note.visibility == task.visibility
        and (note.project_id is None or note.project_id == task.project_id or caller.may_write_in(note.project_id))
    ]


def _carry_to_notes(tx: Transaction, caller: Principal, before: Entity, task: Entity) -> None:
    """Let the notes of a task follow its place and who may read it."""

    def follow(note: Entity) -> Entity:
        return replace(_placed_like(task, note), metadata={**note.metadata, "project_id": task.project_id})

    if (before.visibility, before.project_id) == (task.visibility, task.project_id):
        return
    for note in _own_notes(tx, caller, before):
        moved = tx.update_entity(note.id, follow)
        tx.follow_visibility(note, moved)
        contain(tx, caller, note, moved)


def _without_right(tx: Transaction, caller: Principal, entity: Entity) -> frozenset[str]:
    """Name the supersessions that may not come into effect for others, because the caller cannot see what they retire.

    They stay what they are without a word: a refusal would tell that the records still exist.
    """
    if entity.visibility == private_key(entity.principal_id):
        return frozenset()
    left = set()
    for relation in tx.unended_relations(entity.id, {SUPERSEDES}):
        target = tx.entity(relation.target_id)
        if target is None or not may_read(caller, target.visibility):
            left.add(relation.id)
        else:
            require_writable(caller, target)
    return frozenset(left)


def _carry_to_chunks(tx: Transaction, before: Entity, source: Entity) -> None:
    """Let the chunks of a source follow its name, its place and who may read it."""

    def follow(chunk: Entity) -> Entity:
        return replace(_placed_like(source, chunk), name=source.name)

    kept = ("name", "visibility", "project_id")
    if all(getattr(before, name) == getattr(source, name) for name in kept):
        return
    for chunk_id in tx.chunk_ids(source.id):
        chunk = tx.entity(chunk_id)
        if chunk is not None:
            tx.follow_visibility(chunk, tx.update_entity(chunk_id, follow))


def _placed_like(owner: Entity, entity: Entity) -> Entity:
    """Return an entity in the place of what it belongs to, for the same readers."""
    return replace(
        entity,
        visibility=owner.visibility,
        memory_scope=owner.memory_scope,
        scope_key=owner.scope_key,
        project_id=owner.project_id,
    )
