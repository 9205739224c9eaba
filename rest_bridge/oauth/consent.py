"""`/authorize`: consent of a person to a program, for one organization."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from html import escape
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from starlette.responses import Response
from starlette.types import Receive, Scope

from auth.grants import SCOPE, AuthorizationRequest, same_resource
from auth.grants_clients import OAuthRefused, is_loopback, registered_uri
from auth.one_time import new_token, token_hash
from auth.origin import origin_of
from auth.principal import Principal
from rest_bridge.bodies import read_form, read_query
from rest_bridge.envelope import require_own_host
from rest_bridge.mcp_discovery import MCP_PATH, base_url
from rest_bridge.pages.endpoint import Page
from rest_bridge.pages.layout import choice, hidden, login_address, render, see, text, visitor_of
from stores.errors import AuthenticationRequired, InvalidRequest, NotFound
from stores.ledger import OAuthClient
from stores.records import JsonObject, Organization, Role
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call
from tools.runtime.threads import in_thread

TICKET = "consent"
TIME_TO_DECIDE = timedelta(minutes=10)


class ConsentPage(Page):
    async def answer(self, scope: Scope, receive: Receive) -> Response:
        require_own_host(scope, self.app.settings)
        return await super().answer(scope, receive)

    async def show(self, scope: Scope) -> Response:
        query = read_query(scope)
        issuer = base_url(scope, self.app.settings)
        client = await in_thread(self.app.accounts.clients.find, only(query, "client_id") or "")
        target = destination(client, query, issuer)
        assert client is not None  # noqa: S101 - there is a destination
        try:
            asked = checked_request(client, target, query, issuer + MCP_PATH)
        except OAuthRefused as error:
            return see(target.refused(error.code, error.message))
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
        body = (
            _asking(client, asked)
            + f'<form method="post">{hidden("ticket", token)}'
            + choice((each.id, each.name, role, each.id == visitor.organization_id) for each, role in organizations)
            + '<button class="act" name="decision" value="allow">Allow</button>'
            '<button name="decision" value="deny">Deny</button></form>'
            f'<p class="soft">You are signed in as {text(visitor.user.email)}. '
            f'<a href="{escape(login_address(scope, again=True))}">Use another account</a></p>'
        )
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
                "This question was answered before, is too old, or was put to somebody else.",
                remediation="Start again in the program that sent you here.",
            )
        asked = AuthorizationRequest(**cast("dict[str, Any]", ticket["asked"]))
        target = Destination(asked.redirect_uri, asked.state, base_url(scope, self.app.settings))
        if given.get("decision") != "allow":
            return see(target.refused("access_denied", "The person said no."))
        organization_id = given.get("organization", visitor.organization_id)
        return see(target.allowed(await in_thread(self._allow, scope, visitor, asked, organization_id)))

    def _allow(self, scope: Scope, visitor: Principal, asked: AuthorizationRequest, organization_id: str) -> str:
        if self.app.ledger.people.identity(visitor.user_id, organization_id, None) is None:
            raise NotFound("You are no member of that organization.", remediation="Choose one of yours.")
        call, client = Call(visitor, seen=origin_of(scope)), self.app.accounts.clients.find(asked.client_id)
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

    def refused(self, error: str, description: str) -> str:
        return self._with({"error": error, "error_description": description})

    def allowed(self, code: str) -> str:
        return self._with({"code": code})

    def _with(self, answer: Mapping[str, str]) -> str:
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
    for name in ("state", *_ONCE):
        if len(query.get(name, ())) > 1:
            raise OAuthRefused("invalid_request", f"{name} comes more than once.")
    if only(query, "state") != target.state:
        raise OAuthRefused("invalid_request", f"state is longer than {STATE_LENGTH} characters.")
    if only(query, "response_type") != "code":
        raise OAuthRefused("unsupported_response_type", "response_type is code.")
    if only(query, "response_mode") not in (None, "query"):
        raise OAuthRefused("invalid_request", "response_mode is query.")
    if (scope := only(query, "scope")) is not None and SCOPE not in scope.split():
        raise OAuthRefused("invalid_scope", f"The only scope is {SCOPE}.")
    if not all(same_resource(asked, resource) for asked in query.get("resource", ()) if asked):
        raise OAuthRefused("invalid_target", f"The only resource here is {resource}.")
    return AuthorizationRequest(
        client_id=client.id,
        redirect_uri=target.redirect_uri,
        redirect_uri_explicit=only(query, "redirect_uri") is not None,
        code_challenge=_challenge(query),
        resource=resource,
        state=target.state,
    )


def _challenge(query: Query) -> str:
    challenge = only(query, "code_challenge")
    # Without a method it would be `plain`, which protects nothing.
    if challenge is None or only(query, "code_challenge_method") != "S256":
        raise OAuthRefused("invalid_request", "PKCE is required: code_challenge with code_challenge_method S256.")
    if not _CHALLENGE.fullmatch(challenge):
        raise OAuthRefused("invalid_request", "code_challenge is the base64url of a SHA-256, 43 characters.")
    return challenge
