"""Ingesting documents as sources with chunks."""

import hashlib
import uuid
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.policy import Visibility, require_writable, writable_visibility
from stores.clock import new_id
from stores.errors import InvalidRequest
from stores.ledger import Transaction
from stores.records import Chunk, Document, Entity, EntityDraft
from tools.app import App
from tools.entities.chunking import Piece, chunks, title_of
from tools.entities.entities import readable
from tools.frame.operation import WRITERS, Call, Request, Result, Route, mutation
from tools.records.containment import contain
from tools.records.entity_models import BackgroundJobs, EntityId, MutationReceipt, Name
from tools.records.projects import require_live_project
from tools.records.receipts import receipt_for
from tools.records.storing import until_visible
from tools.runtime.threads import in_thread

DOCUMENTS_LIMIT = 64
TEXT_LIMIT = 1_000_000

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


class IngestRequest(Request):
    """Documents of one source."""

    source_id: EntityId | None = Field(None, description="An existing source to add to or update.")
    source_name: Name | None = Field(None, description="Name of a new source; required without source_id.")
    source_url: Url | None = Field(None, description="Where the source comes from.")
    project: EntityId | None = Field(None, description="Id of the project that the source belongs to.")
    documents: Annotated[list[DocumentText], Field(min_length=1, max_length=DOCUMENTS_LIMIT)] = Field(
        description=f"1 to {DOCUMENTS_LIMIT} documents. One with a known url replaces it; an unchanged one is skipped."
    )
    sync: bool = Field(False, description="Wait until every healthy index shows them, at most 20 s.")


class Ingested(Result):
    """Result of an ingestion."""

    source_id: str
    source_name: str
    document_ids: list[str]
    chunk_count: int
    skipped: int
    background_jobs: BackgroundJobs | None = None
    mutation_receipt: MutationReceipt | None = None


async def ingest_documents(app: App, call: Call, request: IngestRequest) -> Ingested:
    """Store documents as a source with searchable chunks; each chunk knows its heading path and its neighbours."""
    stored, ids, sequence = await in_thread(_store, app, call, request)
    jobs = await until_visible(app, call.caller, sequence, ids) if request.sync else None
    receipt = receipt_for(app, call, [f"entity:{stored.source_id}"])
    return stored.model_copy(update={"background_jobs": jobs, "mutation_receipt": receipt})


def _store(app: App, call: Call, request: IngestRequest) -> tuple[Ingested, list[str], int]:
    caller = call.caller
    place = writable_visibility(caller, None, request.project)
    if request.project is not None:
        require_live_project(app, caller.organization_id, request.project)
    documents = {document.url: document for document in request.documents}
    pieces = {url: chunks(document.content) for url, document in documents.items()}
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim, deferred=True) as tx:
        # Read under the organization's lock, so that two ingestions of one address are serialized.
        source = _existing(app, call, request)
        if source is None:
            source = tx.records.create_entity(_source_draft(request, place), fields={"mode": "async"})
            contain(tx, caller, None, source)
        known = {known.url: known for known in app.ledger.records.documents(caller.organization_id, source.id)}
        fresh = [d for d in documents.values() if d.url not in known or known[d.url].content_hash != _digest(d)]
        stored: list[Entity] = []
        ids: list[str] = []
        for document in fresh:
            if document.url in known:
                tx.records.remove_document(known[document.url].id)
            document_id = str(uuid.uuid4())
            ids.append(document_id)
            stored += _add_document(tx, source, document_id, document, pieces[document.url])
    made = Ingested(
        source_id=source.id,
        source_name=source.name,
        document_ids=ids,
        chunk_count=len(stored),
        skipped=len(documents) - len(fresh),
    )
    return made, [source.id, *(chunk.id for chunk in stored)], tx.sequence


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


def _source_draft(request: IngestRequest, visibility: Visibility) -> EntityDraft:
    return EntityDraft(
        id=new_id("source"),
        entity_type="source",
        name=request.source_name or "",
        metadata={"url": request.source_url} if request.source_url else {},
        source_file=request.source_url,
        visibility=visibility.key,
        memory_scope=visibility.memory_scope,
        scope_key=visibility.scope_key,
        project_id=request.project,
    )


def _digest(document: DocumentText) -> str:
    return hashlib.sha256(f"{document.title or ''}\n{document.content}".encode()).hexdigest()


def _add_document(
    tx: Transaction, source: Entity, document_id: str, document: DocumentText, pieces: Sequence[Piece]
) -> list[Entity]:
    title = document.title or title_of(document.content) or document.url
    tx.records.add_document(Document(document_id, source.id, document.url, title[:200], _digest(document)))
    return [
        tx.records.add_chunk(
            Chunk(
                id=(chunk_id := str(uuid.uuid4())),
                document_id=document_id,
                source_id=source.id,
                chunk_index=index,
                chunk_type=piece.chunk_type,
                heading_path=piece.heading_path,
            ),
            EntityDraft(
                id=chunk_id,
                entity_type="document",
                name=source.name,
                description=_heading_path(title, piece),
                content=piece.content,
                category=piece.chunk_type,
                source_file=document.url,
                visibility=source.visibility,
                memory_scope=source.memory_scope,
                scope_key=source.scope_key,
                project_id=source.project_id,
                source_id=source.id,
            ),
        )
        for index, piece in enumerate(pieces)
    ]


def _heading_path(title: str, piece: Piece) -> str:
    path = piece.heading_path
    return " > ".join(path if path and path[0] == title else (title[:200], *path))


OPERATIONS = (
    mutation(
        ingest_documents,
        Route(
            "POST",
            "/api/ingestion/documents",
            status=201,
            query=frozenset({"sync"}),
            tag="documents",
            body_limit=96 * 1024 * 1024,
            errors=(400, 404, 409, 429),
        ),
        roles=WRITERS,
        events=("entity_created",),
    ),
)
