"""Records that adapters read from other tools' files."""

from dataclasses import dataclass, field

from stores.records import RAW_MEMORY, JsonObject


@dataclass(frozen=True, slots=True)
class Origin:
    """Place of a record in its source."""

    path: str
    """Relative to the imported folder or archive; `/` between folders."""
    line: int | None = None
    """From 1."""
    begin: int | None = None
    end: int | None = None
    """Bytes in the file, half-open."""


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """One memory or entity, verbatim."""

    key: str
    """Identity that stays the same when the source is read again, at most 400 characters: a message id, a path."""
    name: str
    content: str
    origin: Origin
    entity_type: str = RAW_MEMORY
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    """`captured_at` and `occurred_at` (ISO 8601), `thread_id`, `ordinal`, `speaker`, `participants`, `labels`, …"""
    exported: JsonObject | None = None
    """Further fields of a record that Engrain exported: `ExportedFields` in `models.py`. Such records come uncut."""


@dataclass(frozen=True, slots=True)
class ImportedRelation:
    """Relation between two records of the same import, by their keys; it comes after both."""

    source: str
    relationship: str
    target: str
    origin: Origin
    fact: str = ""
    valid_at: str | None = None
    invalid_at: str | None = None
    provenance: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class SkippedRecord:
    """Part of a source that could not be read."""

    origin: Origin
    reason: str


Item = ImportedRecord | ImportedRelation | SkippedRecord
