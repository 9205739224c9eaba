"""The audit log: who did what in an organization, when and from where."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.policy import ADMINS, require_whole
from auth.rights import require_session
from stores.errors import Forbidden
from stores.ledger import AuditEntry, AuditQuery
from stores.records import JsonObject, User
from tools.app import App
from tools.frame.dates import FORMS, WITH_FORMS, optional_moment
from tools.frame.operation import Call, Operation, Request, Result, Route
from tools.runtime.threads import in_thread

Moment = Annotated[str, StringConstraints(min_length=1, max_length=64), WITH_FORMS]
LAST_OFFSET = 100_000


class AuditRequest(Request):
    """Select audit entries."""

    action: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = Field(
        None, description="Only this action; one that ends in a dot stands for all that begin with it: `member.`."
    )
    user_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        None, description="Only what this user did."
    )
    since: Moment | None = Field(None, description=f"Nothing earlier: {FORMS}.")
    until: Moment | None = Field(
        None, description="Only what was earlier, in the same forms. Send that of the first page along with the next."
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
    api_key_id: str | None = Field(description="The API key that was presented, if one was.")
    grant_id: str | None = Field(description="What was granted to the MCP client that asked, if one did.")


class AuditEntryView(Result):
    """One deed."""

    id: str
    created_at: datetime
    action: str
    organization_id: str | None
    user: AuditedUser | None = Field(description="Null where nobody had signed in.")
    target: str | None = Field(description="The id of what it was done to.")
    details: JsonObject
    request: AuditRequestView


class AuditView(Result):
    """Entries, newest first."""

    entries: list[AuditEntryView]
    limit: int
    offset: int
    has_more: bool
    until: datetime = Field(description="Send it with the next page, so that what happens meanwhile shifts nothing.")


async def read_audit(app: App, call: Call, request: AuditRequest) -> AuditView:
    """List who did what in the organization, newest first; admins may.

    What a user does to its own account stands in the log of its personal organization. No entry holds text of a
    record, a password or a token.
    """
    _require_reader(call, request)
    now = app.clock()
    until = optional_moment(request.until, now=now, field="until") or now
    query = AuditQuery(
        organization_id=call.caller.organization_id if request.log == "organization" else None,
        actor_id=request.user_id,
        action=request.action,
        since=optional_moment(request.since, now=now, field="since"),
        until=until,
        limit=request.limit + 1,
        offset=request.offset,
    )

    def read() -> tuple[list[AuditEntry], dict[str, User | None]]:
        found = app.ledger.audit.entries(query)
        return found, {each: app.ledger.people.user(each) for each in {entry.draft.actor_id for entry in found} if each}

    found, users = await in_thread(read)
    return AuditView(
        entries=[_view(entry, users) for entry in found[: request.limit]],
        limit=request.limit,
        offset=request.offset,
        has_more=len(found) > request.limit,
        until=until,
    )


def _require_reader(call: Call, request: AuditRequest) -> None:
    require_whole(call.caller, "The audit log")
    if request.log == "server":
        require_session(call.caller)
        if not call.caller.user.is_admin:
            raise Forbidden(
                "The log of the server is for its admins.", remediation="Leave `log` out to read your organization's."
            )


def _view(entry: AuditEntry, users: Mapping[str, User | None]) -> AuditEntryView:
    draft = entry.draft
    return AuditEntryView(
        id=entry.id,
        created_at=entry.created_at,
        action=draft.action,
        organization_id=draft.organization_id,
        user=None if draft.actor_id is None else _user_view(draft.actor_id, users.get(draft.actor_id)),
        target=draft.resource,
        details=draft.details,
        request=AuditRequestView(**{name: _text(draft.request, name) for name in AuditRequestView.model_fields}),
    )


def _user_view(user_id: str, user: User | None) -> AuditedUser:
    return AuditedUser(id=user_id, email=user.email if user else None, name=user.name if user else None)


def _text(parts: JsonObject, name: str) -> str | None:
    value = parts.get(name)
    return value if isinstance(value, str) and value else None


OPERATIONS = (Operation(read_audit, roles=ADMINS, route=Route("GET", "/api/admin/audit", tag="organizations")),)
