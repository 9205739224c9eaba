"""Documents of sources: their ingestion, which keeps chunks that stay the same, and reading around a chunk."""

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Annotated, Any, NamedTuple

from pydantic import Field, StringConstraints

from auth.policy import Visibility, may_read, require_writable, writable_visibility
from stores.clock import new_id
from stores.errors import InvalidRequest, NotFound
from stores.ledger import Ledger, Transaction
from stores.records import Chunk, Document, Entity, EntityDraft, JsonObject
from tools.app import App
from tools.entities import chunking
from tools.entities.entities import named, part_of, readable
from tools.frame.operation import SYNCED, Call, Request, Result, Route, Tool, entry, writing
from tools.records.containment import contain
from tools.records.derivation import EXCERPT, LINK
from tools.records.entity_models import BackgroundJobs, EntityId, MutationReceipt, Name
from tools.records.projects import require_live
from tools.records.receipts import receipt_for
from tools.records.storing import wait_until_visible

TEXT_LIMIT = 1_000_000
LAST = 2**31 - 1
_COMPARED = [each.name for each in fields(EntityDraft) if each.name != "id"]

Url = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class DocumentText(Request):
    """One document, whole."""

    url: Url = Field(description="Address or path that identifies the document within its source.")
    title: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        None, description="Title; its first heading when absent."
    )
    content: Annotated[str, StringConstraints(min_length=1, max_length=TEXT_LIMIT)] = Field(
        description="Markdown, reStructuredText or plain text."
    )


class Page(NamedTuple):
    """Document that is ready to be written."""

    url: str
    title: str
    digest: str
    pieces: Sequence[chunking.Piece]
    fetched: JsonObject | None = None


class Written(NamedTuple):
    """Document that was new or changed."""

    document_id: str
    new_chunks: Sequence[str]
    kept_chunks: int


def prepared(document: DocumentText, fetched: JsonObject | None = None) -> Page:
    """Cut a document into chunks; no transaction should wait for that."""
    title = document.title or chunking.title_of(document.content) or document.url
    digest = hashlib.sha256(f"{document.title or ''}\n{document.content}".encode()).hexdigest()
    return Page(document.url, title, digest, chunking.chunks(document.content), fetched)


def source_draft(
    name: str, url: str | None, project_id: str | None, visibility: Visibility, source_id: str | None = None
) -> EntityDraft:
    return EntityDraft(
        id=source_id or new_id("source"),
        entity_type="source",
        name=name,
        metadata={"url": url} if url else {},
        source_file=url,
        **visibility.fields,
        project_id=project_id,
    )


def write_documents(ledger: Ledger, tx: Transaction, source: Entity, pages: Iterable[Page]) -> list[Written]:
    """Write the pages that are new or changed, each address at most once. Blocks."""
    known = {known.url: known for known in ledger.records.documents(source.organization_id, source.id)}
    changed = ((page, known.get(page.url)) for page in pages)
    return [
        _write(ledger, tx, source, page, before)
        for page, before in changed
        if before is None or before.content_hash != page.digest
    ]


def _write(ledger: Ledger, tx: Transaction, source: Entity, page: Page, before: Document | None) -> Written:
    document_id = before.id if before is not None else str(uuid.uuid4())
    document = Document(document_id, source.id, page.url, page.title[:200], page.digest, page.fetched)
    there: dict[tuple[str, str], list[tuple[Chunk, Entity]]] = {}
    if before is None:
        tx.records.add_document(document)
    else:
        tx.records.change_document(document)
        for chunk, entity in ledger.records.document_chunks(source.organization_id, document_id, 0, LAST):
            there.setdefault((entity.content, entity.description), []).append((chunk, entity))
    new, kept = list[str](), set[str]()
    for index, piece in enumerate(page.pieces):
        draft = _chunk_draft(source, page, piece)
        same = there.get((draft.content, draft.description))
        if same and _is_same(*same[0], piece, draft):
            chunk, _ = same.pop(0)
            kept.add(chunk.id)
            if chunk.chunk_index != index:
                tx.records.move_chunk(chunk.id, index)
        else:
            place = Chunk(draft.id, document_id, source.id, index, piece.chunk_type, piece.heading_path)
            new.append(tx.records.add_chunk(place, draft).id)
    if before is not None:
        tx.records.remove_chunks(document_id, kept.union(new))
    return Written(document_id, new, len(kept))


