"""For admins: the audit log, counts of records, and the health of the indexes."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from auth.policy import ADMINS, require_whole
from auth.rights import require_session
from stores.errors import EngrainError, Forbidden
from stores.indexer import State
from stores.ledger import AuditEntry, AuditQuery
from stores.parquet import parquet
from stores.records import JsonObject, User
from tools.app import App
from tools.frame.dates import FORMS, WITH_FORMS, optional_moment
from tools.frame.operation import Call, Download, Request, Result, Route, entry
from tools.people.account import Identifier, MeRequest
from tools.runtime.health import stats
from tools.runtime.version import VERSION

Moment = Annotated[str, StringConstraints(min_length=1, max_length=64), WITH_FORMS]
LAST_OFFSET = 100_000


class AuditRequest(Request, extra="forbid"):
    """Select audit entries; an unknown filter must not widen the result."""

    action: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = Field(
        None, description="Only this action; with a final dot, all that begin with it: `member.`."
    )
    user_id: Identifier | None = Field(None, description="Only what this user did.")
    resource: Identifier | None = Field(None, description="Only actions on the record with this id.")
    start_time: Moment | None = Field(None, description=f"Nothing earlier: {FORMS}.")
    end_time: Moment | None = Field(
        None, description="Only earlier entries, in the same forms. Send that of the first page along with the next."
    )
    limit: int = Field(50, ge=1, le=200, description="Most entries.")
    offset: int = Field(0, ge=0, le=LAST_OFFSET, description="Entries to leave out, from the newest.")
    log: Literal["organization", "server"] = Field(
        "organization",
        description="`server` for what concerns no organization, or one that is gone: for admins of the server.",
    )


class AuditedUser(Result):
    """The acting user; address and name are null if the account is gone."""

    id: str
    email: str | None
    name: str | None


class AuditRequestView(Result):
    """The request by which something was done, as far as it is known."""

    request_id: str | None
    address: str | None
    user_agent: str | None
    api_key_id: str | None = Field(description="API key of the request, if any.")
    grant_id: str | None = Field(description="Grant of the calling MCP client, if any.")


class AuditEntryView(Result):
    """One deed."""

    id: str
    created_at: datetime
    action: str
    organization_id: str | None
    user: AuditedUser | None = Field(description="Null for an anonymous caller.")
    target: str | None = Field(description="Id of the target.")
    details: JsonObject
    request: AuditRequestView


class AuditView(Result):
    """Entries, newest first."""

    entries: list[AuditEntryView]
    limit: int
    offset: int
    has_more: bool
    end_time: datetime = Field(description="Send it with the next page, so that what happens meanwhile shifts nothing.")


@entry(Route("GET", "/api/admin/audit", tag="organizations"), roles=ADMINS)
def read_audit(app: App, call: Call, request: AuditRequest) -> AuditView:
    """List who did what in the organization, newest first; admins may.

    What a user does to its own account stands in the log of its personal organization. No entry holds text of a
    record, a password or a token.
    """
    query = audit_query(app, call, request)
    found = app.ledger.audit.entries(query)
    users = {each: app.ledger.people.user(each) for each in {entry.draft.actor_id for entry in found} if each}
    return AuditView(
        entries=[_view(entry, users) for entry in found[: request.limit]],
        limit=request.limit,
        offset=request.offset,
        has_more=len(found) > request.limit,
        end_time=query.until,
    )


def audit_query(app: App, call: Call, request: AuditRequest) -> AuditQuery:
    """Return the ledger's query for one entry more than the page has; refuse who may not read the log."""
    require_whole(call.caller, "The audit log")
    if request.log == "server":
        require_session(call.caller)
        if not call.caller.user.is_admin:
            raise Forbidden(
                "The log of the server is for its admins.", remediation="Leave `log` out to read your organization's."
            )
    now = app.clock()
    return AuditQuery(
        organization_id=call.caller.organization_id if request.log == "organization" else None,
        actor_id=request.user_id,
        action=request.action,
        subjects=[] if request.resource is None else [("resource", request.resource)],
        since=optional_moment(request.start_time, now=now, field="start_time"),
        until=optional_moment(request.end_time, now=now, field="end_time") or now,
        limit=request.limit + 1,
        offset=request.offset,
    )


