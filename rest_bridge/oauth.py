"""OAuth 2.1 authorization server for MCP clients: their endpoints, and the consent of a person at `/authorize`."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, ClassVar, cast
from urllib.parse import unquote_plus, urlencode, urlsplit

from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from auth.grants import SCOPE, AuthorizationRequest, OAuthRefused, is_loopback, registered_uri, required, same_resource
from auth.origin import client_of, origin_of
from auth.principal import Principal
from auth.tokens import new_token, token_hash
from rest_bridge.bodies import parse_object, read_body, read_form, read_query
from rest_bridge.envelope import REFUSE, UnsupportedMediaType, refusal, require_own_host, status_of
from rest_bridge.mcp_discovery import MCP_PATH, REGISTER_PATH, REVOKE_PATH, TOKEN_PATH, base_url
from rest_bridge.pages.layout import decision, login_address, render, see, text, visitor_of
from rest_bridge.pages.login import Page
from rest_bridge.routes import FixedWindow
from stores.errors import AuthenticationRequired, EngrainError, InvalidRequest, NotFound, ValidationFailed
from stores.ledger import OAuthClient
from stores.records import JsonObject, Organization, Role
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call
from tools.frame.threads import in_thread

UNCACHED = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class ClientEndpoint:
    """Endpoint for OAuth clients; refusals have the shape of RFC 6749, section 5.2."""

    path: ClassVar[str]
    rate: ClassVar[str]

    def __init__(self, app: App) -> None:
        self.app = app
        self.limit = FixedWindow(self.rate) if app.settings.rate_limit_enabled else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[REFUSE] = _refused
        require_own_host(scope, self.app.settings)
        if self.limit is not None:
            self.limit.take(client_of(scope))
        response = await self.answer(scope, receive)
        await response(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        raise NotImplementedError


def _refused(error: EngrainError, scope: Scope) -> Response:
    response = refusal(error, scope, UNCACHED, oauth=_word(error))
    if error.code == "invalid_client":
        response.status_code = 401
        response.headers["WWW-Authenticate"] = 'Basic realm="Engrain", charset="UTF-8"'
    elif isinstance(error, ValidationFailed | UnsupportedMediaType):
        response.status_code = 400
    return response


def _word(error: EngrainError) -> str:
    if isinstance(error, OAuthRefused):
        return error.code
    status = status_of(error)
    if status in (429, 503):
        return "temporarily_unavailable"
    return "invalid_request" if status < 500 else "server_error"


def answered(body: JsonObject, status: int = 200) -> Response:
    return Response(to_json(body), status, UNCACHED, "application/json")


class TokenEndpoint(ClientEndpoint):
    path = TOKEN_PATH
    rate = "300/minute"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        given = await read_form(scope, receive)
        client = await authenticated(self.app, scope, given)
        grants, origin = self.app.accounts.grants, origin_of(scope)
        match required(given, "grant_type"):
            case "authorization_code":
                issued = await in_thread(grants.redeem, client, given, origin)
            case "refresh_token":
                issued = await in_thread(grants.refresh, client, given, origin)
            case _:
                raise OAuthRefused("unsupported_grant_type", "Grant types are authorization_code and refresh_token.")
        answer: JsonObject = {
            "access_token": issued.access_token,
            "token_type": "Bearer",
            "expires_in": issued.expires_in,
            "scope": " ".join(issued.grant.scopes),
        }
        return answered(answer if issued.refresh_token is None else {**answer, "refresh_token": issued.refresh_token})


class Revocation(ClientEndpoint):
    """Revoke the grant of a token (RFC 7009)."""

    path = REVOKE_PATH
    rate = "300/minute"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        """Revoke it; the answer is the same if there is nothing to revoke."""
        given = await read_form(scope, receive)
        client = await authenticated(self.app, scope, given)
        await in_thread(self.app.accounts.grants.revoke, client, required(given, "token"), origin_of(scope))
        return Response(None, 200, UNCACHED)


async def authenticated(app: App, scope: Scope, given: Mapping[str, str]) -> OAuthClient:
    client_id, secret = given.get("client_id"), given.get("client_secret")
    header = ", ".join(Headers(scope=scope).getlist("authorization"))
    if header[:6].lower() == "basic ":
        named, presented = _basic(header[6:])
        if secret is not None or client_id not in (None, named):
            raise OAuthRefused("invalid_request", "The client says in two ways who it is.")
        client_id, secret = named, presented or None
    if client_id is None:
        raise OAuthRefused("invalid_client", "client_id is missing.")
    return await in_thread(app.accounts.grants.authenticate_client, client_id, secret)


def _basic(encoded: str) -> tuple[str, str]:
    try:
        named, separator, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:
        named, separator, secret = "", "", ""
    if not separator:
        raise OAuthRefused("invalid_client", "The Authorization header is not well-formed.")
    return unquote_plus(named), unquote_plus(secret)


BODY_LIMIT = 32 * 1024


class Registration(ClientEndpoint):
    """Register any program: people decide about its rights."""

    path = REGISTER_PATH
    rate = "60/hour"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        body = await read_body(scope, receive, BODY_LIMIT)
        try:
            described = parse_object(body, Headers(scope=scope).get("content-type"))
        except ValidationFailed as error:
            raise OAuthRefused("invalid_client_metadata", error.message) from None
        client, secret = await in_thread(self.app.accounts.grants.register, described)
        issued_at = int(self.app.clock().timestamp())
        answer: JsonObject = {"client_id": client.id, "client_id_issued_at": issued_at, **client.metadata}
        if secret is not None:
            answer |= {"client_secret": secret, "client_secret_expires_at": 0}
        return answered(answer, 201)


TICKET = "consent"
TIME_TO_DECIDE = timedelta(minutes=10)


class ConsentPage(Page):
    async def answer(self, scope: Scope, receive: Receive) -> Response:
        require_own_host(scope, self.app.settings)
        return await super().answer(scope, receive)

    async def show(self, scope: Scope) -> Response:
        query = read_query(scope)
        issuer = base_url(scope, self.app.settings)
        client = await in_thread(self.app.accounts.grants.client, only(query, "client_id") or "")
        target = destination(client, query, issuer)
        assert client is not None  # noqa: S101 - there is a destination
        try:
            asked = checked_request(client, target, query, issuer + MCP_PATH)
        except OAuthRefused as error:
            return see(target.answered(error=error.code, error_description=error.message))
        visitor = visitor_of(scope)
        return see(login_address(scope)) if visitor is None else await self.ask(scope, visitor, client, asked)

    async def ask(self, scope: Scope, visitor: Principal, client: OAuthClient, asked: AuthorizationRequest) -> Response:
        """Render the consent form, with a ticket that this session can spend once."""
        token, hashed = new_token()
        data: JsonObject = {"session_id": visitor.session_id, "asked": asdict(asked)}

        def prepare() -> list[tuple[Organization, Role]]:
            self.app.ledger.tickets.keep(TICKET, hashed, data, self.app.clock() + TIME_TO_DECIDE)
            return self.app.ledger.people.memberships(visitor.user_id)

        organizations = await in_thread(prepare)
        shown = ((each.id, each.name, role, each.id == visitor.organization_id) for each, role in organizations)
        body = _asking(client, asked) + decision(scope, visitor, shown, ticket=token)
        return render(f"Let {client.name} use Engrain?", body, form_targets=[form_target(asked.redirect_uri)])

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        given = await read_form(scope, receive)
        visitor = visitor_of(scope)
        if visitor is None:
            raise AuthenticationRequired(
                "You are not signed in any more.", remediation="Start again in the program that sent you here."
            )
        ticket = await in_thread(self.app.ledger.tickets.take, TICKET, token_hash(given.get("ticket", "")))
        if ticket is None or ticket["session_id"] != visitor.session_id:
            raise InvalidRequest(
                "This request was answered before, has expired, or belongs to another sign-in.",
                remediation="Start again in the program that sent you here.",
            )
        asked = AuthorizationRequest(**cast("dict[str, Any]", ticket["asked"]))
        target = Destination(asked.redirect_uri, asked.state, base_url(scope, self.app.settings))
        if given.get("decision") != "allow":
            return see(target.answered(error="access_denied", error_description="The person said no."))
        organization_id = given.get("organization", visitor.organization_id)
        return see(target.answered(code=await in_thread(self._allow, scope, visitor, asked, organization_id)))

    def _allow(self, scope: Scope, visitor: Principal, asked: AuthorizationRequest, organization_id: str) -> str:
        if self.app.ledger.people.identity(visitor.user_id, organization_id, None) is None:
            raise NotFound("You are not a member of that organization.", remediation="Choose one of yours.")
        call, client = Call(visitor, origin=origin_of(scope)), self.app.accounts.grants.client(asked.client_id)
        details: JsonObject = {"client_id": asked.client_id, "client_name": client.name if client else ""}
        audit = audit_entry(call, "oauth.allow", organization_id, asked.client_id, details)
        return self.app.accounts.grants.allow(asked, visitor.user_id, organization_id, audit)


def _asking(client: OAuthClient, asked: AuthorizationRequest) -> str:
    return (
        f"<p><strong>{text(client.name)}</strong> wants to use Engrain in your name. It says itself what it is called; "
        "nobody has checked that. Allow it only if you have just started this.</p>"
        f'<p class="note">The answer goes to <strong>{text(destination_name(asked.redirect_uri))}</strong>.</p>'
        "<h2>It will be able to</h2><ul><li>search and read what you can read in the organization,</li>"
        "<li>add, change and delete records there, as far as your role allows.</li></ul>"
        "<h2>It will not be able to</h2><ul><li>see your password or manage your account,</li>"
        "<li>manage members or API keys, or reach your other organizations.</li></ul>"
    )


def destination_name(redirect_uri: str) -> str:
    parts = urlsplit(redirect_uri)
    if is_loopback(redirect_uri):
        return f"a program on this computer ({parts.netloc})"
    return parts.netloc if parts.scheme == "https" else f"the program that opens {parts.scheme}: links"


def form_target(redirect_uri: str) -> str:
    """Return the CSP source of a redirect URI: browsers check redirects after a form, too."""
    parts = urlsplit(redirect_uri)
    # A policy cannot name an IPv6 address.
    nameable = parts.scheme in ("http", "https") and "[" not in parts.netloc
    return f"{parts.scheme}://{parts.netloc}" if nameable else f"{parts.scheme}:"


STATE_LENGTH = 4096
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
"""The base64url of a SHA-256 (RFC 7636, section 4.2)."""
_ONCE = ("response_type", "code_challenge", "code_challenge_method", "scope", "response_mode")

Query = Mapping[str, Sequence[str]]


class NotSentBack(InvalidRequest):
    """400: a browser was sent here by a program whose redirect address is not known."""

    code = "unknown_client"
    default_remediation = "Remove the connection to Engrain in the program and add it again."


@dataclass(frozen=True, slots=True)
class Destination:
    """The redirect URI for the answer to a client, with state and issuer."""

    redirect_uri: str
    state: str | None
    issuer: str

    def answered(self, **answer: str) -> str:
        # `iss` against mix-ups of servers (RFC 9207).
        state = {} if self.state is None else {"state": self.state}
        joint = "&" if "?" in self.redirect_uri else "?"
        return f"{self.redirect_uri}{joint}{urlencode({**answer, **state, 'iss': self.issuer})}"


def only(query: Query, name: str) -> str | None:
    """Return a parameter's only value; None if absent, empty or repeated."""
    values = query.get(name, ())
    return values[0] if len(values) == 1 and values[0] else None


