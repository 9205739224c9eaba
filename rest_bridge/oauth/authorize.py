"""Validation of requests to `/authorize`, before a person sees them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from auth.grants import SCOPE, AuthorizationRequest, same_resource
from auth.grants_clients import OAuthRefused, RegisteredClient
from stores.errors import InvalidRequest

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


def destination(client: RegisteredClient | None, query: Query, issuer: str) -> Destination:
    if client is None:
        raise NotSentBack("The program that sent you here is not known to this server, or not any more.")
    redirect_uri = None
    if len(query.get("redirect_uri", ())) <= 1:
        redirect_uri = client.redirect_uri(only(query, "redirect_uri"))
    if redirect_uri is None:
        raise NotSentBack("The program that sent you here wants the answer at an address that is not its own.")
    state = only(query, "state")
    return Destination(redirect_uri, state if state is None or len(state) <= STATE_LENGTH else None, issuer)


def checked_request(client: RegisteredClient, target: Destination, query: Query, resource: str) -> AuthorizationRequest:
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
    _require_scope(only(query, "scope"))
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


def _require_scope(asked: str | None) -> None:
    if asked is not None and SCOPE not in asked.split():
        raise OAuthRefused("invalid_scope", f"The only scope is {SCOPE}.")
