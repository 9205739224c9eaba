"""Request and result models of entities."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, StringConstraints
from pydantic_core import PydanticCustomError

from stores.errors import NotFound, ValidationFailed
from stores.indexed_text import RETRIEVAL_KEYS
from stores.ledger import ChunkPlace
from stores.records import Entity, JsonObject
from tools.frame.arguments import SEVERAL
from tools.frame.json_values import StoredJson, without_none
from tools.frame.operation import Request, Result
from tools.records.entity_types import EntityType

NAME_LIMIT = 200
CONTENT_LIMIT = 50_000
LABEL_LIMIT = 200
LABELS_LIMIT = 100
BULK_LIMIT = 128

Name = Annotated[str, StringConstraints(min_length=1, max_length=NAME_LIMIT, pattern=r"\S")]
Content = Annotated[str, StringConstraints(max_length=CONTENT_LIMIT)]
Description = Annotated[str, StringConstraints(max_length=CONTENT_LIMIT)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=LABEL_LIMIT)]
Labels = Annotated[list[Label], Field(max_length=LABELS_LIMIT)]
Assignee = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LABEL_LIMIT, pattern=r"\S")]
Assignees = Annotated[list[Assignee], Field(max_length=LABELS_LIMIT)]
Wanted = Annotated[str, StringConstraints(max_length=LABEL_LIMIT)]
EntityId = Annotated[str, StringConstraints(min_length=1, max_length=500)]
RelatedTo = Annotated[list[EntityId], Field(max_length=100)]


def split_list(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _naming_something(text: str) -> str:
    if text and not split_list(text):
        message = "it names nothing between its commas; leave it out to filter nothing"
        raise PydanticCustomError("names_nothing", message, {"expected": "names between the commas"})
    return text


CommaSeparated = Annotated[
    str,
    # Must fit into the head of a request when percent-encoded.
    StringConstraints(max_length=4_000),
    AfterValidator(_naming_something),
    Field(json_schema_extra={"pattern": SEVERAL}),
]


class EntityFields(Request):
    """An entity to create."""

    name: Name = Field(description="Title.")
    description: Description | None = Field(None, description="Short description.")
    content: Content | None = Field(None, description="Full content.")
    entity_type: EntityType = Field(
        "episode",
        description="Kind of record. A `document` is kept whole and stands alone; ingest one to have it "
        "found by its parts.",
    )
    category: Label | None = Field(None, description="Category to filter by.")
    languages: Labels | None = Field(None, description="Programming languages.")
    tags: Labels | None = Field(None, description="Browse-only labels, without effect on ranking.")
    metadata: JsonObject | None = Field(
        None,
        description="Structured data. `project_id` puts it into a project, `memory_scope` sets who may read it; "
        "with `team`, `scope_key` is the id of a team that you are in, with `shared` the key of a memory space.",
    )
    related_to: RelatedTo | None = Field(
        None, description="Ids to link to, each plain or with a relationship in front: `supersedes:<id>`."
    )


class RelatedEntity(Result):
    """A neighbour in the graph, in one line."""

    id: str
    name: str
    entity_type: str
    relationship: str
    direction: Literal["outgoing", "incoming"]


class MutationReceipt(Result):
    """Receipt of a write."""

    operation_id: str
    applied: bool = True
    revision: int | None = None
    affected_records: list[str]
    idempotency_key: str | None = None
    replayed: bool = False


class BackgroundJobs(Result):
    """Work that was not finished when the answer was sent."""

    pending_indexes: list[str] = Field(default_factory=list, description="Indexes that do not show the record yet.")


class EntityView(Result):
    """An entity as clients see it."""

    id: str
    entity_type: str
    name: str
    description: str
    content: str
    content_length: int | None = Field(None, description="Characters of the whole content, where a part is shown.")
    category: str | None
    languages: list[str]
    tags: list[str]
    metadata: StoredJson
    source_file: str | None
    created_at: datetime | None
    updated_at: datetime | None
    revision: int
    related: list[RelatedEntity] | None = None
    background_jobs: BackgroundJobs | None = None
    mutation_receipt: MutationReceipt | None = None


def entity_view(entity: Entity, *, place: ChunkPlace | None = None, timestamps: bool = True) -> EntityView:
    """Show an entity; the place of a document chunk is merged into its metadata."""
    stamped: JsonObject = {
        "memory_scope": entity.memory_scope,
        "scope_key": entity.scope_key,
        "principal_id": entity.principal_id,
        "organization_id": entity.organization_id,
    }
    times = {} if timestamps else {"created_at": None, "updated_at": None}
    metadata = {**entity.metadata, **stamped, **(chunk_metadata(place) if place else {})}
    return EntityView.of(entity, metadata=metadata, **times)


def chunk_metadata(place: ChunkPlace) -> JsonObject:
    """Return the metadata that shows the place of a document chunk."""
    return {
        "source_id": place.chunk.source_id,
        "source_name": place.source_name,
        "source_url": place.source_url,
        "document_id": place.chunk.document_id,
        "document_url": place.document_url,
        "chunk_index": place.chunk.chunk_index,
        "chunk_type": place.chunk.chunk_type,
        "heading_path": list(place.chunk.heading_path),
        "result_origin": "document",
    }


NO_RELATIONS = "A raw memory has no relations; remember its words, and link that record."


def no_entity(entity_id: str) -> NotFound:
    return NotFound(f"There is no entity {entity_id}.", remediation=f"{NotFound.default_remediation} {NO_RELATIONS}")


KEYS_LIMIT = 50

Probe = Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=r"\S")]
RetrievalKey = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]


class Span(Request):
    """`content[start:end]`."""

    start: int = Field(ge=0)
    end: int = Field(ge=1)


RetrievalKeys = Annotated[
    Annotated[list[RetrievalKey], Field(max_length=KEYS_LIMIT)] | None,
    Field(description="Further words by which it is to be found: synonyms, codes, names."),
]
Spans = Annotated[
    Annotated[list[Span], Field(max_length=100)] | None,
    Field(description="Parts of the content that matter, in characters."),
]
Probes = Annotated[list[Probe], Field(max_length=20)] | None


def require_spans(spans: Sequence[Span] | None, content: str, within: str = "body") -> None:
    for number, span in enumerate(spans or ()):
        if not span.start < span.end <= len(content):
            raise ValidationFailed(
                f"spans.{number} is from {span.start} to {span.end}, which is not a part of content.",
                remediation=f"Count in characters: start before end, and end at most {len(content)}.",
                details={"field": f"{within}.spans.{number}", "expected": "a range of the content"},
            )


def findable_metadata(
    keys: Sequence[str] | None, spans: Sequence[Span] | None, probes: Sequence[str] | None
) -> JsonObject:
    return without_none(
        {
            RETRIEVAL_KEYS: list[JsonValue](keys or ()) or None,
            "spans": [{"start": span.start, "end": span.end} for span in spans or ()] or None,
            "probes": list[JsonValue](probes or ()) or None,
        }
    )


class FindableFields(EntityFields):
    """An entity to create, with further ways to find it."""

    retrieval_keys: RetrievalKeys = None
    spans: Spans = None

    def findable(self, within: str = "body", probes: Sequence[str] | None = None) -> Self:
        """Return it with these in its metadata; ValidationFailed where a span is not a part of the content."""
        require_spans(self.spans, self.content or "", within)
        added = findable_metadata(self.retrieval_keys, self.spans, probes)
        return self.model_copy(update={"metadata": {**(self.metadata or {}), **added}}) if added else self
