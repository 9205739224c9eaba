"""What follows a record when it is changed: the chunks of a source, and who may read what records state of others."""

from dataclasses import replace

from auth.policy import may_read, private_key, require_writable
from auth.principal import Principal
from stores.ledger import SUPERSEDES, Transaction
from stores.records import Entity


def carry(tx: Transaction, caller: Principal, before: Entity, after: Entity) -> None:
    """Let the chunks of a source, and the relations that records state, follow a change that was just stored.

    Raises:
        Forbidden: The record would retire, for others than its author, what the caller may not change.
    """
    if before.visibility != after.visibility:
        tx.follow_visibility(before, after, left=_without_right(tx, caller, after))
    if after.entity_type == "source":
        _carry_to_chunks(tx, before, after)


def _without_right(tx: Transaction, caller: Principal, entity: Entity) -> frozenset[str]:
    """Name the supersessions that may not come into effect for others, because the caller cannot see what they retire.

    They stay what they are without a word: a refusal would tell that the records still exist.
    """
    if entity.visibility == private_key(entity.principal_id):
        return frozenset()
    left = set()
    for relation in tx.relations_of(entity.id):
        if relation.name != SUPERSEDES or relation.source_id != entity.id:
            continue
        target = tx.entity(relation.target_id)
        if target is None or not may_read(caller, target.visibility):
            left.add(relation.id)
        else:
            require_writable(caller, target)
    return frozenset(left)


def _carry_to_chunks(tx: Transaction, before: Entity, source: Entity) -> None:
    """Let the chunks of a source follow its name, its place and who may read it."""

    def follow(chunk: Entity) -> Entity:
        return replace(
            chunk,
            name=source.name,
            visibility=source.visibility,
            memory_scope=source.memory_scope,
            scope_key=source.scope_key,
            project_id=source.project_id,
        )

    kept = ("name", "visibility", "project_id")
    if all(getattr(before, name) == getattr(source, name) for name in kept):
        return
    for chunk_id in tx.chunk_ids(source.id):
        chunk = tx.entity(chunk_id)
        if chunk is not None:
            tx.follow_visibility(chunk, tx.update_entity(chunk_id, follow))
