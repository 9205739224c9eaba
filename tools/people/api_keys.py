"""Credentials of programs: API keys, grants of MCP clients, and the key of the owner of a data folder.

The commands of that owner need no login: read access to a file in the folder proves them.
"""

import getpass
import secrets
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from auth.api_keys import KeyRequest
from auth.policy import ADMINS
from auth.principal import SESSION_SCOPES, Principal, Scope, reaches
from auth.rights import require_admin, require_session
from stores.errors import AuthenticationRequired, EngrainError, Forbidden, InvalidRequest, NotFound
from stores.folder import LOCAL_KEY, replace_file
from stores.ledger import AuditDraft, Grant
from stores.records import JsonObject
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, DoneView, Request, Result, Route, entry, mutation
from tools.people.account import Identifier, MeRequest
from tools.records.entity_models import EntityId

MOST = 100


class CreateApiKeyRequest(Request):
    """A new API key."""

    @staticmethod
    def project_refusal(project: str) -> EngrainError:
        return InvalidRequest(
            "invalid_api_key_project_scope",
            code="invalid_api_key_project_scope",
            remediation="Name projects that you can read.",
            details={"project": project},
        )

    name: Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"\S")] = Field(
        description="Label that says its purpose."
    )
    live: bool = Field(True, description="Prefix `sk_live_` or `sk_test_`; both do the same.")
    scopes: Annotated[list[Scope], Field(min_length=1)] = Field(
        ["mcp"], description="Interfaces that it opens: `mcp` for agents, `api:read` and `api:write` for REST."
    )
    project_ids: Annotated[list[EntityId], Field(max_length=MOST)] = Field(
        default_factory=list, description="The projects whose records alone it sees; empty for all that its maker sees."
    )
    memory_space_ids: Annotated[list[UUID], Field(max_length=MOST)] = Field(
        default_factory=list,
        description="The memory spaces in which everything lies that it sees; empty for all that its maker sees.",
    )
    expires_days: Annotated[int, Field(ge=1, le=365)] | None = Field(
        None, description="Days until it ends by itself; without them, when it is revoked."
    )


class ApiKeyRequest(Request):
    """One API key."""

    key_id: Identifier = Field(description="The key's id.")


class KeyView(Result):
    """An API key without its secret."""

    id: str
    name: str
    prefix: str
    scopes: list[str]
    project_ids: list[str]
    memory_space_ids: list[str]
    expires_at: datetime | None


class CreatedKeyView(KeyView):
    """A new API key: the only answer that shows it whole."""

    api_key: str


class KeptKeyView(KeyView):
    """API key with its state."""

    created_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


class KeysView(Result):
    """The caller's API keys in this organization, the newest first."""

    keys: list[KeptKeyView]


class RevokedKeyView(Result):
    """The key has ended."""

    success: Literal[True] = True
    id: str


@mutation(Route("POST", "/api/auth/api-keys", tag="account", errors=(400,)), roles=ADMINS, secret=True)
def create_api_key(app: App, call: Call, request: CreateApiKeyRequest) -> CreatedKeyView:
    """Make an API key that acts as the caller in this organization. It is shown once and cannot be read again."""
    require_session(call.caller)
    _require_narrowings(app, call.caller, request)
    wanted = KeyRequest(
        name=request.name,
        live=request.live,
        scopes=request.scopes,
        project_ids=request.project_ids,
        memory_space_ids=[str(each) for each in request.memory_space_ids],
        lifetime=timedelta(days=request.expires_days) if request.expires_days is not None else None,
    )
    audit = audit_entry(call, "api_key.create", call.caller.organization_id)
    key, text = app.accounts.keys.create(call.caller, wanted, audit)
    return CreatedKeyView.of(key, api_key=text)


def _require_narrowings(app: App, caller: Principal, request: CreateApiKeyRequest) -> None:
    wanted = {str(each) for each in request.memory_space_ids}
    there = app.ledger.spaces.some(caller.organization_id, wanted)
    if wanted - {space.id for space in there if reaches(caller, space)}:
        raise InvalidRequest(
            "invalid_api_key_memory_space_scope",
            code="invalid_api_key_memory_space_scope",
            remediation="Name active memory spaces in which you can read.",
        )


@entry(Route("GET", "/api/auth/api-keys", tag="account"))
def list_api_keys(app: App, call: Call, _request: MeRequest) -> KeysView:
    """List the caller's API keys in this organization, valid or not, the newest first."""
    require_session(call.caller)
    found = app.ledger.api_keys.of_organization(call.caller.organization_id, user_id=call.caller.user_id)
    return KeysView(keys=[KeptKeyView.of(key) for key in found])


