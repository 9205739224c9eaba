"""Request and result models of imports."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints
from pydantic_core import to_json

from auth.policy import MemoryScope
from stores.records import JsonObject, ReviewState
from stores.source_imports import ImportStatus, SourceImport
from tools.frame.operation import Filters, Request, Result
from tools.records.entity_models import Description, EntityId, Label, Labels
from tools.records.entity_types import EntityType
from tools.records.memory_models import RAW_CONTENT_LIMIT, MemoryTitle, SourceId, Surface

AT_ONCE = 1_000
BATCH = 100
KEY_LIMIT = 400

PLACE_LIMIT = 10_000


def _bounded(place: JsonObject) -> JsonObject:
    if len(to_json(place)) > PLACE_LIMIT:
        raise ValueError(f"Object should have at most {PLACE_LIMIT} bytes of JSON")
    return place


Place = Annotated[JsonObject, AfterValidator(_bounded)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=KEY_LIMIT)]
ImportId = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class StartImportRequest(Request):
    """A source to import."""

    source_uri: Text = Field(description="Address of the source, which identifies it.")
    adapter_name: Annotated[str, StringConstraints(min_length=1, max_length=100)] = Field(
        "mbox", description="Format of the source; GET /api/ingestion/import-adapters lists them."
    )
    target_memory_scope: MemoryScope = Field("private", description="Readers of the imported records.")
    target_scope_key: EntityId | None = Field(None, description="Which project, team or memory space.")
    options: Place = Field({}, description="Options of the adapter.")
    batch_size: int = Field(BATCH, ge=1, le=AT_ONCE, description="Most records in one transaction.")
    promotion_preview_approved: bool = Field(False, description="Accepted and ignored: an import promotes nothing.")


class ImportRequest(Request):
    """One import."""

    import_id: ImportId = Field(description="Id of the import.")


class ListImportsRequest(Filters):
    """Select the caller's imports."""

    limit: int = Field(50, ge=1, le=200, description="Most imports.")
    offset: int = Field(0, ge=0, le=100_000, description="Imports to skip.")


class PlaceInSource(Request):
    """Place in the source."""

    path: Text = Field(description="Path within the source.")
    line: int | None = Field(None, ge=1, description="Line, from 1.")
    begin: int | None = Field(None, ge=0, description="First byte.")
    end: int | None = Field(None, ge=0, description="Byte after the last.")


class ExportedCapture(Request):
    """Origin and review state of a raw memory."""

    source_id: SourceId = Field(description="Origin, in the sender's words.")
    capture_surface: Surface = Field(description="Client that captured it.")
    captured_at: AwareDatetime = Field(description="When it was said.")
    provenance: JsonObject = Field({}, description="Structured origin.")
    agent_id: Label | None = Field(None, description="Agent whose diary it is in.")
    review_state: ReviewState = Field("pending", description="Its state of review.")
    entity_id: Key | None = Field(None, description="Key of the record that was made of it.")


class ExportedChunk(Request):
    """Place of a chunk in a document."""

    source_id: Key = Field(description="Key of the source.")
    document_id: Key = Field(description="Id of the document.")
    url: Text = Field(description="Address of the document.")
    title: Annotated[str, StringConstraints(max_length=2_000)] = Field("", description="Title of the document.")
    content_hash: Annotated[str, StringConstraints(max_length=100)] = Field("", description="Hash of the document.")
    chunk_index: int = Field(ge=0, le=2**31 - 1, description="Its place, from 0.")
    chunk_type: Label = Field(description="`heading`, `paragraph`, …")
    heading_path: list[str] = Field([], description="Headings above it.")


class ExportedFields(Request):
    """Further fields of a record that Engrain exported."""

    description: Description = Field("", description="Short description.")
    category: Label | None = Field(None, description="Category.")
    languages: Labels = Field([], description="Programming languages.")
    source_file: Annotated[str, StringConstraints(max_length=2_000)] | None = Field(None, description="Its file.")
    memory_scope: MemoryScope = Field("private", description="Its scope; it is never made wider.")
    for_members: bool = Field(False, description="Readable only with a role in its project.")
    project_id: Key | None = Field(None, description="Key of its project.")
    references: list[Key] = Field([], description="Keys in `metadata` and `capture` that become the new ids.")
    original: JsonObject = Field({}, description="Fields that cannot be set; kept as `imported`.")
    capture: ExportedCapture | None = Field(None, description="For a raw memory.")
    chunk: ExportedChunk | None = Field(None, description="For a chunk of a document.")


