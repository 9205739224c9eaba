"""Ingesting documents as sources with chunks."""

from typing import Annotated

from pydantic import Field

from auth.policy import require_writable, writable_visibility
from stores.errors import InvalidRequest
from stores.records import Entity
from tools.app import App
from tools.entities.documents import DocumentText, Url, prepared, source_draft, write_documents
from tools.entities.entities import readable
from tools.frame.operation import WRITERS, Call, Request, Result, Route, mutation
from tools.records.containment import contain
from tools.records.entity_models import BackgroundJobs, EntityId, MutationReceipt, Name
from tools.records.projects import require_live_project
from tools.records.receipts import receipt_for
from tools.records.storing import until_visible
from tools.runtime.threads import in_thread

DOCUMENTS_LIMIT = 64
URLS_LIMIT = 20_000


class IngestRequest(Request):
    """Documents of one source."""

    source_id: EntityId | None = Field(None, description="An existing source to add to or update.")
    source_name: Name | None = Field(None, description="Name of a new source; required without source_id.")
    source_url: Url | None = Field(None, description="Where the source comes from.")
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
    pages = [prepared(document) for document in {document.url: document for document in request.documents}.values()]
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim, deferred=True) as tx:
        # Read under the organization's lock, so that two ingestions of one address are serialized.
        source = _existing(app, call, request)
        if source is None:
            draft = source_draft(request.source_name or "", request.source_url, request.project, place)
            source = tx.records.create_entity(draft, fields={"mode": "async"})
            contain(tx, caller, None, source)
        written = write_documents(app.ledger, tx, source, pages)
        gone = [] if request.only_urls is None else _others(app, source, {*request.only_urls})
        for document_id in gone:
            tx.records.remove_document(document_id)
    made = Ingested(
        source_id=source.id,
        source_name=source.name,
        document_ids=[each.document_id for each in written],
        chunk_count=sum(len(each.new_chunks) + each.kept_chunks for each in written),
        kept_chunks=sum(each.kept_chunks for each in written),
        skipped=len(pages) - len(written),
        removed=len(gone),
    )
    return made, [source.id, *(chunk for each in written for chunk in each.new_chunks)], tx.sequence


def _others(app: App, source: Entity, urls: set[str]) -> list[str]:
    known = app.ledger.records.documents(source.organization_id, source.id)
    return [each.id for each in known if each.url not in urls]


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
