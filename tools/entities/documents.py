"""Writing the documents of a source: chunks that stay the same are kept, with their ids and vectors."""

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.policy import Visibility
from stores.clock import new_id
from stores.ledger import Ledger, Transaction
from stores.records import Chunk, Document, Entity, EntityDraft, JsonObject
from tools.entities.chunking import Piece, chunks, title_of
from tools.frame.operation import Request

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


@dataclass(frozen=True, slots=True)
class Page:
    """Document that is ready to be written."""

    url: str
    title: str
    digest: str
    pieces: Sequence[Piece]
    fetched: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """Document that was new or changed."""

    document_id: str
    new_chunks: Sequence[str]
    kept_chunks: int


def prepared(document: DocumentText, fetched: JsonObject | None = None) -> Page:
    """Cut a document into chunks; no transaction should wait for that."""
    title = document.title or title_of(document.content) or document.url
    return Page(document.url, title, digest_of(document), chunks(document.content), fetched)


def digest_of(document: DocumentText) -> str:
    return hashlib.sha256(f"{document.title or ''}\n{document.content}".encode()).hexdigest()


def source_draft(
    name: str, url: str | None, project_id: str | None, visibility: Visibility, source_id: str | None = None
) -> EntityDraft:
    return EntityDraft(
        id=source_id or new_id("source"),
        entity_type="source",
        name=name,
        metadata={"url": url} if url else {},
        source_file=url,
        visibility=visibility.key,
        memory_scope=visibility.memory_scope,
        scope_key=visibility.scope_key,
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


def _is_same(chunk: Chunk, entity: Entity, piece: Piece, draft: EntityDraft) -> bool:
    is_in_place = chunk.heading_path == piece.heading_path
    return is_in_place and all(getattr(entity, name) == getattr(draft, name) for name in _COMPARED)


def _chunk_draft(source: Entity, page: Page, piece: Piece) -> EntityDraft:
    path = piece.heading_path
    draft = EntityDraft(
        id=str(uuid.uuid4()),
        entity_type="document",
        name=source.name,
        description=" > ".join(path if path and path[0] == page.title else (page.title[:200], *path)),
        content=piece.content,
        category=piece.chunk_type,
        source_file=page.url,
        visibility=source.visibility,
        memory_scope=source.memory_scope,
    )
    return replace(draft, scope_key=source.scope_key, project_id=source.project_id, source_id=source.id)
