"""Memory spaces: scopes of raw memory with members, which admins can disable."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from auth.policy import ADMINS, MemoryScope, require_whole
from auth.principal import Principal
from stores.errors import Forbidden, InvalidRequest, NotFound
from stores.ledger import Permit
from stores.records import JsonObject, Role
from stores.spaces import MemberDraft, MemorySpace, SpaceMember
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Method, Request, Result, Route, Verb, entry, mutation
from tools.frame.threads import in_thread
from tools.people.account import MeRequest
from tools.people.organizations import permit
from tools.people.teams import present_team
from tools.records.entity_models import Name
from tools.records.projects import require_live

INSUFFICIENT = "insufficient_org_role"
KEYLESS = ("organization", "public")

Word = Annotated[str, StringConstraints(min_length=1, max_length=50)]
PrincipalId = Annotated[str, StringConstraints(min_length=1, max_length=500)]
SpaceText = Annotated[str, StringConstraints(max_length=2000)]


class CreateMemorySpaceRequest(Request):
    """A memory space."""

    memory_scope: MemoryScope = Field("private", description="The scope of its memories.")
    scope_key: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = Field(
        None,
        description="The project, the team, or any name for a shared or delegated space, by which raw "
        "memories name it. A private space has the caller's id.",
    )
    name: Name = Field(description="Name.")
    description: SpaceText | None = Field(None, description="Purpose.")
    metadata: JsonObject = Field({}, description="Structured data.")


class MemorySpaceRequest(Request):
    """One memory space of the organization."""

    space_id: UUID = Field(description="The space's id.")


class UpdateMemorySpaceRequest(MemorySpaceRequest):
    """The fields to change; those that are absent stay."""

    name: Name | None = Field(None, description="New name.")
    description: SpaceText | None = Field(None, description="Purpose.")
    state: Literal["active", "disabled"] | None = Field(
        None, description="`disabled` blocks reads and writes of memories in its scope."
    )
    metadata: JsonObject | None = Field(None, description="Merged key by key into the metadata.")


class PutMemorySpaceMemberRequest(MemorySpaceRequest):
    """New or changed member of a memory space."""

    principal_type: Word = Field(description="`user`; `agent`, `delegated` and others are stored, but grant nothing.")
    principal_id: PrincipalId = Field(description="The user's id, or the name of the agent.")
    role: Word = Field(
        "reader",
        description="`reader` reads; `writer`, `maintainer` and `owner` write as well; any other gives what "
        "`permissions` say.",
    )
    permissions: Annotated[list[Word], Field(max_length=50)] = Field(
        [], description="`read` and `write` give that whatever the role."
    )
    expires_at: datetime | None = Field(
        None, description="When it ends; a time that has passed ends it now. Without an offset it is UTC."
    )


class SpaceMemberView(Result):
    """A member of a memory space."""

    id: str
    organization_id: str
    space_id: str
    principal_type: str
    principal_id: str
    role: str
    permissions: list[str]
    expires_at: datetime | None
    created_by_user_id: str
    created_at: datetime
    updated_at: datetime


class MemorySpaceView(Result):
    """A memory space."""

    id: str
    organization_id: str
    memory_scope: str
    scope_key: str | None
    name: str
    description: str | None
    state: str
    disabled_reason: str | None = Field(description="`manually_disabled` or `scope_not_enabled`.")
    metadata: JsonObject
    created_by_user_id: str
    created_at: datetime
    updated_at: datetime
    members: list[SpaceMemberView] = Field(description="The oldest first; none in a list of spaces.")


class MemorySpacesView(Result):
    """The memory spaces of an organization, the oldest first."""

    spaces: list[MemorySpaceView]


def present_space(app: App, caller: Principal, space_id: str) -> MemorySpace:
    """Return a memory space, except a private one of another user. Blocks."""
    require_whole(caller, "Managing memory spaces")
    space = app.ledger.spaces.space(caller.organization_id, space_id)
    if space is None or (space.memory_scope == "private" and space.scope_key != caller.user_id):
        raise NotFound(
            "memory_space_not_found",
            remediation="List the spaces with GET /api/memory/spaces and use one of their ids.",
        )
    return space


def _permit(call: Call) -> Permit:
    def check(actor: Role, _before: Role | None) -> None:
        if actor not in ADMINS:
            raise Forbidden("insufficient_org_role", code="insufficient_org_role")

    return permit(call, check)


def _view(space: MemorySpace, members: Sequence[SpaceMemberView] = ()) -> MemorySpaceView:
    return MemorySpaceView.of(space, scope_key=space.scope_key or None, members=[*members])


def _with_members(app: App, space: MemorySpace) -> MemorySpaceView:
    members = app.ledger.spaces.members(space.organization_id, space.id)
    return _view(space, [SpaceMemberView.of(each) for each in members])


_PATH = "/api/memory/spaces"
_ONE = _PATH + "/{space_id}"


def _entry(method: Method, path: str, *errors: int, writes: bool = False) -> Callable[[Verb], Verb]:
    route = Route(method, path, tag="memory", errors=errors)
    return (mutation if writes else entry)(route, roles=ADMINS, role_refusal=INSUFFICIENT)


@_entry("GET", _PATH)
def list_memory_spaces(app: App, call: Call, _request: MeRequest) -> MemorySpacesView:
    """List the memory spaces of the organization, without their members; of private ones, the caller's own."""
    require_whole(call.caller, "Managing memory spaces")
    found = app.ledger.spaces.spaces(call.caller.organization_id, call.caller.user_id)
    return MemorySpacesView(spaces=[_view(space) for space in found])


