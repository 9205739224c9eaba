"""Sign-in by redirect: a code host, or an OpenID Connect provider."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.accounts import SignedIn, end_session
from auth.external.addresses import LONGEST, LONGEST_PLACE
from auth.external.attempts import LIFETIME, Attempt
from auth.external.codehost import CodeHost, codehost_refused
from auth.external.oidc import OidcClient, not_signed_in
from auth.external.provider import OidcProvider
from auth.external.vouched import Entrance, Vouched, bound_organization, role_of, vouched
from auth.rights import require_session
from auth.tokens import new_token
from stores.errors import AuthenticationRequired, EngrainError, Forbidden, InvalidRequest, NotFound
from stores.ledger import CODEHOST
from stores.records import Role
from tools.app import App
from tools.frame.operation import ACCESS_COOKIE, REFRESH_COOKIE, Call, Cookie, Redirect, Request, Route, Verb, entry
from tools.frame.threads import in_thread
from tools.people.account import Identifier
from tools.runtime.announcements import MemberChange, announce_member, renew_account

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
        None, description="Final redirect: a path of this server or a page of the frontend."
    )


class CallbackRequest(Request):
    """Callback parameters of a provider."""

    code: Code | None = Field(None, description="The provider's code.")
    state: State | None = Field(None, description="State of the started sign-in; valid once, for ten minutes.")
    error: ErrorWord | None = Field(None, description="Why the provider did not sign anybody in.")


def _entry(path: str, *errors: int, rate: str | None = RATE) -> Callable[[Verb], Verb]:
    route = Route("GET", f"/api/auth/{path}", status=302, tag="account", rate=rate, errors=(400, *errors, 502))
    return entry(route, roles=None)


@_entry("codehost", 404)
async def codehost_login(app: App, call: Call, request: CodehostRequest) -> Redirect:
    """Begin to sign in by the code host: the browser goes there."""
    codehost = _codehost(app)
    goes_to = app.providers.destinations.checked(request.redirect_uri, "query.redirect_uri")
    attempt = Attempt(CODEHOST, goes_to, f"{call.server()}/api/auth/codehost/callback")
    return await _leave(app, call, codehost, attempt)


@_entry("codehost/callback", 401, 403, 404, 409, rate=None)
async def codehost_callback(app: App, call: Call, request: CallbackRequest) -> Redirect:
    """End the sign-in by the code host: the account is found, linked by its verified address, or made."""
    codehost = _codehost(app)
    attempt, held = await _return(app, call, CODEHOST, request.state)
    if request.error:
        return _back_to_log_in(app, attempt, held, request.error, codehost_refused)
    person = await codehost.account(attempt, _code(request))
    entrance = Entrance(app.accounts, CODEHOST, call.origin)
    signed = await in_thread(entrance.by_codehost, person, signup_enabled=app.settings.signup_enabled)
    # Linking may have ended sessions of another user.
    await renew_account(app, signed.identity.user.id)
    left = app.accounts.tokens.seconds_left(signed.refresh_token)
    refresh = Cookie(name=REFRESH_COOKIE, value=signed.refresh_token, lifetime_s=left)
    return _arrive(attempt, held, signed, refresh)


def _codehost(app: App) -> CodeHost:
    if app.providers.codehost is None:
        raise NotFound(
            "No code host is configured.",
            code="codehost_not_configured",
            remediation="Sign in by one of GET /api/auth/providers, or ask the operator to set ENGRAIN_CODEHOST_*.",
        )
    return app.providers.codehost


async def _leave(app: App, call: Call, client: CodeHost | OidcClient, attempt: Attempt) -> Redirect:
    state, _ = new_token()
    url, held = await client.sign_in_url(attempt, state), call.cookies.get(STATE_COOKIE, "")
    cookie = await in_thread(app.providers.attempts.begin, attempt, state, held)
    return Redirect(location=url, cookies=(_state_cookie(cookie),))


async def _return(app: App, call: Call, provider: str, state: str | None) -> tuple[Attempt, str]:
    return await in_thread(app.providers.attempts.end, provider, state or "", call.cookies.get(STATE_COOKIE, ""))


def _code(request: CallbackRequest) -> str:
    if not request.code:
        raise InvalidRequest(
            "The provider sent neither a code nor an error.",
            remediation="Begin the sign-in again.",
            details={"field": "query.code"},
        )
    return request.code


def _back_to_log_in(
    app: App, attempt: Attempt, held: str, error: str, refused: Callable[[str], EngrainError] = not_signed_in
) -> Redirect:
    if error not in BACK_TO_LOG_IN:
        raise refused(error)
    page = app.providers.destinations.log_in(error, attempt.goes_to)
    return Redirect(location=page, cookies=(_state_cookie(held),))


def _arrive(attempt: Attempt, held: str, signed: SignedIn, refresh: Cookie) -> Redirect:
    access = Cookie(name=ACCESS_COOKIE, value=signed.access_token, lifetime_s=signed.expires_in)
    return Redirect(location=attempt.goes_to, cookies=(access, refresh, _state_cookie(held)))


def _state_cookie(value: str) -> Cookie:
    return Cookie(name=STATE_COOKIE, value=value, lifetime_s=int(LIFETIME.total_seconds()) if value else 0)


Issuer = Annotated[str, StringConstraints(max_length=LONGEST)]


class OidcRequest(Request):
    """Start a sign-in by an OpenID Connect provider."""

    provider: Identifier = Field(description="The provider's name.")
    redirect: Place | None = Field(None, description="Final redirect: a path of this server or a page of the frontend.")
    next: Place | None = Field(None, description="The same; `redirect` wins.")


class OidcCallbackRequest(CallbackRequest):
    """Callback parameters of a provider."""

    provider: Identifier = Field(description="The provider's name.")
    iss: Issuer | None = Field(None, description="The provider's issuer (RFC 9207).")


@_entry("oidc/{provider}/login")
async def oidc_login(app: App, call: Call, request: OidcRequest) -> Redirect:
    """Begin to sign in by an OpenID Connect provider: the browser goes there."""
    client = _client(app, request.provider)
    attempt = _attempt(app, call, client, request)
    # Checked before the person signs in there for nothing.
    await in_thread(bound_organization, app.accounts, client.provider)
    return await _leave(app, call, client, attempt)


@_entry("oidc/{provider}/refresh", 401, 403)
async def oidc_refresh(app: App, call: Call, request: OidcRequest) -> Redirect:
    """Replace the session by a fresh one without a word to the person, if the provider still knows the browser.

    It answers 404 unless silent refresh is switched on for the provider.
    """
    client = _client(app, request.provider)
    if not client.provider.silent_refresh:
        raise NotFound(
            f"The provider {client.provider.name} does not refresh sessions silently.",
            word="oidc_silent_refresh_disabled",
            remediation="Sign in again when the session ends, or ask the operator to set silent_refresh_enabled.",
        )
    session_id = require_session(call.caller)
    attempt = _attempt(app, call, client, request)
    return await _leave(app, call, client, replace(attempt, session_id=session_id, user_id=call.caller.user_id))


@_entry("oidc/{provider}/callback", 401, 403, 409, rate=None)
async def oidc_callback(app: App, call: Call, request: OidcCallbackRequest) -> Redirect:
    """End the sign-in by an OpenID Connect provider: the account gets the role that the provider claims.

    The account is found by the provider's subject, linked by its verified address, or made. The session is one in the
    provider's organization, and has no refresh token. Whom the provider gives no role any more is no member any more.
    """
    client = _client(app, request.provider)
    attempt, held = await _return(app, call, _name(client), request.state)
    await client.require_sender(request.iss)
    if request.error:
        return _back_to_log_in(app, attempt, held, request.error)
    try:
        entered = await _admit(app, call, client, attempt, _code(request))
    except (AuthenticationRequired, Forbidden) as error:
        await in_thread(_note_refusal, app, call, client.provider, error.word or error.code)
        raise
    if entered is None:
        return _back_to_log_in(app, attempt, held, "login_required")
    signed, before = entered
    identity = signed.identity
    if before != identity.role:
        change: MemberChange = "org_member_added" if before is None else "org_role_changed"
        await announce_member(app, identity.organization.id, identity.user.id, change, identity.role)
    await renew_account(app, identity.user.id)
    return _arrive(attempt, held, signed, Cookie(name=REFRESH_COOKIE, value="", lifetime_s=0))


async def _admit(
    app: App, call: Call, client: OidcClient, attempt: Attempt, code: str
) -> tuple[SignedIn, Role | None] | None:
    claims = await client.claims(attempt, code, frozenset({"email", client.provider.role_claim}))
    person = vouched(client.provider, claims)
    entrance = Entrance(app.accounts, client.provider.name, call.origin)
    try:
        role = role_of(client.provider, claims)
    except Forbidden:
        ended = await in_thread(entrance.dismiss, client.provider, person)
        if ended is not None:
            member, organization = ended
            await announce_member(app, organization.id, member.user.id, "org_member_removed", member.role)
        raise
    return await in_thread(_enter, app, entrance, client.provider, attempt, (person, role))


def _note_refusal(app: App, call: Call, provider: OidcProvider, reason: str) -> None:
    organization = app.ledger.people.organization_by_slug(provider.organization_slug)
    home = organization.id if organization else None
    app.ledger.audit.append(
        call.origin.draft("session.refuse", home, None, None, provider=provider.name, reason=reason)
    )


def _enter(
    app: App, entrance: Entrance, provider: OidcProvider, attempt: Attempt, claimed: tuple[Vouched, Role]
) -> tuple[SignedIn, Role | None] | None:
    person, role = claimed
    if attempt.session_id is None or attempt.user_id is None:
        return entrance.by_oidc(provider, person, role)
    known = app.ledger.people.user_by_link(person.link_provider, person.subject)
    replaced = app.ledger.people.session(attempt.session_id)
    if known is None or known.id != attempt.user_id or replaced is None or replaced.revoked_at is not None:
        return None
    entered = entrance.by_oidc(provider, person, role)
    end_session(app.accounts, attempt.session_id, attempt.user_id, entrance.origin)
    return entered


def _client(app: App, name: str) -> OidcClient:
    client = app.providers.oidc.get(name)
    if client is None:
        raise NotFound(
            "There is no sign-in provider of that name.",
            word="oidc_provider_not_found",
            remediation="List them with GET /api/auth/providers.",
        )
    return client


def _name(client: OidcClient) -> str:
    return f"oidc:{client.provider.name}"


def _attempt(app: App, call: Call, client: OidcClient, request: OidcRequest) -> Attempt:
    # Both are checked, so that an invalid one is refused even if unused.
    other = app.providers.destinations.checked(request.next, "query.next")
    wanted = app.providers.destinations.checked(request.redirect, "query.redirect")
    base = (app.settings.oidc and app.settings.oidc.redirect_uri_base) or call.server()
    callback_url = f"{base.rstrip('/')}/api/auth/oidc/{client.provider.name}/callback"
    return Attempt(_name(client), wanted if request.redirect else other, callback_url)
