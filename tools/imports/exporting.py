"""All that the caller may read, as lines that `engrain import` takes back."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, cast

from pydantic import Field, JsonValue, StringConstraints
from pydantic_core import to_jsonable_python

from auth.principal import Principal
from auth.tokens import keyed_hash
from auth.visibility import members_key
from stores.errors import InvalidRequest
from stores.ledger.documents import ChunkPlace
from stores.ledger.exporting import PARTS, ExportQuery
from stores.records import RAW_MEMORY, Entity, JsonObject, Relation
from tools.app import App
from tools.entities.entities import entities_made
from tools.frame.audit_entries import audit_entry
from tools.frame.json_values import StoredJson
from tools.frame.operation import Call, Filters, Result, Route, entry
from tools.records.containment import without_hidden
from tools.records.entity_models import EntityId
from tools.records.linking import BY_HAND
from tools.records.receipts import authors

LINES = 500
AT_ONCE = 25
CHARACTERS = 4_000_000
"""A page ends with the records that exceed this, as one record may have half a million."""
ID_LENGTH = 100
RELATIONS = "relations"
STAGES = (*PARTS, RELATIONS)
EXPORT = "memory.export"
_PURPOSE = b"engrain export cursors"
_ENTITY = (
    "id", "name", "description", "content", "category", "languages", "tags", "metadata", "memory_scope", "scope_key",
    "project_id", "source_file", "created_at", "updated_at",
)  # fmt: skip
_CAPTURE = ("source_id", "capture_surface", "captured_at", "provenance", "agent_id", "review_state")
_CHUNK = ("source_id", "document_id", "chunk_index", "chunk_type", "heading_path")
_RELATION = (
    "id", "source_id", "name", "target_id", "valid_at", "invalid_at", "created_at", "expired_at", "provenance",
)  # fmt: skip


class ExportRequest(Filters):
    """Records to export, and the page."""

    project: EntityId | None = Field(None, description="Only this project (id, name or slug) and its records.")
    cursor: Annotated[str, StringConstraints(min_length=1, max_length=700)] | None = Field(
        None, description="`next_cursor` of the page before."
    )
    limit: int = Field(LINES, ge=1, le=LINES, description="Most lines; fewer come where texts are long.")


class ExportPage(Result):
    """Lines of an export."""

    lines: list[StoredJson] = Field(description="Records and relations, as the guide on exports describes them.")
    next_cursor: str | None = Field(description="Start of the next page; null at the end.")


@entry(Route("GET", "/api/export", tag="imports", errors=(400, 404)))
def export_records(app: App, call: Call, request: ExportRequest) -> ExportPage:
    """Export all that the caller may read, page by page: records, raw memories, chunks of documents and relations.

    What is there before the first and after the last page comes exactly once.
    """
    caller = call.caller
    stage, _, after = _place(app, call, request).partition(":")
    waiting = [*STAGES[STAGES.index(stage) :]]
    lines, size = list[JsonObject](), 0
    while waiting and len(lines) < request.limit and size < CHARACTERS:
        limit = min(AT_ONCE, request.limit - len(lines))
        query = ExportQuery(caller.organization_id, caller.visible, request.project, after, limit)
        if waiting[0] == RELATIONS:
            relations, last = app.ledger.export.relations(query)
            added = [_relation(each) for each in relations]
        else:
            records, last = app.ledger.export.entities(
                replace(query, visibility=caller.visible | caller.memories), waiting[0]
            )
            added = _records(app, caller, request.project, records)
        lines += added
        size += len(str(added))
        after = last or ""
        if last is None:
            waiting.pop(0)
    following = f"{waiting[0]}:{after}" if waiting else ""
    return ExportPage(lines=lines, next_cursor=_sealed(app, call, request, following) if waiting else None)


def _place(app: App, call: Call, request: ExportRequest) -> str:
    if request.cursor is None:
        # It counts nothing and names no project: those may be private.
        app.ledger.audit.append(audit_entry(call, EXPORT, call.caller.organization_id))
        return f"{STAGES[0]}:"
    place = request.cursor.partition(":")[2]
    if request.cursor != _sealed(app, call, request, place):
        raise InvalidRequest(
            "cursor is none of this export.",
            remediation="Send `next_cursor` of the page before, or none to begin.",
            details={"field": "query.cursor"},
        )
    return place


def _sealed(app: App, call: Call, request: ExportRequest, place: str) -> str:
    # A cursor cannot be forged, so each export begins with an audit entry.
    whose = (call.caller.organization_id, call.caller.user_id, request.project or "", place)
    return f"{keyed_hash(app.accounts.tokens.secret, _PURPOSE, chr(0).join(whose))[:32]}:{place}"


def _records(app: App, caller: Principal, project: str | None, found: Sequence[Entity]) -> list[JsonObject]:
    shown, organization = without_hidden(app, caller, found), caller.organization_id
    memories = app.ledger.memories.by_ids(organization, [each.id for each in shown if each.entity_type == RAW_MEMORY])
    places = app.ledger.records.chunks(organization, [each.id for each in shown if each.source_id is not None])
    made, names = entities_made(app, caller, memories.values()), authors(app, shown)
    named = {each.id: {*_words([each.metadata, each.project_id, each.scope_key, made.get(each.id)])} for each in shown}
    there = app.ledger.records.statuses(organization, set().union(*named.values()), visibility=caller.visible)
    known = {
        each.id
        for each in there.values()
        if each.visibility in caller.visible | caller.memories and project in (None, each.id, each.facets.project_id)
    }
    return [
        {"kind": "record", "type": each.entity_type}
        | _picked(each, _ENTITY)
        | {
            "author": names.get(each.id),
            "author_id": each.principal_id,
            "for_members": each.visibility == members_key(each.scope_key or ""),
            "references": [*sorted(named[each.id] & known)],
            "capture": _picked(memories[each.id].capture, _CAPTURE) | {"entity_id": made.get(each.id)}
            if each.id in memories
            else None,
            "chunk": _chunk(places.get(each.id)),
        }
        for each in shown
        if each.entity_type != RAW_MEMORY or each.id in memories
    ]


def _words(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str) and len(value) <= ID_LENGTH:
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _words(each)


def _picked(found: object, names: Sequence[str]) -> JsonObject:
    return cast("JsonObject", to_jsonable_python({name: getattr(found, name) for name in names}))


def _chunk(place: ChunkPlace | None) -> JsonObject | None:
    if place is None:
        return None
    told: JsonObject = {"url": place.document_url, "title": place.document_title, "content_hash": place.document_hash}
    return _picked(place.chunk, _CHUNK) | told


def _relation(relation: Relation) -> JsonObject:
    # Another sentence could tell a name from when a record was hidden.
    fact = relation.fact if relation.provenance.get("from") == BY_HAND else ""
    return {"kind": "relation"} | _picked(relation, _RELATION) | {"fact": fact, "author_id": relation.principal_id}
