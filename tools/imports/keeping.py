"""Storing a batch of imported records: new ones are added, changed ones revised, known ones left."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from pydantic import ValidationError

from auth.memory_policy import MemoryScopeRequest, may_change_memory, writable_memory
from auth.policy import MemoryScope, Visibility, require_entry, require_writable
from stores.clock import NeighbouringIds
from stores.errors import Conflict, EngrainError
from stores.ledger import Transaction, content_hash
from stores.records import RAW_MEMORY, Capture, Entity, EntityDraft, JsonObject, RawMemory
from stores.source_imports import SourceImport
from tools.frame.operation import Call
from tools.imports.adapters import ADAPTERS
from tools.imports.models import AT_ONCE, LISTS, KeepRecordsRequest, RecordToImport
from tools.memory.memories import unchecked_draft
from tools.records.entity_models import NAME_LIMIT, EntityFields
from tools.records.entity_types import RELATIONSHIP_TYPES
from tools.records.linking import Link, record
from tools.records.memory_models import RawMemoryFields
from tools.records.projects import require_live
from tools.records.rejected import rejected_among, rejection
from tools.records.storing import draft_of, store_in

SHOWN = 100
SURFACE = "import"
RELATED = "RELATED_TO"
IMPORTED = "imported"
"""Name in the metadata of an entity under which its origin stands."""


@dataclass(slots=True)
class Screened:
    """Records that were looked through for credentials."""

    request: KeepRecordsRequest
    wrong: dict[str, str]
    """Keys of records that cannot be written, with the reason."""
    leaking: list[str]
    """Keys of records in which something looks like a credential."""


class RecordRefused(Exception):
    """A record cannot be written; what the transaction has written has to be taken back."""

    def __init__(self, key: str | None, reason: str) -> None:
        super().__init__(reason)
        self.key = key
        """None if it was one of several."""


@dataclass(slots=True)
class Batch:
    """Counts of one request, and what they counted."""

    leaking: Collection[str]
    """Keys of records in which something looks like a credential."""
    exposed: list[str] = field(default_factory=list)
    """Ids of those that were written."""
    counts: dict[str, int] = field(default_factory=dict)
    lists: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in LISTS})

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def refuse(self, each: RecordToImport, reason: str) -> None:
        self.count("error_count")
        self.lists["errors"].append({"key": each.key, "path": each.origin.path, "reason": reason})

    def write(self, each: RecordToImport, record_id: str, name: str) -> None:
        self.count(name)
        if each.key in self.leaking:
            self.count("credential_count")
            self.exposed.append(record_id)

    def add(self, each: RecordToImport, record_id: str) -> None:
        self.write(each, record_id, "imported_count")
        self.lists["dedupe_keys"].append(each.key)
        attachments = each.metadata.get("attachments")
        self.count("attachment_count", len(attachments) if isinstance(attachments, list) else 0)
        if each.entity_type == RAW_MEMORY:
            self.count("raw_memory_count")
            self.lists["raw_memory_ids"].append(record_id)

    def added_to(self, target: SourceImport) -> SourceImport:
        before = cast("dict[str, int]", target.progress)
        progress: JsonObject = {name: value + self.counts.get(name, 0) for name, value in before.items()}
        kept = cast("dict[str, list[object]]", target.listed)
        listed = {name: [*kept.get(name, []), *self.lists[name]][-SHOWN:] for name in LISTS}
        return replace(target, progress=progress, listed=cast("JsonObject", listed))


def keep_records(tx: Transaction, call: Call, target: SourceImport, given: Screened) -> tuple[SourceImport, list[str]]:
    """Store what can be stored; return the import with this batch counted, and ids of records with credentials.

    If some records cannot be written, the others are written one by one.

    Raises:
        Forbidden: The caller may not write into the target scope, or not any more.
        RecordRefused: A record cannot be written.
    """
    place, batch = place_of(call, target), Batch(given.leaking)
    request, wrong = given.request, given.wrong
    if target.memory_scope == "project" and target.scope_key is not None:
        require_live(target.scope_key, tx.records.entity(target.scope_key))
    writing = _Writing(tx, call, target, place, batch)
    for each in request.records:
        if each.key in wrong:
            batch.refuse(each, wrong[each.key])
    for group in _groups([each for each in request.records if each.key not in wrong], 1 if wrong else AT_ONCE):
        writing.keep(group)
    _relate(writing, request)
    for part in request.skipped:
        batch.count("skipped_count")
        batch.lists["skipped_records"].append(part.model_dump(mode="json"))
    return batch.added_to(target), batch.exposed


def place_of(call: Call, target: SourceImport) -> Visibility:
    """Return where raw memories go; Forbidden or NotFound if the caller may not write there."""
    return writable_memory(call.caller, MemoryScopeRequest(cast("MemoryScope", target.memory_scope), target.scope_key))


def record_id(target: SourceImport, key: str) -> str:
    """Return the id of a record, the same whenever its source is read into the same scope."""
    adapter = ADAPTERS.get(target.adapter)
    source = "" if adapter is not None and adapter.is_global else target.source
    owner = target.scope_key or (target.user_id if target.memory_scope == "private" else "")
    named = "\0".join((target.adapter, source, target.memory_scope, owner, key))
    return f"imported_{hashlib.sha256(named.encode(errors='surrogatepass')).hexdigest()[:24]}"


def _groups(records: Sequence[RecordToImport], most: int) -> Iterator[list[RecordToImport]]:
    """Part records so that none has the key of another one of its group."""
    group: dict[str, RecordToImport] = {}
    for each in records:
        if each.key in group or len(group) == most:
            yield [*group.values()]
            group = {}
        group[each.key] = each
    if group:
        yield [*group.values()]


class _GivenIds(NeighbouringIds):
    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = iter(ids)

    def typed(self, prefix: str) -> str:
        return next(self._ids)

    def uuid(self) -> str:
        return next(self._ids)


@dataclass(frozen=True, slots=True)
class _Writing:
    tx: Transaction
    call: Call
    target: SourceImport
    place: Visibility
    batch: Batch

    def keep(self, group: Sequence[RecordToImport]) -> None:
        """Store records with different keys."""
        ids = [record_id(self.target, each.key) for each in group]
        there, memories = self.tx.records.entities(ids), self.tx.memories.by_ids(ids)
        new = list[tuple[RecordToImport, EntityDraft, Capture | EntityFields]]()
        for each, of_id in zip(group, ids, strict=True):
            try:
                if of_id in there:
                    self._revise(each, there[of_id], memories.get(of_id))
                elif each.entity_type == RAW_MEMORY:
                    new.append((each, *self._memory(each, of_id)))
                else:
                    fields = self._fields(each, 1)
                    new.append((each, draft_of(self.call.caller, fields, _GivenIds([of_id])), fields))
            except EngrainError as error:
                self.batch.refuse(each, error.message)
            except ValidationError as error:
                wrong = error.errors(include_url=False)[0]
                self.batch.refuse(each, f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}.")
        rejected = rejected_among(self.tx, [draft for _, draft, _ in new])
        for each, draft, _ in new:
            if draft.id in rejected:
                self.batch.refuse(each, rejection(rejected[draft.id]).message)
        self._create([made for made in new if made[1].id not in rejected])

    def _create(self, new: Sequence[tuple[RecordToImport, EntityDraft, Capture | EntityFields]]) -> None:
        memories = [(draft, made) for _, draft, made in new if isinstance(made, Capture)]
        entities = [(draft.id, made) for _, draft, made in new if isinstance(made, EntityFields)]
        try:
            self.tx.memories.create_memories(memories)
            ids = _GivenIds([of_id for of_id, _ in entities])
            store_in(self.call, self.tx, [fields for _, fields in entities], sync=False, ids=ids)
        except EngrainError as error:
            raise RecordRefused(new[0][0].key if len(new) == 1 else None, error.message) from error
        for each, draft, _ in new:
            self.batch.add(each, draft.id)

    def _revise(self, each: RecordToImport, known: Entity, memory: RawMemory | None) -> None:
        origin = memory.capture.provenance if memory is not None else known.metadata.get(IMPORTED)
        is_other = known.entity_type != each.entity_type or not isinstance(origin, dict)
        if is_other or cast("JsonObject", origin).get("fingerprint") == _fingerprint(each):
            self.batch.count("dedupe_count")
            self.batch.lists["duplicate_dedupe_keys"].append(each.key)
            return
        if cast("JsonObject", origin).get("revision") != known.revision:
            raise Conflict(f"{known.id} was changed here and in its source; it stays as it is here.")
        change = self._revise_entity if memory is None else self._revise_memory
        change(each, known)
        self.batch.write(each, known.id, "superseded_count")

    def _memory(self, each: RecordToImport, of_id: str, revision: int = 1) -> tuple[EntityDraft, Capture]:
        fields = RawMemoryFields(
            raw_content=each.content,
            title=each.name,
            source_id=each.key,
            memory_scope=cast("MemoryScope", self.target.memory_scope),
            scope_key=self.target.scope_key,
            tags=each.tags,
            metadata=each.metadata,
            provenance=self._provenance(each, revision),
            capture_surface=f"{SURFACE}:{self.target.adapter}",
        )
        draft, capture = unchecked_draft(fields, self.place, self.tx.now)
        return replace(draft, id=of_id), capture

    def _revise_memory(self, each: RecordToImport, known: Entity) -> None:
        draft, capture = self._memory(each, known.id, known.revision + 1)
        self._require_right(draft)
        if known.visibility != draft.visibility or not may_change_memory(self.call.caller, known):
            raise Conflict(f"{known.id} was moved since; it stays as it is.")
        changed = replace(known, name=draft.name, content=draft.content, tags=draft.tags, metadata=draft.metadata)
        said = {name: getattr(capture, name) for name in ("content_hash", "provenance", "captured_at")}
        self.tx.memories.revise_memory(changed, **said)

    def _fields(self, each: RecordToImport, revision: int) -> EntityFields:
        place: JsonObject = {"memory_scope": self.target.memory_scope, "scope_key": self.target.scope_key}
        if self.target.memory_scope == "project":
            place = {"project_id": self.target.scope_key}
        return EntityFields.model_validate(
            {
                "name": each.name[:NAME_LIMIT] or each.origin.path[-NAME_LIMIT:],
                "content": each.content,
                "entity_type": each.entity_type,
                "tags": each.tags,
                "metadata": each.metadata | {IMPORTED: self._provenance(each, revision)} | place,
            }
        )

    def _revise_entity(self, each: RecordToImport, known: Entity) -> None:
        caller = self.call.caller
        draft = draft_of(caller, self._fields(each, known.revision + 1), _GivenIds([known.id]))
        self._require_right(draft)
        require_writable(caller, known)
        kept = {name: getattr(draft, name) for name in ("name", "content", "tags", "metadata")}
        require_entry(caller, replace(known, **kept))
        self.tx.records.update_entity(known.id, lambda now: replace(now, **kept))

    def _require_right(self, draft: EntityDraft) -> None:
        for memory_id in rejected_among(self.tx, [draft]).values():
            raise rejection(memory_id)

    def _provenance(self, each: RecordToImport, revision: int) -> JsonObject:
        place = each.origin.model_dump(mode="json", exclude_none=True)
        told: JsonObject = {
            "import_id": self.target.id,
            "source": self.target.source,
            "fingerprint": _fingerprint(each),
        }
        return told | {"revision": revision} | place


def _fingerprint(each: RecordToImport) -> str:
    return content_hash("\0".join((each.name, each.content, *each.tags)))


def _relate(writing: _Writing, request: KeepRecordsRequest) -> None:
    tx, batch = writing.tx, writing.batch
    ends = {key: record_id(writing.target, key) for each in request.relations for key in (each.source, each.target)}
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
        provenance: JsonObject = {"from": SURFACE, "import_id": writing.target.id, "relationship": each.relationship}
        link = Link(source, name if known else RELATED, other.id, "relations", provenance=provenance)
        try:
            record(tx, writing.call.caller, [link])
        except EngrainError as error:
            batch.count("error_count")
            batch.lists["errors"].append({"key": each.source, "reason": error.message})