class RecordToImport(Request):
    """One record of a source."""

    key: Key = Field(description="Identity in the source; a known one is not imported twice.")
    name: MemoryTitle = Field("", description="Title.")
    content: Annotated[str, StringConstraints(max_length=RAW_CONTENT_LIMIT)] = Field(
        description="Text, kept verbatim; of a raw memory not empty."
    )
    entity_type: EntityType | Literal["raw_memory"] = Field("raw_memory", description="A raw memory, or which entity.")
    tags: Labels = Field([], description="Labels to browse by.")
    metadata: JsonObject = Field({}, description="`captured_at`, `thread_id`, `speaker`, `participants`, `labels`, …")
    origin: PlaceInSource = Field(description="Place in the source.")
    exported: ExportedFields | None = Field(None, description="Further fields, for the format `engrain`.")


class RelationToImport(Request):
    """A relation between two imported entities."""

    source: Key = Field(description="Key of the record that it starts at.")
    relationship: Annotated[str, StringConstraints(min_length=1, max_length=100)] = Field(description="Its type.")
    target: Key = Field(description="Key of the record that it leads to.")
    fact: Annotated[str, StringConstraints(max_length=2_000)] = Field("", description="The fact in a sentence.")
    valid_at: AwareDatetime | None = Field(None, description="Since when it is true. Default: now.")
    invalid_at: AwareDatetime | None = Field(None, description="Until when it was true.")
    provenance: JsonObject | None = Field(None, description="Origin of the relation; by default, the import.")


class SkippedPart(Request):
    """Part of a source that could not be read."""

    origin: PlaceInSource = Field(description="Place in the source.")
    reason: Text = Field(description="Why it was left out.")


class KeepRecordsRequest(ImportRequest):
    """The next records of a running import."""

    records: Annotated[list[RecordToImport], Field(max_length=AT_ONCE)] = Field([], description="Records, in order.")
    relations: Annotated[list[RelationToImport], Field(max_length=AT_ONCE)] = Field(
        [], description="Relations between records that were sent."
    )
    skipped: Annotated[list[SkippedPart], Field(max_length=AT_ONCE)] = Field([], description="Skipped parts.")
    checkpoint: Place = Field({}, description="Place after these records, to go on from after an interruption.")
    completed: bool = Field(False, description="These are the last records.")


class ImportProgress(Result):
    """Counts of an import since it began."""

    imported_count: int = Field(description="New records.")
    skipped_count: int = Field(description="Parts that could not be read or kept.")
    dedupe_count: int = Field(description="Records that were there already.")
    superseded_count: int = Field(description="Records that got a new revision, because the source changed.")
    error_count: int = Field(description="Records that were refused.")
    attachment_count: int = Field(description="Attachments that were named and not kept.")
    extraction_pending_count: int = 0
    raw_memory_count: int = Field(description="Raw memories among the new records.")
    credential_count: int = Field(description="New and changed records in which something looked like a credential.")


class SourceImportView(Result):
    """One import. Lists hold the last 100."""

    import_id: str
    adapter_name: str
    adapter_version: str | None = None
    source_identity: str
    source_version: str | None = None
    status: ImportStatus
    privacy_class: str | None = None
    target_memory_scope: str
    target_scope_key: str | None
    checkpoint: JsonObject | None = Field(description="Place after the last stored batch.")
    progress: ImportProgress
    raw_memory_ids: list[str]
    dedupe_keys: list[str] = Field(description="Keys of new records.")
    duplicate_dedupe_keys: list[str] = Field(description="Keys of records that were there.")
    skipped_records: list[JsonObject]
    errors: list[JsonObject]
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None


class ImportsView(Result):
    """The caller's imports, those with the latest news first."""

    imports: list[SourceImportView]
    has_more: bool


class AdapterView(Result):
    """One format that can be imported."""

    name: str
    summary: str


class AdaptersView(Result):
    """Formats that can be imported."""

    adapters: list[AdapterView]


LISTS = ("raw_memory_ids", "dedupe_keys", "duplicate_dedupe_keys", "skipped_records", "errors")


def import_view(found: SourceImport) -> SourceImportView:
    listed: dict[str, Any] = {name: found.listed.get(name, []) for name in LISTS}
    return SourceImportView.of(
        found,
        import_id=found.id,
        adapter_name=found.adapter,
        source_identity=found.source,
        target_memory_scope=found.memory_scope,
        target_scope_key=found.scope_key,
        checkpoint=found.checkpoint or None,
        **listed,
    )