@_entry("GET", _ONE, 404)
def get_memory_space(app: App, call: Call, request: MemorySpaceRequest) -> MemorySpaceView:
    """Return a memory space with its members."""
    return _with_members(app, present_space(app, call.caller, str(request.space_id)))


@_entry("POST", _PATH, 400, 404, writes=True)
async def create_memory_space(app: App, call: Call, request: CreateMemorySpaceRequest) -> MemorySpaceView:
    """Make a memory space, or return the one that its scope and key have already.

    The caller becomes an owner of a new `shared` or `delegated` one, and adds others. A `public` one is
    disabled unless a setting enables its scope.
    """

    def write() -> MemorySpaceView:
        caller = call.caller
        require_whole(caller, "Managing memory spaces")
        scope, key, now = request.memory_scope, _key(app, caller, request), app.clock()
        enabled = scope != "public" or app.settings.public_scope
        space = MemorySpace(
            organization_id=caller.organization_id,
            id=str(uuid.uuid4()),
            memory_scope=scope,
            scope_key=key or "",
            name=request.name.strip(),
            description=request.description,
            state="active" if enabled else "disabled",
            disabled_reason=None if enabled else "scope_not_enabled",
            metadata=request.metadata,
            created_by_user_id=caller.user_id,
            created_at=now,
            updated_at=now,
        )
        details: JsonObject = {"memory_scope": scope, "scope_key": key}
        audit = audit_entry(call, "memory.space.create", caller.organization_id, space.id, details)
        return _with_members(app, app.ledger.spaces.create(space, audit=audit, permit=_permit(call)))

    made = await in_thread(write)
    await app.events.renew(call.caller.organization_id)
    return made


def _key(app: App, caller: Principal, request: CreateMemorySpaceRequest) -> str | None:
    scope, key = request.memory_scope, request.scope_key
    if scope == "private":
        if key not in (None, caller.user_id):
            raise _wrong_key("private_scope_key_mismatch", "Leave scope_key out: a private space is the caller's own.")
        return caller.user_id
    if scope in KEYLESS:
        if key not in (None, caller.organization_id):
            raise _wrong_key(f"The scope `{scope}` has no key.", "Leave scope_key out.")
        return None
    if key is None:
        missing = "missing_scope_key"
        raise _wrong_key(missing, f"Name in scope_key which {scope} scope it is.", code=missing)
    if scope == "project":
        require_live(key, app.ledger.records.entity(caller.organization_id, key))
    elif scope == "team":
        present_team(app, caller, key)
    return key


def _wrong_key(message: str, remediation: str, code: str | None = None) -> InvalidRequest:
    return InvalidRequest(message, code=code, remediation=remediation, details={"field": "body.scope_key"})


@_entry("PATCH", _ONE, 400, 404, writes=True)
async def update_memory_space(app: App, call: Call, request: UpdateMemorySpaceRequest) -> MemorySpaceView:
    """Change a memory space, or switch it off and on; a disabled one is closed to everybody with the next request."""

    def write() -> MemorySpaceView:
        caller, space_id = call.caller, str(request.space_id)
        present_space(app, caller, space_id)
        fields = ("name", "description", "state", "metadata")
        given = {name: value for name in fields if (value := getattr(request, name)) is not None}
        if not given:
            raise InvalidRequest("Nothing to change.", remediation=f"Send at least one of {', '.join(fields)}.")
        if "name" in given:
            given["name"] = given["name"].strip()
        details: JsonObject = {"changed": [*given], "state": request.state}
        audit = audit_entry(call, "memory.space.update", caller.organization_id, space_id, details)
        edit = app.ledger.spaces.edit
        return _with_members(app, edit(caller.organization_id, space_id, given, audit=audit, permit=_permit(call)))

    changed = await in_thread(write)
    await app.events.renew(call.caller.organization_id)
    return changed


@_entry("POST", _ONE + "/members", 400, 404, 409, writes=True)
async def put_memory_space_member(app: App, call: Call, request: PutMemorySpaceMemberRequest) -> SpaceMemberView:
    """Make somebody a member of a memory space, or change what a member may do there.

    Members of `shared` and `delegated` spaces read its memories; in the other scopes who reads is decided elsewhere.
    """

    def write() -> SpaceMember:
        space = present_space(app, call.caller, str(request.space_id))
        draft = MemberDraft(
            request.principal_type,
            request.principal_id,
            request.role,
            tuple(dict.fromkeys(request.permissions)),
            _instant(request.expires_at),
        )
        until = None if draft.expires_at is None else draft.expires_at.isoformat()
        details = asdict(draft) | {"permissions": list(draft.permissions), "expires_at": until}
        audit = audit_entry(call, "memory.space.member", space.organization_id, space.id, details)
        which = (space.organization_id, space.id)
        return app.ledger.spaces.put_member(*which, draft, call.caller.user_id, audit=audit, permit=_permit(call))

    member = await in_thread(write)
    await app.events.renew(call.caller.organization_id)
    return SpaceMemberView.of(member)


def _instant(said: datetime | None) -> datetime | None:
    if said is None:
        return None
    try:
        return said.replace(tzinfo=UTC) if said.tzinfo is None else said.astimezone(UTC)
    except OverflowError as error:
        raise InvalidRequest(
            "expires_at is outside of the years 1 to 9999.", details={"field": "body.expires_at"}
        ) from error
