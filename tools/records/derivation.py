"""Entities made of raw memories have no more readers than their sources. Revisions of experiences."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, cast

from pydantic import BaseModel

from auth.memory_policy import derived_visibility, may_change_memory, may_read_memory, narrower
from auth.policy import MemoryScope, Visibility
from auth.principal import Principal
from auth.visibility import private_key
from stores.errors import Forbidden, ValidationFailed
from stores.ledger import Transaction
from stores.records import ORGANIZATION, Entity, EntityDraft, JsonObject, RawMemory
from tools.frame.json_values import texts_in

PROJECT = "project"
LINK, LINKS, EXCERPT = "raw_memory_id", "raw_source_ids", "content_excerpt"
REMEMBERED, REPORTED = "remember", "experience"
"""Capture surfaces of raw memories: kept with an entity by `remember`, and of a published experience."""
REVISION, OUTLINE, EVIDENCE = 0, 1, 2
"""Places in the payload of a raw memory; evidence parts come last, in the order of the steps."""
ExperienceState = Literal["pending", "embedding_pending", "complete"]


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
    for source in sources_of(tx, before):
        if source.principal_id != caller.user_id and narrower(place, derived_visibility(source)).key != place.key:
            raise Forbidden(
                f"{before.id} was made of a memory of another user, which these people may not read.",
                remediation="Leave memory_scope and project_id as they are, or ask the author of the memory.",
            )


def require_sources(tx: Transaction, caller: Principal, before: Entity, metadata: JsonObject) -> None:
    """Refuse metadata that names other sources in place of another user's."""
    lost = [key for key in (LINK, LINKS) if key in metadata and before.metadata.get(key) not in (None, metadata[key])]
    if lost and any(source.principal_id != caller.user_id for source in sources_of(tx, before)):
        raise ValidationFailed(
            f"{before.id} was made of a memory of another user: its {lost[0]} cannot change.",
            remediation=f"Leave {lost[0]} out.",
            details={"field": f"body.metadata.{lost[0]}"},
        )


def sources_of(tx: Transaction, entity: Entity) -> list[Entity]:
    """Return the raw memories that an entity was made of, readable or not."""
    found = tx.memories.memories_of(entity.id)
    named = {each for memory in found for each in texts_in((memory.capture.candidate or {}).get(LINKS))}
    named |= set(texts_in([entity.metadata.get(LINK)])) | set(texts_in(entity.metadata.get(LINKS)))
    there = (tx.memories.memory(each) for each in sorted(named))
    return [memory.entity for memory in (*found, *there) if memory is not None]


def link(tx: Transaction, caller: Principal, memory: RawMemory, entity: Entity) -> None:
    """Record in a raw memory the entity made of it, unless it has one or was reviewed."""
    capture = memory.capture
    if capture.candidate is not None or not may_change_memory(caller, memory.entity):
        return
    if capture.entity_id is None and capture.review_state in ("pending", "deferred"):
        tx.memories.settle_memory(memory.entity.id, review_state="promoted", entity_id=entity.id)


class ExperienceRevision(BaseModel):
    """Published revision of a source. Only the server writes it."""

    content_hash: str
    number: int = 1
    state: ExperienceState = "pending"
    entities: dict[str, str] = {}
    """Marks by id, the manifest first: `digest:revision`, so that a change by anybody else shows."""
    relations: dict[str, str] = {}
    """Ids by key."""
    notes: dict[str, str] = {}
    note_relations: dict[str, str] = {}
    unavailable: list[str] = []

    @classmethod
    def read(cls, text: str | None) -> "ExperienceRevision | None":
        return None if text is None else cls.model_validate_json(text)

    @classmethod
    def published(cls, tx: Transaction, memory_id: str) -> "ExperienceRevision | None":
        return cls.read(tx.payloads.text(memory_id, REVISION))

    def keep(self, tx: Transaction, memory_id: str) -> None:
        tx.payloads.replace_text(memory_id, REVISION, self.model_dump_json())

    def with_unavailable(self, records: Sequence[str]) -> list[str]:
        """Return all records that are unavailable after some more were retired."""
        shown = self.entities.keys() | self.notes.keys()
        return [each for each in dict.fromkeys([*self.unavailable, *records]) if each not in shown]


def memory_id_of(manifest_id: str) -> str:
    return f"raw_memory_{manifest_id.partition('_')[2]}"


def erase_made(tx: Transaction, record: Entity) -> str | None:
    """Delete the records made of an experience, except the given manifest or raw memory, deleted next.

    Return the id of the raw memory; None if the record belongs to no experience.
    """
    memory_id = memory_id_of(record.id) if record.entity_type == "artifact" else record.id
    revision = ExperienceRevision.published(tx, memory_id)
    if revision is None:
        return None
    for record_id in tx.records.outlines({*revision.entities, *revision.notes, *revision.unavailable} - {record.id}):
        tx.records.delete_entity(record_id)
    ExperienceRevision(content_hash="", number=revision.number).keep(tx, memory_id)
    return memory_id
