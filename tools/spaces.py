"""Memory spaces: scopes of raw memory that have members of their own, or that an admin switches off."""

import uuid
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from auth.policy import ADMINS, MemoryScope, require_whole
from auth.principal import Principal
from auth.rights import require_session
from stores.errors import AuthenticationRequired, Forbidden, InvalidRequest, NotFound
from stores.ledger import Permit
from stores.records import JsonObject, Role
from stores.spaces import MemorySpace, SpaceChange, SpaceMember
from tools.account import MeRequest
from tools.app import App
from tools.deeds import deed
from tools.entity_models import Name
from tools.operation import Call, Operation, Request, Result, Route
from tools.projects import require_live_project
from tools.teams import present_team
from tools.threads import in_thread

INSUFFICIENT = "insufficient_org_role"
KEYLESS = ("organization", "public")
"""Scopes of which an organization has one each."""

SpaceText = Annotated[str, StringConstraints(max_length=2000)]


class CreateMemorySpaceRequest(Request):
    """A memory space."""

    memory_scope: MemoryScope = Field("private", description="The scope of its memories.")
    scope_key: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = Field(
        None,
        description="Which one: the project, the team, or any name for a shared or delegated space, by which raw "
        "memories name it. A private space has the caller's id.",
    )
    name: Name = Field(description="What it is called.")
    description: SpaceText | None = Field(None, description="What it is for.")
    metadata: JsonObject = Field({}, description="Structured data.")


class MemorySpaceRequest(Request):
    """One memory space of the organization."""

    space_id: UUID = Field(description="The space's id.")


class UpdateMemorySpaceRequest(MemorySpaceRequest):
    """The fields to change; those that are absent stay."""

    name: Name | None = Field(None, description="What it is called from now on.")
    description: SpaceText | None = Field(None, description="What it is for.")
    state: Literal["active", "disabled"] | None = Field(
        None, description="While it is `disabled`, nobody reads or writes memories in its scope."
    )
    metadata: JsonObject | None = Field(None, description="Merged key by key into the metadata.")


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
    """Return a memory space that the caller administers. Blocks.

    Raises:
        Forbidden: The caller's API key is narrowed.
        NotFound: There is no such space, or it is the private one of somebody else.
    """
    require_whole(caller, "Managing memory spaces")
    space = app.ledger.spaces.space(caller.organization_id, space_id)
    if space is None or (space.memory_scope == "private" and space.scope_key != caller.user_id):
        raise NotFound(
            "memory_space_not_found",
            code="memory_space_not_found",
            remediation="List the spaces with GET /api/memory/spaces and use one of their ids.",
        )
    return space


def permit_to_manage(call: Call) -> Permit:
    """Ask again where no role changes any more: who was an admin a moment ago may not be one now."""

    def check(actor: Role | None, _before: Role | None) -> None:
        if actor is None:
            raise AuthenticationRequired("The session has ended.")
        if actor not in ADMINS:
            raise Forbidden("insufficient_org_role", code="insufficient_org_role")

    return Permit(call.caller.user_id, check)


def member_view(member: SpaceMember) -> SpaceMemberView:
    """Show a member of a space."""
    fields = {name: getattr(member, name) for name in SpaceMemberView.model_fields if name != "permissions"}
    return SpaceMemberView(permissions=list(member.permissions), **fields)


def _view(space: MemorySpace, members: list[SpaceMember]) -> MemorySpaceView:
    fields = {name: getattr(space, name) for name in MemorySpaceView.model_fields if name != "members"}
    return MemorySpaceView(members=[member_view(each) for each in members], **fields)


def _with_members(app: App, space: MemorySpace) -> MemorySpaceView:
    return _view(space, app.ledger.spaces.members(space.organization_id, space.id))


async def list_memory_spaces(app: App, call: Call, _request: MeRequest) -> MemorySpacesView:
    """List the memory spaces of the organization, without their members; of private ones, the caller's own."""
    require_whole(call.caller, "Managing memory spaces")
    found = await in_thread(app.ledger.spaces.spaces, call.caller.organization_id, call.caller.user_id)
    return MemorySpacesView(spaces=[_view(space, []) for space in found])


async def get_memory_space(app: App, call: Call, request: MemorySpaceRequest) -> MemorySpaceView:
    """Return a memory space with its members."""

    def read() -> MemorySpaceView:
        return _with_members(app, present_space(app, call.caller, str(request.space_id)))

    return await in_thread(read)


