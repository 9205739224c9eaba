"""Imports over REST: a client reads the source with an adapter and sends its records in batches."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

from auth.memory_policy import MemoryScopeRequest, writable_memory
from auth.visibility import private_key
from stores.errors import Conflict, Forbidden, InvalidRequest, NotFound, ValidationFailed
from stores.ledger import Transaction
from stores.records import JsonObject
from stores.source_imports import ENDED, SourceImport
from tools.app import App
from tools.frame.audit_entries import memory_entry, secrets_entries
from tools.frame.operation import WRITERS, Call, Operation, Request, Route, entry, writing
from tools.frame.screening import screened
from tools.frame.threads import in_thread
from tools.imports.adapters import ADAPTERS
from tools.imports.keeping import RecordRefused, Screened, keep_records, place_of, relation_key
from tools.imports.models import (
    AdaptersView,
    AdapterView,
    ImportRequest,
    ImportsView,
    KeepRecordsRequest,
    ListImportsRequest,
    RecordToImport,
    RelationToImport,
    SourceImportView,
    StartImportRequest,
    import_view,
)
from tools.runtime.events import Event

EVENT = "source_import_updated"
Part = TypeVar("Part", RecordToImport, RelationToImport)


@entry(Route("GET", "/api/ingestion/import-adapters", tag="imports"))
def list_import_adapters(_app: App, _call: Call, _request: Request) -> AdaptersView:
    """List the formats that can be imported."""
    return AdaptersView(adapters=[AdapterView(name=name, summary=each.summary) for name, each in ADAPTERS.items()])


_PATH = "/api/ingestion/imports"
_ONE = _PATH + "/{import_id}"


@writing(Route("POST", _PATH, status=201, tag="imports", errors=(400,)), EVENT)
async def start_import(app: App, call: Call, request: StartImportRequest) -> SourceImportView:
    """Begin an import, or go on with the one of the same source into the same scope.

    One that was interrupted goes on after its `checkpoint`; an ended one begins anew and adds only what is new.
    """
    caller = call.caller
    if request.adapter_name not in ADAPTERS:
        raise InvalidRequest(
            f"There is no import format {request.adapter_name}.",
            remediation=f"Formats are {', '.join(ADAPTERS)}.",
            details={"field": "body.adapter_name"},
        )
    place = writable_memory(caller, MemoryScopeRequest(request.target_memory_scope, request.target_scope_key))
    named = "\0".join((caller.user_id, request.adapter_name, request.source_uri, place.key))
    import_id = f"import_{hashlib.sha256(named.encode(errors='surrogatepass')).hexdigest()[:24]}"

    def begin(tx: Transaction) -> SourceImport:
        fresh = SourceImport(
            id=import_id,
            user_id=caller.user_id,
            adapter=request.adapter_name,
            source=request.source_uri,
            memory_scope=place.memory_scope,
            scope_key=place.scope_key if place.memory_scope != "private" else None,
            options=request.options,
            status="running",
            created_at=tx.now,
            updated_at=tx.now,
        )
        found = tx.source_imports.find(import_id)
        if found is None or found.status in ENDED:
            return fresh
        return replace(found, status="running", updated_at=tx.now)

    return await _written(app, call, begin)


@writing(
    Route("POST", _ONE + "/records", tag="imports", errors=(404, 409), body_limit=64 * 1024 * 1024),
    EVENT,
    "raw_capture_changed",
    "entity_created",
    unscreened=frozenset({"relations"}),
)
async def keep_import_records(app: App, call: Call, request: KeepRecordsRequest) -> SourceImportView:
    """Store the next records of a running import with its checkpoint, in one transaction.

    Records with a known key are left as they are, or revised where the source changed. A record that is refused is
    listed in `errors`, and the others are stored.
    """
    home = await in_thread(app.accounts.home_of, call.caller.user_id)
    given = await in_thread(_screened, app, request)

    def keep(tx: Transaction) -> SourceImport:
        target = _own(call, request, tx.source_imports.find(request.import_id))
        if target.status != "running":
            way = "Begin it anew" if target.status == "completed" else f"Go on with POST {_PATH}/{target.id}/resume"
            raise Conflict(f"This import is {target.status}.", remediation=f"{way}.")
        kept, exposed = keep_records(tx, call, target, given)
        place = place_of(call, target)
        told: JsonObject = {
            "import_id": target.id,
            "memory_scope": target.memory_scope,
            "records": len(request.records),
        }
        tx.audit(memory_entry(home, call, "memory.import", place, told, {"scope_key": place.scope_key}))
        if exposed:
            named: JsonObject = {"operation": "keep_import_records", "import_id": target.id}
            for entry in secrets_entries(home, call, named, tx.records.entities(exposed).values()):
                tx.audit(entry)
        kept = replace(kept, checkpoint=request.checkpoint or kept.checkpoint, updated_at=tx.now)
        return replace(kept, status="completed", completed_at=tx.now) if request.completed else kept

    while True:
        try:
            return await _written(app, call, keep, deferred=True)
        except RecordRefused as refused:
            given.wrong[refused.key or ""] = str(refused)


def _screened(app: App, request: KeepRecordsRequest) -> Screened:
    wrong, leaking, reading = dict[str, str](), list[str](), Operation(list_imports)

    def looked_at(key: str, each: Part) -> Part:
        try:
            kept, warnings = screened(reading, each, app.settings.secrets)
        except ValidationFailed as refused:
            wrong[key] = refused.message
            return each
        leaking.extend([key] if warnings else [])
        return cast("Part", kept)

    records = [looked_at(each.key, each) for each in request.records]
    relations = [looked_at(relation_key(number), each) for number, each in enumerate(request.relations)]
    return Screened(request.model_copy(update={"records": records, "relations": relations}), wrong, leaking)


@writing(Route("POST", _ONE + "/resume", tag="imports", errors=(404, 409)), EVENT)
async def resume_import(app: App, call: Call, request: ImportRequest) -> SourceImportView:
    """Go on with an import that failed, was paused or was cancelled, after its `checkpoint`."""

    def resume(tx: Transaction) -> SourceImport:
        found = _own(call, request, tx.source_imports.find(request.import_id))
        if found.status == "completed":
            raise Conflict("This import is complete.", remediation="Begin it anew to add new records of the source.")
        return replace(found, status="running", updated_at=tx.now, completed_at=None)

    return await _written(app, call, resume)


@writing(Route("POST", _ONE + "/cancel", tag="imports", errors=(404,)), EVENT)
async def cancel_import(app: App, call: Call, request: ImportRequest) -> SourceImportView:
    """End an import; stored records stay."""

    def cancel(tx: Transaction) -> SourceImport:
        found = _own(call, request, tx.source_imports.find(request.import_id))
        if found.status in ENDED:
            return found
        return replace(found, status="canceled", updated_at=tx.now, completed_at=tx.now)

    return await _written(app, call, cancel)


@entry(Route("GET", "/api/memory/source-imports/{import_id}", tag="imports", errors=(403, 404)))
def source_import(app: App, call: Call, request: ImportRequest) -> SourceImportView:
    """Return an import of the caller: counts, checkpoint, and unreadable parts."""
    found = app.ledger.source_imports.find(call.caller.organization_id, request.import_id)
    return import_view(_own(call, request, found))


@entry(Route("GET", _PATH, tag="imports"), roles=WRITERS)
def list_imports(app: App, call: Call, request: ListImportsRequest) -> ImportsView:
    """List the caller's imports, those with the latest news first."""
    caller, limit = call.caller, request.limit
    found = app.ledger.source_imports.of_user(caller.organization_id, caller.user_id, limit + 1, request.offset)
    return ImportsView(imports=[import_view(each) for each in found[:limit]], has_more=len(found) > limit)


async def _written(
    app: App, call: Call, change: Callable[[Transaction], SourceImport], *, deferred: bool = False
) -> SourceImportView:
    caller = call.caller

    def write() -> SourceImport:
        with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim, deferred=deferred) as tx:
            found = change(tx)
            tx.source_imports.keep(found)
        return found

    found = await in_thread(write)
    data: JsonObject = {"import_id": found.id, "status": found.status, "progress": found.progress}
    event = Event(EVENT, data, app.clock())
    await app.events.announce(caller.organization_id, [(event, private_key(caller.user_id))])
    return import_view(found)


def _own(call: Call, request: ImportRequest, found: SourceImport | None) -> SourceImport:
    if found is None:
        raise NotFound(
            f"There is no import {request.import_id}.",
            code="source_import_not_found",
            remediation="List yours with GET /api/ingestion/imports.",
        )
    if found.user_id != call.caller.user_id:
        raise Forbidden(
            "Only who started an import may see it.",
            code="source_import_forbidden",
            remediation="Ask them, or import the source yourself.",
        )
    return found