def _view(entry: AuditEntry, users: Mapping[str, User | None]) -> AuditEntryView:
    draft = entry.draft
    known = users.get(draft.actor_id) if draft.actor_id is not None else None
    request = {name: draft.request.get(name) or None for name in AuditRequestView.model_fields}
    return AuditEntryView.of(
        draft,
        id=entry.id,
        created_at=entry.created_at,
        user=None
        if draft.actor_id is None
        else AuditedUser(id=draft.actor_id, email=known and known.email, name=known and known.name),
        target=draft.resource,
        request=AuditRequestView.model_validate(request),
    )


MOST = 100_000
COLUMNS = (
    "id", "created_at", "organization_id", "user_id", "action", "resource", "details", "request", "position", "hash",
)  # fmt: skip
MEDIA_TYPES: Mapping[str, str] = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


class ExportAuditRequest(AuditRequest, extra="forbid"):
    """Select audit entries, and the form of the file."""

    limit: int = Field(10_000, ge=1, le=MOST, description="Most entries.")
    format: Literal["csv", "parquet"] = Field("csv", description="Form of the file.")


@entry(Route("GET", "/api/admin/audit/export", tag="organizations"), roles=ADMINS)
def export_audit(app: App, call: Call, request: ExportAuditRequest) -> Download:
    """Export the audit log, newest first, with the hash by which each entry is chained to the one before."""
    entries = app.ledger.audit.entries(audit_query(app, call, request))
    rows = [_row(each) for each in entries[: request.limit]]
    content = _csv(rows) if request.format == "csv" else parquet(COLUMNS, rows)
    return Download(
        content=content, media_type=MEDIA_TYPES[request.format], file_name=f"audit-{request.log}.{request.format}"
    )


def _row(entry: AuditEntry) -> dict[str, Any]:
    told = {"user_id": entry.draft.actor_id, **asdict(entry.draft), **asdict(entry)}
    shown = {name: told[name] for name in COLUMNS}
    return shown | {name: json.dumps(told[name], ensure_ascii=False) for name in ("details", "request")}


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    writer.writerows({**row, "created_at": row["created_at"].isoformat()} for row in rows)
    return file.getvalue().encode()


class Stats(Result):
    """Counts of readable records."""

    entity_counts: dict[str, int] = Field(description="Current records by type.")
    total_entities: int
    relationship_counts: dict[str, int] = Field(
        description="Relations that hold now, by name; both ends are readable for the caller."
    )
    total_relationships: int


class IndexState(Result):
    """Progress of one index of the organization."""

    name: str = Field(description="`lexical`, `graph` or `vectors`; one that is not configured is not named.")
    state: State = Field(description="`ready` holds everything, `catching_up` and `rebuilding` will, `failed` not.")


class OrganizationHealth(Result):
    """Health of the organization's indexes."""

    status: str = Field(description="`healthy`, or `degraded` while an index is missing or incomplete.")
    server_name: str
    version: str
    started_at: datetime
    uptime_seconds: float
    graph_connected: bool = Field(description="True if the graph answers.")
    entity_counts: dict[str, int] = Field(description="Current records by type that the caller may read.")
    errors: list[str] = Field(description="One sentence for each index that is missing or incomplete.")
    indexes: list[IndexState] = Field(description="Progress of each index of the organization.")


@entry(Route("GET", "/api/admin/stats", tag="organizations"))
def admin_stats(app: App, call: Call, _request: MeRequest) -> Stats:
    """Count the records and the relations of the organization that the caller may read, by type and by name."""
    return Stats.model_validate(stats(app, call.caller.organization_id, call.caller.visible))


@entry(Route("GET", "/api/admin/health", tag="organizations"))
def admin_health(app: App, call: Call, _request: MeRequest) -> OrganizationHealth:
    """Say whether the organization is served with all its indexes, and since when the server runs."""
    organization = call.caller.organization_id
    try:
        with app.indexer.indexes(organization) as indexes:
            connected, missing = indexes.graph is not None, [*map(str, sorted(indexes.degraded))]
            # No numbers: they would count records that the caller may not read.
            states = [IndexState(name=each.index, state=each.state) for each in app.indexer.status_of(organization)]
    except (EngrainError, TimeoutError):
        connected, missing, states = False, ["indexes"], []
    return OrganizationHealth(
        status="degraded" if missing else "healthy",
        server_name="engrain",
        version=VERSION,
        started_at=app.started_at,
        uptime_seconds=round((app.clock() - app.started_at).total_seconds(), 3),
        graph_connected=connected,
        entity_counts=app.ledger.records.entity_counts(organization, call.caller.visible),
        # Without the cause, which names files of the server.
        errors=[f"{name}: missing or incomplete at this moment." for name in missing],
        indexes=states,
    )
