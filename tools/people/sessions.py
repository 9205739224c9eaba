"""Sessions, the password and its reset, and the list of sign-in providers."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.accounts import end_session as end_one
from auth.rights import require_session
from auth.tokens import new_token, token_hash
from auth.visibility import private_key
from stores.errors import AuthenticationRequired, InvalidRequest, NotFound
from stores.jobs import JobDraft
from stores.ledger import CODEHOST
from stores.records import JsonObject, User
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, DoneView, Nothing, Request, Result, Route, entry, mutation, public
from tools.frame.threads import in_turn
from tools.jobs.functions import JobFunction, JobHost, RunningJob
from tools.people.account import Email, Identifier, MeRequest, NewSecret, Secret, require_local_auth
from tools.runtime.announcements import renew_account
from tools.runtime.mail import Letter


class LogOutRequest(Request):
    """A session to end, besides the caller's own."""

    refresh_token: Annotated[str, StringConstraints(max_length=4096)] | None = Field(
        None, description="A refresh token of the session, for when the access token has expired."
    )


class PasswordRequest(Request):
    """A new password for an account that has one."""

    current_password: Secret = Field(description="Current password.")
    new_password: NewSecret = Field(description="8 to 128 characters.")


class SessionRequest(Request):
    """One session."""

    session_id: Identifier = Field(description="The session's id.")


class SessionView(Result):
    """Active session."""

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
    """The caller's active sessions, the newest first."""

    sessions: list[SessionView]


class ProviderView(Result):
    """External sign-in provider."""

    name: str
    label: str
    login_url: str


class ProvidersRequest(Request):
    """Empty; no credential is needed."""


class ProvidersView(Result):
    """Available sign-in providers."""

    local_auth_enabled: bool
    break_glass_enabled: bool
    providers: list[ProviderView]


@public("/api/auth/logout", status=204, cookies="clear", rate=None)
def log_out(app: App, call: Call, request: LogOutRequest) -> Nothing:
    """End the session at once and take the cookies away; without a session there is nothing to do."""
    ended = {(call.principal.session_id, call.principal.user_id)} if call.principal is not None else set()
    with suppress(AuthenticationRequired):
        claims = app.accounts.tokens.read(request.refresh_token or "", "refresh")
        ended.add((claims.session_id, claims.user_id))
    for session_id, user_id in ended:
        if session_id is not None:
            end_one(app.accounts, session_id, user_id, call.origin)
            call.then(app.events.renew_user, user_id)
    return Nothing()


_PASSWORD = "/api/users/me/password"  # noqa: S105 - a path


@mutation(Route("POST", _PASSWORD, status=204, tag="account", cookies="clear", rate="5/minute", errors=(400, 429)))
async def change_password(app: App, call: Call, request: PasswordRequest) -> Nothing:
    """Change the caller's password, and log out everywhere, here too: all sessions and grants of MCP clients end.

    Log in again with the new one. API keys stay.
    """
    require_local_auth(app)

    def change() -> None:
        require_session(call.caller)
        user_id, passwords = call.caller.user_id, app.accounts.passwords
        audit = audit_entry(call, "user.password_change", app.accounts.home_of(user_id), user_id)
        user = app.ledger.people.user(user_id)
        if not passwords.verify(user.password_hash if user else None, request.current_password):
            app.ledger.audit.append(replace(audit, action="user.password_refuse"))
            raise InvalidRequest(
                "The current password is not right.",
                code="invalid_current_password",
                remediation="Send the password that you log in with, or reset it by mail.",
                details={"field": "body.current_password"},
            )
        app.ledger.people.set_password_hash(user_id, passwords.hash(request.new_password), audit)

    await in_turn(app.password_turns, change)
    await app.events.renew_user(call.caller.user_id)
    return Nothing()


@entry(Route("GET", "/api/users/me/sessions", tag="account"))
def list_sessions(app: App, call: Call, _request: MeRequest) -> SessionsView:
    """List the caller's active sessions, the newest first."""
    current = require_session(call.caller)
    found = app.ledger.people.sessions(call.caller.user_id)
    return SessionsView(sessions=[SessionView.of(each, is_current=each.id == current) for each in found])


@mutation(Route("DELETE", "/api/users/me/sessions/{session_id}", tag="account", errors=(404,)))
def end_session(app: App, call: Call, request: SessionRequest) -> DoneView:
    """End one of the caller's sessions at once."""
    require_session(call.caller)
    if not end_one(app.accounts, request.session_id, call.caller.user_id, call.origin):
        raise NotFound("You have no such session.", remediation="List them with GET /api/users/me/sessions.")
    call.then(app.events.renew_user, call.caller.user_id)
    return DoneView()


