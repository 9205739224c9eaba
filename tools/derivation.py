"""What is made of raw memories: no more people read it than read its sources, and these say what was made of them."""

from collections.abc import Collection
from dataclasses import replace
from typing import cast

from auth.memory_policy import derived_visibility, may_read_memory, narrower
from auth.policy import MemoryScope, Visibility
from auth.principal import Principal
from auth.visibility import private_key
from stores.ledger import Transaction
from stores.records import ORGANIZATION, Entity, EntityDraft, RawMemory

PROJECT = "project"
"""A project is read by whoever may read the project, whatever it was made of."""
LINK = "raw_memory_id"
"""The metadata key by which a client says what an entity was made of."""


def source_of(tx: Transaction, caller: Principal, draft: EntityDraft) -> RawMemory | None:
    """The raw memory that a draft names, where the caller may read it."""
    named = draft.metadata.get(LINK) if draft.entity_type != PROJECT else None
    memory = tx.memory(named) if isinstance(named, str) and named else None
    return memory if memory is not None and may_read_memory(caller, memory.entity.visibility) else None


def narrowed(caller: Principal, draft: EntityDraft, sources: Collection[Entity]) -> EntityDraft:
    """Let no more people read a draft than read each of the raw memories that it is made of."""
    place = Visibility(draft.visibility, cast("MemoryScope", draft.memory_scope), draft.scope_key)
    places = {each.key: each for each in map(derived_visibility, sources) if each.key != ORGANIZATION}
    if len(places) > 1:
        # No scope is that of those alone who may read each of them, but the one who may.
        place = Visibility(private_key(caller.user_id), "private", caller.user_id)
    for source in places.values() if len(places) == 1 else ():
        place = narrower(place, source)
    return replace(draft, visibility=place.key, memory_scope=place.memory_scope, scope_key=place.scope_key)


def link(tx: Transaction, memory: RawMemory, entity: Entity) -> None:
    """Say in a raw memory what was made of it. The first entity stays its own; a review that is over stays so."""
    capture = memory.capture
    if capture.entity_id is None and capture.review_state in ("pending", "deferred"):
        tx.settle_memory(memory.entity.id, review_state="promoted", entity_id=entity.id, candidate=capture.candidate)