async def create_memory_space(app: App, call: Call, request: CreateMemorySpaceRequest) -> MemorySpaceView:
    """Make a memory space, or return the one that its scope and key have already.

    Whoever makes a `shared` or `delegated` one is an owner of it, and adds others. A `public` one stays disabled.
    """

    def write() -> MemorySpaceView:
        caller = call.caller
        require_session(caller)
        scope, key, now = request.memory_scope, _key(app, caller, request), app.clock()
        enabled = scope != "public"
        space = MemorySpace(
            organization_id=caller.organization_id,
            id=str(uuid.uuid4()),
            memory_scope=scope,
            scope_key=key,
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
        audit = deed(call, "memory.space.create", caller.organization_id, space.id, details)
        return _with_members(app, app.ledger.spaces.create(space, audit, permit=permit_to_manage(call)))

    made = await in_thread(write)
    await app.events.renew(call.caller.organization_id)
    return made


def _key(app: App, caller: Principal, request: CreateMemorySpaceRequest) -> str | None:
    """Return the key of a new space.

    Raises:
        InvalidRequest: `missing_scope_key`, `private_scope_key_mismatch`, or a key where the scope has none.
        NotFound: There is no such project or team.
    """
    scope, key = request.memory_scope, request.scope_key
    if scope == "private":
        if key not in (None, caller.user_id):
            raise _refused("private_scope_key_mismatch", "Leave scope_key out: a private space is the caller's own.")
        return caller.user_id
    if scope in KEYLESS:
        if key not in (None, caller.organization_id):
            raise InvalidRequest(
                f"The scope `{scope}` has no key.",
                remediation="Leave scope_key out.",
                details={"field": "body.scope_key"},
            )
        return None
    if key is None:
        raise _refused("missing_scope_key", f"Name in scope_key which {scope} scope it is.")
    if scope == "project":
        require_live_project(app, caller.organization_id, key)
    elif scope == "team":
        present_team(app, caller, key)
    return key


def _refused(word: str, remediation: str) -> InvalidRequest:
    return InvalidRequest(word, code=word, remediation=remediation, details={"field": "body.scope_key"})


async def update_memory_space(app: App, call: Call, request: UpdateMemorySpaceRequest) -> MemorySpaceView:
    """Change a memory space, or switch it off and on; a disabled one is closed to everybody with the next request."""

    def write() -> MemorySpaceView:
        caller, space_id = call.caller, str(request.space_id)
        require_session(caller)
        present_space(app, caller, space_id)
        given = [name for name in ("name", "description", "state", "metadata") if getattr(request, name) is not None]
        if not given:
            raise InvalidRequest(
                "Nothing to change.", remediation="Send at least one of name, description, state, metadata."
            )
        name = None if request.name is None else request.name.strip()
        change = SpaceChange(name, request.description, request.state, request.metadata or {})
        details: JsonObject = {"changed": [*given], "state": request.state}
        audit = deed(call, "memory.space.update", caller.organization_id, space_id, details)
        permit = permit_to_manage(call)
        space = app.ledger.spaces.edit(caller.organization_id, space_id, change, audit, permit=permit)
        return _with_members(app, space)

    changed = await in_thread(write)
    await app.events.renew(call.caller.organization_id)
    return changed


_PATH = "/api/memory/spaces"
_ONE = _PATH + "/{space_id}"

OPERATIONS = (
    Operation(list_memory_spaces, roles=ADMINS, role_refusal=INSUFFICIENT, route=Route("GET", _PATH, tag="memory")),
    Operation(
        create_memory_space,
        roles=ADMINS,
        role_refusal=INSUFFICIENT,
        scope="write",
        mutates=True,
        route=Route("POST", _PATH, tag="memory", errors=frozenset({400, 404})),
    ),
    Operation(
        get_memory_space,
        roles=ADMINS,
        role_refusal=INSUFFICIENT,
        route=Route("GET", _ONE, tag="memory", errors=frozenset({404})),
    ),
    Operation(
        update_memory_space,
        roles=ADMINS,
        role_refusal=INSUFFICIENT,
        scope="write",
        mutates=True,
        route=Route("PATCH", _ONE, tag="memory", errors=frozenset({400, 404})),
    ),
)
