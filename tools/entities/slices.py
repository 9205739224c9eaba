"""Reading a document chunk with its neighbours, or a whole entity."""

from typing import Any

from pydantic import Field

from auth.policy import may_read
from stores.errors import NotFound
from tools.app import App
from tools.entities.entities import named, part_of
from tools.frame.operation import Call, Operation, Request, Result, Tool
from tools.records.entity_models import EntityId


class SliceRequest(Request):
    """A record to read with its surroundings."""

    entity_id: EntityId = Field(description="Id of a document chunk or any entity, as search returned it.")
    window: int = Field(3, ge=0, le=50, description="Chunks before and after it.")
    content_max_chars: int = Field(18_000, ge=1, le=200_000, description="Most characters returned.")
    start: int = Field(0, ge=0, description="First character of a record that is no chunk, to read it in parts.")
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
        return Slice(
            entity_id=entity.id,
            name=entity.name,
            url=entity.source_file,
            content=part,
            pieces=[],
            truncated=request.start + len(part) < length,
            content_length=length if len(part) < length else None,
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


def _for_agents(piece: Slice) -> dict[str, Any]:
    pieces = [{"id": each.id, "heading_path": " > ".join(each.heading_path)} for each in piece.pieces]
    return piece.model_dump() | {"pieces": pieces or None}


OPERATIONS = (Operation(fetch_slice, tool=Tool("Read around a hit", read_only=True, answer=_for_agents)),)