@mutation(Route("POST", "/api/auth/api-keys/{key_id}/revoke", tag="account", errors=(404,)))
def revoke_api_key(app: App, call: Call, request: ApiKeyRequest) -> RevokedKeyView:
    """End an API key at once: one's own, or as an admin anybody's in this organization."""
    caller = call.caller
    require_session(caller)
    key = app.ledger.api_keys.key(caller.organization_id, request.key_id)
    if key is None:
        raise NotFound("There is no such API key.", remediation="List yours with GET /api/auth/api-keys.")
    if key.user_id != caller.user_id:
        require_admin(caller.role, "Revoking the API key of another user")
    details: JsonObject = {"name": key.name, "prefix": key.prefix}
    audit = audit_entry(call, "api_key.revoke", caller.organization_id, key.id, details)
    app.ledger.api_keys.revoke(caller.organization_id, key.id, audit)
    call.then(app.events.renew_user, key.user_id)
    return RevokedKeyView(id=key.id)


class GrantRequest(Request):
    """One grant."""

    grant_id: Identifier = Field(description="The grant's id.")


class GrantView(Result):
    """A grant: a program that acts for a person."""

    id: str
    client_id: str
    client_name: str = Field(description="Name that the program gives itself, unchecked.")
    organization_id: str
    organization_name: str
    scopes: list[str]
    created_at: datetime
    last_used_at: datetime = Field(description="When the program last took new tokens.")
    expires_at: datetime = Field(description="When it ends, unless the program takes new tokens before.")


class GrantsView(Result):
    """The caller's grants, newest first."""

    grants: list[GrantView]


@entry(Route("GET", "/api/users/me/grants", tag="account"))
def list_grants(app: App, call: Call, _request: MeRequest) -> GrantsView:
    """List the programs that may use Engrain in the caller's name over MCP, the newest first."""
    require_session(call.caller)
    names = {each.id: each.name for each, _role in app.ledger.people.memberships(call.caller.user_id)}
    held = app.ledger.grants.of_user(call.caller.user_id)
    return GrantsView(grants=[_view(app, grant, names.get(grant.organization_id, "")) for grant in held])


def _view(app: App, grant: Grant, organization_name: str) -> GrantView:
    client = app.accounts.grants.client(grant.client_id)
    return GrantView.of(
        grant, client_name=client.name if client else "", organization_name=organization_name, scopes=list(grant.scopes)
    )


@mutation(Route("DELETE", "/api/users/me/grants/{grant_id}", tag="account", errors=(404,)))
def revoke_grant(app: App, call: Call, request: GrantRequest) -> DoneView:
    """Disconnect a program at once: its tokens hold no more, and it has to ask again."""
    require_session(call.caller)
    held = app.ledger.grants.of_user(call.caller.user_id)
    found = next((each for each in held if each.id == request.grant_id), None)
    if found is None:
        raise NotFound("You have no such grant.", remediation="List them with GET /api/users/me/grants.")
    audit = audit_entry(call, "oauth.revoke", found.organization_id, found.client_id, {"grant_id": found.id})
    app.ledger.grants.revoke(call.caller.user_id, found.id, audit)
    return DoneView()


ADDRESS = "owner@localhost"


def keep_local_key(app: App) -> None:
    """Keep a valid API key of the first admin in the data folder; make an owner if there is no account. It blocks."""
    path = app.folder.path / LOCAL_KEY
    with suppress(OSError, UnicodeDecodeError, AuthenticationRequired, Forbidden):
        app.accounts.keys.authenticate(path.read_text().strip())
        path.chmod(0o600)
        return
    owner = _owner(app)
    audit = AuditDraft("api_key.create", owner.organization_id, owner.user_id)
    wanted = KeyRequest("commands of this machine", True, sorted(SESSION_SCOPES), (), None)
    path.unlink(missing_ok=True)  # Its mode is not kept.
    replace_file(path, app.accounts.keys.create(owner, wanted, audit)[1].encode())


def _owner(app: App) -> Principal:
    with suppress(AuthenticationRequired):
        return app.accounts.local_principal()
    name = "Owner"
    with suppress(OSError, KeyError):
        name = getpass.getuser()
    # The password is discarded: the key is the only way in.
    app.accounts.create(ADDRESS, secrets.token_urlsafe(32), name)
    return app.accounts.local_principal()