def _is_same(chunk: Chunk, entity: Entity, piece: chunking.Piece, draft: EntityDraft) -> bool:
    is_in_place = chunk.heading_path == piece.heading_path
    return is_in_place and all(getattr(entity, name) == getattr(draft, name) for name in _COMPARED)


def _chunk_draft(source: Entity, page: Page, piece: chunking.Piece) -> EntityDraft:
    path = piece.heading_path
    return EntityDraft(
        id=str(uuid.uuid4()),
        entity_type="document",
        name=source.name,
        description=" > ".join(path if path and path[0] == page.title else (page.title[:200], *path)),
        content=piece.content,
        category=piece.chunk_type,
        source_file=page.url,
        source_id=source.id,
        **source.place,
    )


DOCUMENTS_LIMIT = 64
URLS_LIMIT = 20_000


class IngestRequest(Request):
    """Documents of one source."""

    source_id: EntityId | None = Field(None, description="An existing source to add to or update.")
    source_name: Name | None = Field(None, description="Name of a new source; required without source_id.")
    source_url: Url | None = Field(None, description="Origin of the source.")
    project: EntityId | None = Field(None, description="Id of the project that the source belongs to.")
    documents: Annotated[list[DocumentText], Field(min_length=1, max_length=DOCUMENTS_LIMIT)] = Field(
        description=f"1 to {DOCUMENTS_LIMIT} documents. One with a known url replaces it; an unchanged one is skipped."
    )
    only_urls: Annotated[list[Url], Field(max_length=URLS_LIMIT)] | None = Field(
        None, description="All addresses that the source has now; documents with any other are removed."
    )
    sync: bool = Field(False, description="Wait until every healthy index shows them, at most 20 s.")


class Ingested(Result):
    """Result of an ingestion."""

    source_id: str
    source_name: str
    document_ids: list[str]
    chunk_count: int = Field(description="Chunks of the documents that are new or changed.")
    kept_chunks: int = Field(0, description="Those of them that were there before, and stay as they are.")
    skipped: int
    removed: int = 0
    background_jobs: BackgroundJobs | None = None
    mutation_receipt: MutationReceipt | None = None


@writing(
    Route(
        "POST",
        "/api/ingestion/documents",
        status=201,
        query=SYNCED,
        tag="documents",
        body_limit=96 * 1024 * 1024,
        errors=(400, 404, 409, 429),
    ),
    "entity_created",
)
def ingest_documents(app: App, call: Call, request: IngestRequest) -> Ingested:
    """Store documents as a source with searchable chunks; each chunk knows its heading path and its neighbours."""
    caller = call.caller
    place = writable_visibility(caller, None, request.project)
    if request.project is not None:
        require_live(request.project, app.ledger.records.entity(caller.organization_id, request.project))
    urls = {*(request.only_urls or ())}
    pages = [prepared(document) for document in {document.url: document for document in request.documents}.values()]
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim, deferred=True) as tx:
        # Read under the organization's lock, so that two ingestions of one address are serialized.
        source = _existing(app, call, request)
        if source is None:
            draft = source_draft(request.source_name or "", request.source_url, request.project, place)
            source = tx.records.create_entity(draft, fields={"mode": "async"})
            contain(tx, caller, None, source)
        written = write_documents(app.ledger, tx, source, pages)
        there = [] if request.only_urls is None else app.ledger.records.documents(source.organization_id, source.id)
        gone = [each.id for each in there if each.url not in urls]
        for document_id in gone:
            tx.records.remove_document(document_id)
    if request.sync:
        new = [chunk for each in written for chunk in each.new_chunks]
        wait_until_visible(app, call, tx.sequence, [source.id, *new])
    return Ingested(
        source_id=source.id,
        source_name=source.name,
        document_ids=[each.document_id for each in written],
        chunk_count=sum(len(each.new_chunks) + each.kept_chunks for each in written),
        kept_chunks=sum(each.kept_chunks for each in written),
        skipped=len(pages) - len(written),
        removed=len(gone),
        mutation_receipt=receipt_for(app, call, [f"entity:{source.id}"]),
    )


