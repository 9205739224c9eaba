"""Grants: list and revoke the access of MCP clients."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.rights import require_session
from stores.errors import NotFound
from stores.ledger import Grant
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, DoneView, Operation, Request, Result, Route, mutation
from tools.people.account import MeRequest
from tools.runtime.threads import in_thread


class GrantRequest(Request):
    """One grant."""

    grant_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(description="The grant's id.")


class GrantView(Result):
    """A grant: a program that acts for a person."""

    id: str
    client_id: str
    client_name: str = Field(description="What the program calls itself; nobody has checked it.")
    organization_id: str
    organization_name: str
    scopes: list[str]
    created_at: datetime
    last_used_at: datetime = Field(description="When the program last took new tokens.")
    expires_at: datetime = Field(description="When it ends, unless the program takes new tokens before.")


class GrantsView(Result):
    """The caller's grants, newest first."""

    grants: list[GrantView]


async def list_grants(app: App, call: Call, _request: MeRequest) -> GrantsView:
    """List the programs that may use Engrain in the caller's name over MCP, the newest first."""

    def find() -> GrantsView:
        require_session(call.caller)
        names = {each.id: each.name for each, _role in app.ledger.people.memberships(call.caller.user_id)}
        held = app.ledger.grants.of_user(call.caller.user_id)
        return GrantsView(grants=[_view(app, grant, names.get(grant.organization_id, "")) for grant in held])

    return await in_thread(find)


def _view(app: App, grant: Grant, organization_name: str) -> GrantView:
    client = app.accounts.clients.find(grant.client_id)
    return GrantView.of(
        grant, client_name=client.name if client else "", organization_name=organization_name, scopes=list(grant.scopes)
    )


async def revoke_grant(app: App, call: Call, request: GrantRequest) -> DoneView:
    """Disconnect a program at once: its tokens hold no more, and it has to ask again."""

    def revoke() -> None:
        require_session(call.caller)
        held = app.ledger.grants.of_user(call.caller.user_id)
        found = next((each for each in held if each.id == request.grant_id), None)
        if found is None:
            raise NotFound("You have no such grant.", remediation="List them with GET /api/users/me/grants.")
        audit = audit_entry(call, "oauth.revoke", found.organization_id, found.client_id, {"grant_id": found.id})
        app.ledger.grants.revoke(call.caller.user_id, found.id, audit)

    await in_thread(revoke)
    return DoneView()


OPERATIONS = (
    Operation(list_grants, route=Route("GET", "/api/users/me/grants", tag="account")),
    mutation(revoke_grant, Route("DELETE", "/api/users/me/grants/{grant_id}", tag="account", errors=(404,))),
)
