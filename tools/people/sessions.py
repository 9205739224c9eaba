"""Sessions, the password, and the list of sign-in providers."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.rights import require_session
from auth.sign_out import change_password as replace_password
from auth.sign_out import end_session as end_one
from auth.sign_out import log_out as end_sessions
from stores.errors import NotFound
from stores.ledger.external_identities import CODEHOST
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, DoneView, Nothing, Operation, Request, Result, Route, mutation, public
from tools.people.account import MeRequest, NewSecret, Secret, require_local_auth
from tools.runtime.threads import in_thread, in_turn


class LogOutRequest(Request):
    """A session to end, besides the caller's own."""

    refresh_token: Annotated[str, StringConstraints(max_length=4096)] | None = Field(
        None, description="A refresh token of the session, for when the access token has expired."
    )


class PasswordRequest(Request):
    """A new password for an account that has one."""

    current_password: Secret = Field(description="The password as it is.")
    new_password: NewSecret = Field(description="8 to 128 characters.")


class SessionRequest(Request):
    """One session."""

    session_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(description="The session's id.")


class SessionView(Result):
    """A sign-in that holds."""

    id: str
    organization_id: str
    is_current: bool
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    provider: str | None
    user_agent: str | None
    ip_address: str | None


class SessionsView(Result):
    """The caller's sign-ins, the newest first."""

    sessions: list[SessionView]


class ProviderView(Result):
    """Somebody else's word by which one can sign in."""

    name: str
    label: str
    login_url: str


class ProvidersRequest(Request):
    """Nothing: everybody may ask."""


class ProvidersView(Result):
    """Available sign-in providers."""

    local_auth_enabled: bool
    break_glass_enabled: bool
    providers: list[ProviderView]


async def log_out(app: App, call: Call, request: LogOutRequest) -> Nothing:
    """End the session at once and take the cookies away; without a session there is nothing to do."""
    for user_id in await in_thread(end_sessions, app.accounts, call.principal, request.refresh_token, call.origin):
        await app.events.renew_user(user_id)
    return Nothing()


async def change_password(app: App, call: Call, request: PasswordRequest) -> Nothing:
    """Change the caller's password, and log out everywhere, here too: all sessions, and what MCP clients were granted.

    Log in again with the new one. API keys stay.
    """
    require_local_auth(app)

    def replace() -> None:
        user_id = call.caller.user_id
        audit = audit_entry(call, "user.password_change", app.accounts.home_of(user_id), user_id)
        replace_password(app.accounts, call.caller, request.current_password, request.new_password, audit)

    await in_turn(app.password_turns, replace)
    await app.events.renew_user(call.caller.user_id)
    return Nothing()


async def list_sessions(app: App, call: Call, _request: MeRequest) -> SessionsView:
    """List the caller's sign-ins that hold, the newest first."""
    current = require_session(call.caller)
    found = await in_thread(app.ledger.people.sessions, call.caller.user_id)
    return SessionsView(sessions=[SessionView.of(each, is_current=each.id == current) for each in found])


async def end_session(app: App, call: Call, request: SessionRequest) -> DoneView:
    """End one of the caller's sign-ins at once."""

    def end() -> bool:
        require_session(call.caller)
        return end_one(app.accounts, request.session_id, call.caller.user_id, call.origin)

    if not await in_thread(end):
        raise NotFound("You have no such session.", remediation="List them with GET /api/users/me/sessions.")
    await app.events.renew_user(call.caller.user_id)
    return DoneView()


async def providers(app: App, _call: Call, _request: ProvidersRequest) -> ProvidersView:
    """Say by what one can sign in here."""
    base = ((app.settings.oidc and app.settings.oidc.redirect_uri_base) or app.settings.base_url or "").rstrip("/")
    found = [
        ProviderView(name=name, label=client.provider.label, login_url=f"{base}/api/auth/oidc/{name}/login")
        for name, client in app.providers.oidc.items()
    ]
    if app.providers.codehost is not None:
        url = f"{(app.settings.base_url or '').rstrip('/')}/api/auth/codehost"
        found.append(ProviderView(name=CODEHOST, label="Code host", login_url=url))
    return ProvidersView(local_auth_enabled=app.settings.local_auth_enabled, break_glass_enabled=False, providers=found)


OPERATIONS = (
    public(log_out, "/api/auth/logout", status=204, cookies="clear", rate=None),
    Operation(
        change_password,
        scope="write",
        route=Route(
            "POST",
            "/api/users/me/password",
            status=204,
            tag="account",
            cookies="clear",
            rate="5/minute",
            errors=(400, 429),
        ),
    ),
    Operation(list_sessions, route=Route("GET", "/api/users/me/sessions", tag="account")),
    mutation(end_session, Route("DELETE", "/api/users/me/sessions/{session_id}", tag="account", errors=(404,))),
    Operation(providers, roles=None, route=Route("GET", "/api/auth/providers", tag="account")),
)
