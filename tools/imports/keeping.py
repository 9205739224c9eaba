"""Storing a batch of imported records: new ones are added, changed ones revised, known ones left."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import cast

from auth.memory_policy import MemoryScopeRequest, may_change_memory, writable_memory
from auth.policy import MemoryScope, Visibility, require_entry, require_writable
from auth.principal import Principal
from stores.clock import NeighbouringIds
from stores.errors import Conflict, EngrainError
from stores.ledger import Transaction, content_hash
from stores.records import RAW_MEMORY, Entity, JsonObject
from stores.source_imports import SourceImport
from tools.imports.adapters import ADAPTERS
from tools.imports.models import LISTS, KeepRecordsRequest, RecordToImport
from tools.memory.memories import memory_draft
from tools.records.entity_models import NAME_LIMIT, EntityFields
from tools.records.entity_types import RELATIONSHIP_TYPES
from tools.records.linking import Link, record
from tools.records.memory_models import RawMemoryFields
from tools.records.rejected import require_not_rejected
from tools.records.storing import draft_of

SHOWN = 100
SURFACE = "import"
RELATED = "RELATED_TO"
IMPORTED = "imported"
"""Name in the metadata of an entity under which its origin stands."""


@dataclass(slots=True)
class Batch:
    """Counts of one request, and what they counted."""

    counts: dict[str, int] = field(default_factory=dict)
    lists: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in LISTS})

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def added_to(self, target: SourceImport) -> SourceImport:
        before = cast("dict[str, int]", target.progress)
        progress: JsonObject = {name: value + self.counts.get(name, 0) for name, value in before.items()}
        kept = cast("dict[str, list[object]]", target.listed)
        listed = {name: [*kept.get(name, []), *self.lists[name]][-SHOWN:] for name in LISTS}
        return replace(target, progress=progress, listed=cast("JsonObject", listed))


def keep_records(tx: Transaction, caller: Principal, target: SourceImport, request: KeepRecordsRequest) -> SourceImport:
    """Store what can be stored; return the import with the counts of this batch added.

    Raises:
        Forbidden: The caller may not write into the target scope, or not any more.
    """
    place_of(caller, target)
    batch = Batch()
    there = tx.records.entities([record_id(target, each.key) for each in request.records])
    for each in request.records:
        known = there.get(record_id(target, each.key))
        try:
            kept = _kept(tx, caller, target, each, known)
        except EngrainError as error:
            batch.count("error_count")
            batch.lists["errors"].append({"key": each.key, "path": each.origin.path, "reason": error.message})
            continue
        there[kept.id] = kept
        _count(batch, each, known, kept)
    _relate(tx, caller, target, batch, request)
    for part in request.skipped:
        batch.count("skipped_count")
        batch.lists["skipped_records"].append(part.model_dump(mode="json"))
    return batch.added_to(target)


def place_of(caller: Principal, target: SourceImport) -> Visibility:
    """Return where raw memories go; Forbidden or NotFound if the caller may not write there."""
    return writable_memory(caller, MemoryScopeRequest(cast("MemoryScope", target.memory_scope), target.scope_key))


def record_id(target: SourceImport, key: str) -> str:
    """Return the id of a record, the same whenever its source is read into the same scope."""
    adapter = ADAPTERS.get(target.adapter)
    source = "" if adapter is not None and adapter.is_global else target.source
    owner = target.scope_key or (target.user_id if target.memory_scope == "private" else "")
    named = "\0".join((target.adapter, source, target.memory_scope, owner, key))
    return f"imported_{hashlib.sha256(named.encode(errors='surrogatepass')).hexdigest()[:24]}"


def _count(batch: Batch, each: RecordToImport, known: Entity | None, kept: Entity) -> None:
    if known is None:
        batch.count("imported_count")
        batch.lists["dedupe_keys"].append(each.key)
        attachments = each.metadata.get("attachments")
        batch.count("attachment_count", len(attachments) if isinstance(attachments, list) else 0)
        if kept.entity_type == RAW_MEMORY:
            batch.count("raw_memory_count")
            batch.lists["raw_memory_ids"].append(kept.id)
    elif kept.revision == known.revision:
        batch.count("dedupe_count")
        batch.lists["duplicate_dedupe_keys"].append(each.key)
    else:
        batch.count("superseded_count")


def _kept(
    tx: Transaction, caller: Principal, target: SourceImport, each: RecordToImport, known: Entity | None
) -> Entity:
    keep = _kept_memory if each.entity_type == RAW_MEMORY else _kept_entity
    if known is None:
        return keep(tx, caller, target, each, None)
    if known.entity_type != each.entity_type:
        return known
    memory = tx.memories.memory(known.id) if known.entity_type == RAW_MEMORY else None
    origin = memory.capture.provenance if memory is not None else known.metadata.get(IMPORTED)
    if not isinstance(origin, dict) or origin.get("fingerprint") == _fingerprint(each):
        return known
    if origin.get("revision") != known.revision:
        raise Conflict(f"{known.id} was changed here and in its source; it stays as it is here.")
    return keep(tx, caller, target, each, known)


def _fingerprint(each: RecordToImport) -> str:
    return content_hash("\0".join((each.name, each.content, *each.tags)))


def _kept_memory(
    tx: Transaction, caller: Principal, target: SourceImport, each: RecordToImport, known: Entity | None
) -> Entity:
    fields = RawMemoryFields(
        raw_content=each.content,
        title=each.name,
        source_id=each.key,
        memory_scope=cast("MemoryScope", target.memory_scope),
        scope_key=target.scope_key,
        tags=each.tags,
        metadata=each.metadata,
        provenance=_provenance(target, each, known),
        capture_surface=f"{SURFACE}:{target.adapter}",
    )
    draft, capture = memory_draft(tx, caller, fields)
    if known is None:
        return tx.memories.create_memory(replace(draft, id=record_id(target, each.key)), capture).entity
    if known.visibility != draft.visibility or not may_change_memory(caller, known):
        raise Conflict(f"{known.id} was moved since; it stays as it is.")
    changed = replace(known, name=draft.name, content=draft.content, tags=draft.tags, metadata=draft.metadata)
    said = {name: getattr(capture, name) for name in ("content_hash", "provenance", "captured_at")}
    return tx.memories.revise_memory(changed, **said).entity


def _kept_entity(
    tx: Transaction, caller: Principal, target: SourceImport, each: RecordToImport, known: Entity | None
) -> Entity:
    place: JsonObject = {"memory_scope": target.memory_scope, "scope_key": target.scope_key}
    if target.memory_scope == "project":
        place = {"project_id": target.scope_key}
    fields = EntityFields.model_validate(
        {
            "name": each.name[:NAME_LIMIT] or each.origin.path[-NAME_LIMIT:],
            "content": each.content,
            "entity_type": each.entity_type,
            "tags": each.tags,
            "metadata": each.metadata | {IMPORTED: _provenance(target, each, known)} | place,
        }
    )
    draft = replace(
        draft_of(caller, fields, NeighbouringIds()), id=record_id(target, each.key), source_file=each.origin.path
    )
    require_not_rejected(tx, [draft])
    if known is None:
        (entity,) = tx.records.create_entities([(draft, {"mode": "async"})])
        require_entry(caller, entity)
        return entity
    require_writable(caller, known)
    kept = {name: getattr(draft, name) for name in ("name", "content", "tags", "metadata")}
    return tx.records.update_entity(known.id, lambda now: replace(now, **kept))


def _provenance(target: SourceImport, each: RecordToImport, known: Entity | None) -> JsonObject:
    place = each.origin.model_dump(mode="json", exclude_none=True)
    revision = 1 if known is None else known.revision + 1
    told: JsonObject = {"import_id": target.id, "source": target.source, "fingerprint": _fingerprint(each)}
    return told | {"revision": revision} | place


def _relate(
    tx: Transaction, caller: Principal, target: SourceImport, batch: Batch, request: KeepRecordsRequest
) -> None:
    ends = {key: record_id(target, key) for each in request.relations for key in (each.source, each.target)}
    there = tx.records.entities(ends.values()) if ends else {}
    for each in request.relations:
        source, other = there.get(ends[each.source]), there.get(ends[each.target])
        if source is None or other is None:
            batch.count("skipped_count")
            missing = each.source if source is None else each.target
            batch.lists["skipped_records"].append({"key": missing, "reason": "A relation leads to what is not there."})
            continue
        name = each.relationship.upper()
        known = name in RELATIONSHIP_TYPES
        provenance: JsonObject = {"from": SURFACE, "import_id": target.id, "relationship": each.relationship}
        link = Link(source, name if known else RELATED, other.id, "relations", provenance=provenance)
        try:
            record(tx, caller, [link])
        except EngrainError as error:
            batch.count("error_count")
            batch.lists["errors"].append({"key": each.source, "reason": error.message})
