"""Sign-in by a code host, and helpers of all sign-ins by redirect."""

from functools import partial
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.accounts import SignedIn
from auth.external.addresses import LONGEST_PLACE
from auth.external.attempts import LIFETIME, Attempt
from auth.external.codehost import CodeHost, codehost_refused
from auth.external.entry import Entrance
from auth.one_time import new_token
from stores.errors import InvalidRequest, NotFound
from stores.ledger.external_identities import CODEHOST
from tools.app import App
from tools.frame.operation import ACCESS_COOKIE, REFRESH_COOKIE, Call, Cookie, Operation, Redirect, Request, Route
from tools.runtime.announcements import renew_account
from tools.runtime.threads import in_thread

STATE_COOKIE = "engrain_oauth_state"
BACK_TO_LOG_IN = frozenset(
    {"access_denied", "login_required", "interaction_required", "consent_required", "account_selection_required"}
)
RATE = "120/minute"

Place = Annotated[str, StringConstraints(max_length=LONGEST_PLACE)]
Code = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[\x20-\x7e]*$")]
ErrorWord = Annotated[str, StringConstraints(max_length=100, pattern=r"^[A-Za-z0-9_.-]*$")]
State = Annotated[str, StringConstraints(max_length=512, pattern=r"^[\x20-\x7e]*$")]


class CodehostRequest(Request):
    """Start a sign-in by the code host."""

    redirect_uri: Place | None = Field(
        None, description="Where the browser goes in the end: a path of this server, or a page of the frontend."
    )


class CallbackRequest(Request):
    """Callback parameters of a provider."""

    code: Code | None = Field(None, description="The provider's code.")
    state: State | None = Field(None, description="What the sign-in began with; holds once, for ten minutes.")
    error: ErrorWord | None = Field(None, description="Why the provider did not sign anybody in.")


async def codehost_login(app: App, call: Call, request: CodehostRequest) -> Redirect:
    """Begin to sign in by the code host: the browser goes there."""
    codehost = require_codehost(app)
    goes_to = app.providers.destinations.checked(request.redirect_uri, "query.redirect_uri")
    attempt = Attempt(CODEHOST, goes_to, f"{call.server()}/api/auth/codehost/callback")
    state, _ = new_token()
    return await leave(app, call, attempt, state, await codehost.authorize_url(attempt, state))


async def codehost_callback(app: App, call: Call, request: CallbackRequest) -> Redirect:
    """End the sign-in by the code host: the account is found, linked by its verified address, or made."""
    codehost = require_codehost(app)
    attempt, held = await return_of(app, call, CODEHOST, request.state)
    if request.error:
        if request.error not in BACK_TO_LOG_IN:
            raise codehost_refused(request.error)
        return back_to_log_in(app, attempt, held, request.error)
    person = await codehost.account(attempt, code_of(request))
    entrance = Entrance(app.accounts, CODEHOST, call.origin)
    enter = partial(entrance.by_codehost, person, signup_enabled=app.settings.signup_enabled)
    signed = await in_thread(enter)
    # Linking may have ended sessions of somebody else.
    await renew_account(app, signed.identity.user.id)
    left = app.accounts.tokens.seconds_left(signed.refresh_token)
    refresh = Cookie(name=REFRESH_COOKIE, value=signed.refresh_token, lifetime_s=left)
    return arrive(attempt, held, signed, refresh)


def require_codehost(app: App) -> CodeHost:
    if app.providers.codehost is None:
        raise NotFound(
            "No code host is configured.",
            code="codehost_not_configured",
            remediation="Sign in by one of GET /api/auth/providers, or ask the operator to set ENGRAIN_CODEHOST_*.",
        )
    return app.providers.codehost


async def leave(app: App, call: Call, attempt: Attempt, state: str, url: str) -> Redirect:
    """Store an attempt and redirect the browser to the provider."""
    held = call.cookies.get(STATE_COOKIE, "")
    cookie = await in_thread(app.providers.attempts.begin, attempt, state, held)
    return Redirect(location=url, cookies=(_state_cookie(cookie),))


async def return_of(app: App, call: Call, provider: str, state: str | None) -> tuple[Attempt, str]:
    """Consume the attempt of a returning browser; return it with the new cookie."""
    return await in_thread(app.providers.attempts.end, provider, state or "", call.cookies.get(STATE_COOKIE, ""))


def code_of(request: CallbackRequest) -> str:
    if not request.code:
        raise InvalidRequest(
            "The provider sent neither a code nor an error.",
            remediation="Begin the sign-in again.",
            details={"field": "query.code"},
        )
    return request.code


def back_to_log_in(app: App, attempt: Attempt, held: str, error: str) -> Redirect:
    """Redirect the browser to the sign-in page, with the provider's error code."""
    page = app.providers.destinations.log_in(error, attempt.goes_to)
    return Redirect(location=page, cookies=(_state_cookie(held),))


def arrive(attempt: Attempt, held: str, signed: SignedIn, refresh: Cookie) -> Redirect:
    """Redirect the signed-in browser to its destination."""
    access = Cookie(name=ACCESS_COOKIE, value=signed.access_token, lifetime_s=signed.expires_in)
    return Redirect(location=attempt.goes_to, cookies=(access, refresh, _state_cookie(held)))


def _state_cookie(value: str) -> Cookie:
    return Cookie(name=STATE_COOKIE, value=value, lifetime_s=int(LIFETIME.total_seconds()) if value else 0)


OPERATIONS = (
    Operation(
        codehost_login,
        roles=None,
        route=Route("GET", "/api/auth/codehost", status=302, tag="account", rate=RATE, errors=(400, 404, 502)),
    ),
    Operation(
        codehost_callback,
        roles=None,
        route=Route(
            "GET", "/api/auth/codehost/callback", status=302, tag="account", errors=(400, 401, 403, 404, 409, 502)
        ),
    ),
)
