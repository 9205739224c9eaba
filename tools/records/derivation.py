"""Entities made of raw memories have no more readers than their sources."""

from collections.abc import Collection
from dataclasses import replace
from typing import cast

from auth.memory_policy import derived_visibility, may_change_memory, may_read_memory, narrower
from auth.policy import MemoryScope, Visibility
from auth.principal import Principal
from auth.visibility import private_key
from stores.errors import Forbidden
from stores.ledger import Transaction
from stores.records import ORGANIZATION, Entity, EntityDraft, RawMemory
from tools.frame.json_values import texts_in

PROJECT = "project"
LINK = "raw_memory_id"
REMEMBERED = "remember"
"""The capture surface of raw memories that `remember` keeps with an entity."""


def source_of(tx: Transaction, caller: Principal, draft: EntityDraft) -> RawMemory | None:
    """Return the raw memory that a draft names, if the caller may read it."""
    named = draft.metadata.get(LINK) if draft.entity_type != PROJECT else None
    memory = tx.memories.memory(named) if isinstance(named, str) and named else None
    return memory if memory is not None and may_read_memory(caller, memory.entity.visibility) else None


def narrowed(caller: Principal, draft: EntityDraft, sources: Collection[Entity | Visibility]) -> EntityDraft:
    """Narrow the visibility of a draft to those who may read each of its sources."""
    place = Visibility(draft.visibility, cast("MemoryScope", draft.memory_scope), draft.scope_key)
    memories = [each for each in sources if isinstance(each, Entity)]
    read_by = [each if isinstance(each, Visibility) else derived_visibility(each) for each in sources]
    places = {each.key: each for each in read_by if each.key != ORGANIZATION}
    if len(places) > 1 or not all(may_change_memory(caller, each) for each in memories):
        # No scope holds the readers of several sources, and the caller shares nothing where it may not write.
        place = Visibility(private_key(caller.user_id), "private", caller.user_id)
    elif places:
        place = narrower(place, *places.values())
    return replace(draft, **place.fields)


def require_no_wider(tx: Transaction, caller: Principal, before: Entity, after: Entity) -> None:
    """Refuse a change that would let people read an entity who may not read its sources."""
    if after.visibility == before.visibility:
        return
    place = Visibility(after.visibility, cast("MemoryScope", after.memory_scope), after.scope_key)
    for source in _sources(tx, before):
        if source.principal_id != caller.user_id and narrower(place, derived_visibility(source)).key != place.key:
            raise Forbidden(
                f"{before.id} was made of a memory of another user, which these people may not read.",
                remediation="Leave memory_scope and project_id as they are, or ask the author of the memory.",
            )


def _sources(tx: Transaction, entity: Entity) -> list[Entity]:
    found = tx.memories.memories_of(entity.id)
    named = {each for memory in found for each in texts_in((memory.capture.candidate or {}).get("raw_source_ids"))}
    named |= set(texts_in([entity.metadata.get(LINK)])) | set(texts_in(entity.metadata.get("raw_source_ids")))
    there = (tx.memories.memory(each) for each in sorted(named))
    return [memory.entity for memory in (*found, *there) if memory is not None]


def link(tx: Transaction, caller: Principal, memory: RawMemory, entity: Entity) -> None:
    """Record in a raw memory the entity made of it, unless it has one or was reviewed."""
    capture = memory.capture
    if capture.candidate is not None or not may_change_memory(caller, memory.entity):
        return
    if capture.entity_id is None and capture.review_state in ("pending", "deferred"):
        tx.memories.settle_memory(memory.entity.id, review_state="promoted", entity_id=entity.id)
