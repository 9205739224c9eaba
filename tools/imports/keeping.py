"""Storing a batch of imported records: new ones are added, changed ones revised, known ones left."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import JsonValue, ValidationError

from auth.memory_policy import MemoryScopeRequest, may_change_memory, writable_memory
from auth.policy import MemoryScope, Visibility, require_entry, require_writable
from auth.visibility import members_key
from stores.clock import NeighbouringIds
from stores.errors import Conflict, EngrainError, InvalidRequest, NotFound
from stores.ledger import Transaction, content_hash
from stores.records import RAW_MEMORY, Capture, Chunk, Document, Entity, EntityDraft, JsonObject, RawMemory
from stores.source_imports import SourceImport
from tools.frame.json_values import without_none
from tools.frame.operation import Call
from tools.imports.adapters import ADAPTERS
from tools.imports.models import AT_ONCE, LISTS, ExportedChunk, KeepRecordsRequest, RecordToImport, RelationToImport
from tools.memory.memories import scope_of, unchecked_draft
from tools.records.entity_models import NAME_LIMIT, EntityFields
from tools.records.entity_types import RELATIONSHIP_TYPES
from tools.records.linking import Link, record
from tools.records.memory_models import RawMemoryFields
from tools.records.projects import audit_project, grant_project, require_live
from tools.records.storing import draft_of, store_in
from tools.records.trust import rejected_among, rejection

SHOWN = 100
SURFACE = "import"
RELATED = "RELATED_TO"
IMPORTED = "imported"
"""Name in the metadata of an entity, or the provenance of an exported memory, under which its origin stands."""
EXPORT = "engrain"
_COMPARED = ("name", "description", "content", "category", "languages", "tags", "metadata")


@dataclass(slots=True)
class Screened:
    """Records that were looked through for credentials."""

    request: KeepRecordsRequest
    wrong: dict[str, str]
    """Keys of records and relations that cannot be written, with the reason."""
    leaking: list[str]
    """Keys of those in which something looks like a credential."""


def relation_key(number: int) -> str:
    # No key of a record has U+0000.
    return f"\0{number}"


class RecordRefused(Exception):
    """A record cannot be written; the transaction must be rolled back."""

    def __init__(self, key: str | None, reason: str) -> None:
        super().__init__(reason)
        self.key = key
        """None if it was one of several."""


def keep_records(tx: Transaction, call: Call, target: SourceImport, given: Screened) -> tuple[SourceImport, list[str]]:
    """Store what can be stored; return the import with this batch counted, and ids of records with credentials.

    If some records cannot be written, the others are written one by one.

    Raises:
        Forbidden: The caller may not write into the target scope, or not any more.
        RecordRefused: A record cannot be written.
    """
    request, wrong = given.request, given.wrong
    writing = _Writing(tx, call, target, place_of(call, target), given)
    if target.memory_scope == "project" and target.scope_key is not None:
        require_live(target.scope_key, tx.records.entity(target.scope_key))
    for each in request.records:
        if each.key in wrong:
            writing.refuse(each, wrong[each.key])
    for group in _groups([each for each in request.records if each.key not in wrong], 1 if wrong else AT_ONCE):
        writing.keep(group)
    writing.relate(request.relations)
    for part in request.skipped:
        writing.tell("skipped_count", "skipped_records", part.model_dump(mode="json"))
    return writing.counted(), writing.exposed


def place_of(call: Call, target: SourceImport) -> Visibility:
    """Return where raw memories go; Forbidden or NotFound if the caller may not write there."""
    return writable_memory(call.caller, MemoryScopeRequest(cast("MemoryScope", target.memory_scope), target.scope_key))


def record_id(target: SourceImport, key: str) -> str:
    """Return the id of a record, the same whenever its source is read into the same scope."""
    adapter = ADAPTERS.get(target.adapter)
    source = "" if adapter is not None and adapter.is_global else target.source
    owner = target.scope_key or (target.user_id if target.memory_scope == "private" else "")
    # An export brings private records into any scope: each importing user has records of their own.
    person = (target.user_id,) if target.adapter == EXPORT else ()
    named = "\0".join((target.adapter, source, target.memory_scope, owner, key, *person))
    return f"imported_{hashlib.sha256(named.encode(errors='surrogatepass')).hexdigest()[:24]}"


def _groups(records: Sequence[RecordToImport], most: int) -> Iterator[list[RecordToImport]]:
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


@dataclass(slots=True)
class _Writing:
    tx: Transaction
    call: Call
    target: SourceImport
    place: Visibility
    given: Screened
    exposed: list[str] = field(default_factory=list)
    """Ids of written records in which something looks like a credential."""
    counts: Counter[str] = field(default_factory=Counter)
    lists: defaultdict[str, list[object]] = field(default_factory=lambda: defaultdict(list))

    def counted(self) -> SourceImport:
        before = cast("dict[str, int]", self.target.progress)
        progress: JsonObject = {name: value + self.counts[name] for name, value in before.items()}
        told = cast("dict[str, list[object]]", self.target.listed)
        listed = {name: [*told.get(name, []), *self.lists[name]][-SHOWN:] for name in LISTS}
        return replace(self.target, progress=progress, listed=cast("JsonObject", listed))

    def tell(self, count: str, name: str, item: object) -> None:
        self.counts[count] += 1
        self.lists[name].append(item)

    def refuse(self, each: RecordToImport, reason: str) -> None:
        self.tell("error_count", "errors", {"key": each.key, "path": each.origin.path, "reason": reason})

    def _expose(self, key: str, record_id: str) -> None:
        if key in self.given.leaking:
            self.counts["credential_count"] += 1
            self.exposed.append(record_id)

    def _added(self, each: RecordToImport, record_id: str) -> None:
        self._expose(each.key, record_id)
        self.tell("imported_count", "dedupe_keys", each.key)
        attachments = each.metadata.get("attachments")
        self.counts["attachment_count"] += len(attachments) if isinstance(attachments, list) else 0
        if each.entity_type == RAW_MEMORY:
            self.tell("raw_memory_count", "raw_memory_ids", record_id)

    def keep(self, group: Sequence[RecordToImport]) -> None:
        ids = [record_id(self.target, each.key) for each in group]
        there, memories = self.tx.records.entities(ids), self.tx.memories.by_ids(ids)
        new = list[tuple[RecordToImport, EntityDraft, Capture | EntityFields]]()
        for each, of_id in zip(group, ids, strict=True):
            try:
                if each.exported is not None and self.target.adapter != EXPORT:
                    raise InvalidRequest(f"`exported` is for the format {EXPORT}.")
                if of_id in there:
                    self._revise(each, there[of_id], memories.get(of_id))
                elif each.entity_type == RAW_MEMORY:
                    new.append((each, *self._memory(each, of_id)))
                else:
                    new.append((each, *self._entity(each, of_id)))
            except EngrainError as error:
                self.refuse(each, error.message)
            except ValidationError as error:
                wrong = error.errors(include_url=False)[0]
                self.refuse(each, f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}.")
        rejected = rejected_among(self.tx, [draft for _, draft, _ in new])
        for each, draft, _ in new:
            if draft.id in rejected:
                self.refuse(each, rejection(rejected[draft.id]).message)
        self._create([made for made in new if made[1].id not in rejected])

    def _create(self, new: Sequence[tuple[RecordToImport, EntityDraft, Capture | EntityFields]]) -> None:
        memories = [(draft, made) for _, draft, made in new if isinstance(made, Capture)]
        others = [(each, draft, made) for each, draft, made in new if isinstance(made, EntityFields)]
        entities = [(draft.id, made) for each, draft, made in others if each.exported is None]
        try:
            self.tx.memories.create_memories(memories)
            ids = _GivenIds([of_id for of_id, _ in entities])
            store_in(self.call, self.tx, [fields for _, fields in entities], sync=False, ids=ids)
            self._take_back([(draft, each.exported.chunk) for each, draft, _ in others if each.exported])
        except EngrainError as error:
            raise RecordRefused(new[0][0].key if len(new) == 1 else None, error.message) from error
        for each, draft, _ in new:
            self._added(each, draft.id)

    def _revise(self, each: RecordToImport, known: Entity, memory: RawMemory | None) -> None:
        found = known.metadata if memory is None else memory.capture.provenance
        origin = found.get(IMPORTED, None if memory is None else found)
        is_other = known.entity_type != each.entity_type or not isinstance(origin, dict)
        if is_other or cast("JsonObject", origin).get("fingerprint") == _fingerprint(each):
            self.tell("dedupe_count", "duplicate_dedupe_keys", each.key)
            return
        if cast("JsonObject", origin).get("revision") != known.revision:
            raise Conflict(f"{known.id} was changed here and in its source; it stays as it is here.")
        change = self._revise_entity if memory is None else self._revise_memory
        change(each, known)
        self.counts["superseded_count"] += 1
        self._expose(each.key, known.id)

    def _memory(self, each: RecordToImport, of_id: str, revision: int = 1) -> tuple[EntityDraft, Capture]:
        fields = RawMemoryFields(
            raw_content=each.content,
            title=each.name,
            source_id=each.key,
            tags=each.tags,
            metadata=self._mapped(each, each.metadata),
            provenance=self._provenance(each, revision),
            capture_surface=f"{SURFACE}:{self.target.adapter}",
            **self._scope(each),
        )
        more = each.exported
        if more is None or more.capture is None:
            draft, capture = unchecked_draft(fields, self.place, self.tx.now)
            return replace(draft, id=of_id), capture
        told = more.capture
        fields = fields.model_copy(update={"agent_id": told.agent_id, "diary": told.agent_id is not None})
        draft, capture = unchecked_draft(fields, writable_memory(self.call.caller, scope_of(fields)), self.tx.now)
        provenance = told.provenance | {IMPORTED: fields.provenance}
        said = {name: getattr(told, name) for name in ("source_id", "capture_surface", "captured_at", "review_state")}
        said["source_id"] = of_id if told.source_id == each.key else told.source_id
        said["entity_id"] = self._mapped(each, told.entity_id) if told.entity_id in more.references else None
        return replace(draft, id=of_id), replace(capture, provenance=provenance, **said)

    def _revise_memory(self, each: RecordToImport, known: Entity) -> None:
        draft, capture = self._memory(each, known.id, known.revision + 1)
        self._require_right(draft)
        if known.visibility != draft.visibility or not may_change_memory(self.call.caller, known):
            raise Conflict(f"{known.id} was moved since; it stays as it is.")
        changed = replace(known, name=draft.name, content=draft.content, tags=draft.tags, metadata=draft.metadata)
        said = {name: getattr(capture, name) for name in ("content_hash", "provenance", "captured_at")}
        self.tx.memories.revise_memory(changed, **said)

    def _entity(self, each: RecordToImport, of_id: str, revision: int = 1) -> tuple[EntityDraft, EntityFields]:
        more, metadata, place = each.exported, self._mapped(each, each.metadata), self._scope(each)
        told: JsonObject = {
            "name": each.name[:NAME_LIMIT] or each.origin.path[-NAME_LIMIT:],
            "content": each.content,
            "entity_type": each.entity_type,
            "tags": [*each.tags],
            "metadata": metadata | {IMPORTED: self._provenance(each, revision)} | place,
        }
        if more is not None:
            told |= more.model_dump(mode="json", include={"description", "category", "languages"})
        fields = EntityFields.model_validate(told)
        draft = draft_of(self.call.caller, fields, _GivenIds([of_id]))
        if more is None:
            return draft, fields
        # A record may be in a project without this field, or name one that is gone.
        named = {"project_id": metadata["project_id"]} if "project_id" in metadata else {}
        kept = {name: value for name, value in draft.metadata.items() if name != "project_id"} | named
        is_for_members = more.for_members and draft.memory_scope == "project" and each.entity_type != "project"
        visibility = members_key(draft.scope_key or "") if is_for_members else draft.visibility
        return replace(draft, metadata=kept, source_file=more.source_file, visibility=visibility), fields

    def _scope(self, each: RecordToImport) -> dict[str, Any]:
        """Return the scope of a record: the target's, of an exported one the narrower of the target's and its own."""
        more, target = each.exported, self.target.memory_scope
        inside = self.target.scope_key if target == "project" else None
        place = without_none({"memory_scope": target, "scope_key": self.target.scope_key, "project_id": inside})
        if more is None:
            return place
        if each.entity_type == "project":
            if target not in ("private", "organization"):
                raise InvalidRequest("A project is imported into the organization, or for the caller alone.")
            return {"memory_scope": "private"} if target == "private" else {}
        project = inside or (more.project_id and record_id(self.target, more.project_id))
        if more.memory_scope == "project" and target == "organization":
            return {"memory_scope": "project", "project_id": project} if project else {"memory_scope": "private"}
        is_open = more.memory_scope in ("organization", "public", "project")
        return (place if is_open else {"memory_scope": "private"}) | ({"project_id": project} if project else {})

    def _mapped(self, each: RecordToImport, value: JsonValue) -> Any:
        if not each.exported or not each.exported.references:
            return value
        if isinstance(value, str):
            return record_id(self.target, value) if value in each.exported.references else value
        if isinstance(value, dict):
            return {name: self._mapped(each, inner) for name, inner in value.items()}
        return [self._mapped(each, inner) for inner in value] if isinstance(value, list) else value

    def _take_back(self, drafts: Sequence[tuple[EntityDraft, ExportedChunk | None]]) -> None:
        plain: JsonObject = {"mode": "async"}
        for entity in self.tx.records.create_entities([(draft, plain) for draft, place in drafts if place is None]):
            require_entry(self.call.caller, entity)
            grant_project(self.tx, entity)
            audit_project(self.tx, self.call, "project.create", entity, None)
        for draft, place in drafts:
            if place is not None:
                self._take_back_chunk(draft, place)

    def _take_back_chunk(self, draft: EntityDraft, place: ExportedChunk) -> None:
        source_id, document_id = (record_id(self.target, each) for each in (place.source_id, place.document_id))
        source = self.tx.records.entity(source_id)
        if source is None:
            raise NotFound(f"The source {place.source_id} of a document is not there.")
        require_writable(self.call.caller, source)
        with suppress(Conflict):  # Another chunk has brought it.
            self.tx.records.add_document(Document(document_id, source_id, place.url, place.title, place.content_hash))
        path = tuple(place.heading_path)
        chunk = Chunk(draft.id, document_id, source_id, place.chunk_index, place.chunk_type, path)
        self.tx.records.add_chunk(chunk, replace(draft, visibility=source.visibility))

    def _revise_entity(self, each: RecordToImport, known: Entity) -> None:
        caller = self.call.caller
        draft, _ = self._entity(each, known.id, known.revision + 1)
        self._require_right(draft)
        require_writable(caller, known)
        kept = {name: getattr(draft, name) for name in _COMPARED}
        require_entry(caller, replace(known, **kept))
        grant_project(self.tx, self.tx.records.update_entity(known.id, lambda now: replace(now, **kept)))

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
        original = {} if each.exported is None else each.exported.original
        return original | told | {"revision": revision} | place

    def relate(self, relations: Sequence[RelationToImport]) -> None:
        ends = {key: record_id(self.target, key) for each in relations for key in (each.source, each.target)}
        there = self.tx.records.entities(ends.values()) if ends else {}
        for number, each in enumerate(relations):
            source, other = there.get(ends[each.source]), there.get(ends[each.target])
            if source is None or other is None:
                missing = each.source if source is None else each.target
                told = {"key": missing, "reason": "A relation leads to what is not there."}
                self.tell("skipped_count", "skipped_records", told)
                continue
            key = relation_key(number)
            try:
                if key in self.given.wrong:
                    raise InvalidRequest(self.given.wrong[key])
                (recorded,) = record(self.tx, self.call.caller, [self._link(each, source, other.id)])
                if recorded.is_new:
                    self._expose(key, source.id)
            except EngrainError as error:
                self.tell("error_count", "errors", {"key": each.source, "reason": error.message})

    def _link(self, each: RelationToImport, source: Entity, target_id: str) -> Link:
        name = each.relationship.upper()
        said = {"import_id": self.target.id, "relationship": each.relationship}
        provenance: JsonObject = {"from": SURFACE, **(said if each.provenance is None else each.provenance)}
        known = name if name in RELATIONSHIP_TYPES else RELATED
        return Link(source, known, target_id, "relations", (), provenance, each.fact, each.valid_at, each.invalid_at)


def _fingerprint(each: RecordToImport) -> str:
    more = () if each.exported is None else (each.model_dump_json(include={"metadata", "exported"}),)
    return content_hash("\0".join((each.name, each.content, *each.tags, *more)))