def destination(client: OAuthClient | None, query: Query, issuer: str) -> Destination:
    if client is None:
        raise NotSentBack("The program that sent you here is not known to this server, or not any more.")
    redirect_uri = None
    if len(query.get("redirect_uri", ())) <= 1:
        redirect_uri = registered_uri(client, only(query, "redirect_uri"))
    if redirect_uri is None:
        raise NotSentBack("The program that sent you here wants the answer at an address that is not its own.")
    state = only(query, "state")
    return Destination(redirect_uri, state if state is None or len(state) <= STATE_LENGTH else None, issuer)


def checked_request(client: OAuthClient, target: Destination, query: Query, resource: str) -> AuthorizationRequest:
    """Check an authorization request for the only resource that there is."""
    if repeated := [name for name in ("state", *_ONCE) if len(query.get(name, ())) > 1]:
        raise OAuthRefused("invalid_request", f"{repeated[0]} comes more than once.")
    scope, challenge = only(query, "scope"), only(query, "code_challenge") or ""
    # Without a method it would be `plain`, which protects nothing.
    has_pkce = challenge and only(query, "code_challenge_method") == "S256"
    rules = (
        (only(query, "state") == target.state, "invalid_request", f"state is longer than {STATE_LENGTH} characters."),
        (only(query, "response_type") == "code", "unsupported_response_type", "response_type is code."),
        (only(query, "response_mode") in (None, "query"), "invalid_request", "response_mode is query."),
        (scope is None or SCOPE in scope.split(), "invalid_scope", f"The only scope is {SCOPE}."),
        (
            all(same_resource(asked, resource) for asked in query.get("resource", ()) if asked),
            "invalid_target",
            f"The only resource here is {resource}.",
        ),
        (has_pkce, "invalid_request", "PKCE is required: code_challenge with code_challenge_method S256."),
        (
            _CHALLENGE.fullmatch(challenge),
            "invalid_request",
            "code_challenge is the base64url of a SHA-256, 43 characters.",
        ),
    )
    for is_kept, error, rule in rules:
        if not is_kept:
            raise OAuthRefused(error, rule)
    return AuthorizationRequest(
        client_id=client.id,
        redirect_uri=target.redirect_uri,
        redirect_uri_explicit=only(query, "redirect_uri") is not None,
        code_challenge=challenge,
        resource=resource,
        state=target.state,
    )