def _existing(app: App, call: Call, request: IngestRequest) -> Entity | None:
    if request.source_id is None:
        if request.source_name is None:
            raise InvalidRequest("Name the source: source_id of an existing one, or source_name for a new one.")
        return None
    found = readable(app, call.caller, request.source_id)
    require_writable(call.caller, found)
    if found.entity_type != "source":
        raise InvalidRequest(f"{found.id} is a {found.entity_type}, not a source.")
    for name, given, kept in (
        ("source_name", request.source_name, found.name),
        ("source_url", request.source_url, found.source_file),
        ("project", request.project, found.project_id),
    ):
        if given is not None and given != kept:
            raise InvalidRequest(
                f"{name} is {given!r}, but the source {found.id} has {kept!r}.",
                remediation=f"Leave {name} out, or change the source with PATCH /api/entities/{found.id}.",
            )
    return found


class SliceRequest(Request):
    """A record to read with its surroundings."""

    entity_id: EntityId = Field(description="Id of a document chunk or any entity, as search returned it.")
    window: int = Field(3, ge=0, le=50, description="Chunks before and after it.")
    content_max_chars: int = Field(18_000, ge=1, le=200_000, description="Most characters returned.")
    start: int = Field(0, ge=0, description="First character to read of a record other than a chunk.")
    project: EntityId | None = Field(None, description="Refuse a record outside this project.")


class Piece(Result):
    """One chunk of the slice."""

    id: str
    chunk_index: int
    heading_path: list[str]
    content: str


class Slice(Result):
    """The text around a record, in reading order."""

    entity_id: str
    name: str
    url: str | None
    content: str
    pieces: list[Piece]
    truncated: bool
    content_length: int | None = Field(None, description="Characters of the whole record, where a part is shown.")
    excerpt_of: str | None = Field(None, description="Raw memory with the whole text, of which the record is a part.")


def _for_agents(piece: Slice) -> dict[str, Any]:
    pieces = [{"id": each.id, "heading_path": " > ".join(each.heading_path)} for each in piece.pieces]
    return piece.model_dump() | {"pieces": pieces or None}


@entry(tool=Tool("Read around a hit", read_only=True, answer=_for_agents))
def fetch_slice(app: App, call: Call, request: SliceRequest) -> Slice:
    """Read a document chunk with its neighbours in the document, or an entity or raw memory, in parts if it is long."""
    caller = call.caller
    entity = named(app, caller, request.entity_id)
    if request.project is not None and entity.project_id != request.project:
        raise NotFound(f"{entity.id} is not in project {request.project}.", remediation="Leave project out.")
    places = app.ledger.records.chunks(caller.organization_id, [entity.id]) if entity.source_id else {}
    place = places.get(entity.id)
    if place is None:
        part, length = part_of(entity.content, request.start, request.content_max_chars), len(entity.content)
        memory = entity.metadata.get(LINK) if entity.metadata.get(EXCERPT) else None
        return Slice(
            entity_id=entity.id,
            name=entity.name,
            url=entity.source_file,
            content=part,
            pieces=[],
            truncated=request.start + len(part) < length or memory is not None,
            content_length=length if len(part) < length else None,
            excerpt_of=memory if isinstance(memory, str) else None,
        )
    index = place.chunk.chunk_index
    around = app.ledger.records.document_chunks(
        caller.organization_id, place.chunk.document_id, max(0, index - request.window), index + request.window
    )
    readable_pieces = [(chunk, text) for chunk, text in around if may_read(caller, text.visibility)]
    pieces: list[Piece] = []
    used = 0
    for chunk, text in sorted(readable_pieces, key=lambda pair: abs(pair[0].chunk_index - index)):
        if pieces and used + len(text.content) > request.content_max_chars:
            break
        used += len(text.content)
        cut = text.content[: request.content_max_chars]
        pieces.append(Piece.of(chunk, heading_path=list(chunk.heading_path), content=cut))
    pieces.sort(key=lambda piece: piece.chunk_index)
    return Slice(
        entity_id=entity.id,
        name=place.document_title,
        url=place.document_url,
        content="\n\n".join(piece.content for piece in pieces),
        pieces=pieces,
        truncated=len(pieces) < len(readable_pieces) or used > request.content_max_chars,
    )