@entry(Route("GET", "/api/auth/providers", tag="account"), roles=None)
async def providers(app: App, _call: Call, _request: ProvidersRequest) -> ProvidersView:
    """List the sign-in methods of this server."""
    base = ((app.settings.oidc and app.settings.oidc.redirect_uri_base) or app.settings.base_url or "").rstrip("/")
    found = [
        ProviderView(name=name, label=client.provider.label, login_url=f"{base}/api/auth/oidc/{name}/login")
        for name, client in app.providers.oidc.items()
    ]
    if app.providers.codehost is not None:
        url = f"{(app.settings.base_url or '').rstrip('/')}/api/auth/codehost"
        found.append(ProviderView(name=CODEHOST, label="Code host", login_url=url))
    return ProvidersView(local_auth_enabled=app.settings.local_auth_enabled, break_glass_enabled=False, providers=found)


LIFETIME = timedelta(minutes=60)
ANSWER = "If the address belongs to an account, a mail with further instructions is on its way."


class ResetRequest(Request):
    """Ask for a password reset."""

    email: Email = Field(description="E-mail address of the account.")


class ConfirmResetRequest(Request):
    """New password, with the token from the mail."""

    token: Identifier = Field(description="Token from the mail.")
    new_password: NewSecret = Field(description="8 to 128 characters.")


class ResetView(Result):
    """Confirmation, the same for known and unknown addresses."""

    message: str


MAIL_RESET = "mail_password_reset"


def _queue_reset(app: App, email: str) -> None:
    user = app.ledger.people.user_by_email(email.strip())
    if user and user.password_hash and (organization := app.ledger.people.default_organization(user.id)):
        with app.ledger.transaction(organization.id, user.id) as tx:
            tx.jobs.enqueue(JobDraft(f"{MAIL_RESET}:{user.id}", MAIL_RESET, visibility=private_key(user.id)))


def mail_reset(host: JobHost, running: RunningJob) -> JsonObject:
    """Mail a new token; each attempt makes one, because only its hash is kept."""
    app: App = host.app
    user, (token, stored), until = app.ledger.people.user(running.job.actor_id), new_token(), app.clock() + LIFETIME
    again = running.job.attempts > 1
    if user is None or not app.ledger.people.create_password_reset(user.id, stored, until, again):
        return {}
    if app.settings.frontend_url:
        way = f"Open {app.settings.frontend_url.rstrip('/')}/reset-password?token={token}"
    else:
        way = f"Send this token with a new password to POST /api/users/password/reset/confirm:\n\n{token}"
    # Without the user's name: a sign-up with a stranger's address could put any text there.
    text = (
        f"Hello,\n\nsomebody asked to reset the password of the Engrain account {user.email}.\n\n{way}\n\n"
        "It works once, within 60 minutes. If it was not you, there is nothing to do.\n"
    )
    return {"mail": app.mailer.deliver(Letter(user.email, "Reset your Engrain password", text))}


@public("/api/users/password/reset", 403, 429, status=202)
async def ask_for_reset(app: App, _call: Call, request: ResetRequest) -> ResetView:
    """Mail a token that resets the password; the answer never tells whether the account exists."""
    require_local_auth(app)
    # In the background, so that the response time does not tell either.
    app.mailer.post(lambda: _queue_reset(app, request.email))
    return ResetView(message=ANSWER)


@public("/api/users/password/reset/confirm", 400, 403, 429, status=204)
async def confirm_reset(app: App, call: Call, request: ConfirmResetRequest) -> Nothing:
    """Set a new password by a mailed token, and end all sessions and grants of the account.

    If this is the first proof of the address, API keys and provider links end too, and the personal organization loses
    its other members: a stranger may have signed up with the address.
    """
    require_local_auth(app)

    def reset() -> User:
        stored = token_hash(request.token)
        user = app.ledger.people.password_reset_user(stored)
        if user is None:
            # Checked before hashing, to keep guesses cheap for the server.
            raise InvalidRequest(
                "The reset token is not valid, was used, or has expired.",
                code="invalid_reset_token",
                remediation="Ask for a new password reset and use the newest mail.",
            )
        password_hash = app.accounts.passwords.hash(request.new_password)
        audit = call.origin.draft("user.password_reset", app.accounts.home_of(user.id), user.id, user.id)
        return app.ledger.people.reset_password(stored, password_hash, audit)

    user = await in_turn(app.password_turns, reset)
    await renew_account(app, user.id)
    return Nothing()


FUNCTIONS = (JobFunction(MAIL_RESET, mail_reset, attempts=8, needs_server=True),)
