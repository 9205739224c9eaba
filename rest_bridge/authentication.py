"""Authentication of each request, once; the caller is stored in the scope."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from auth.grants import same_resource
from auth.principal import Principal
from rest_bridge.cookies import require_same_origin, session_cookie
from stores.errors import AuthenticationRequired, EngrainError
from tools.frame.operation import ACCESS_COOKIE

PRINCIPAL = "engrain.principal"
"""Scope key of the caller, or None. Never a context variable: those leak between requests of one connection."""
CREDENTIAL = "engrain.credential"
"""Scope key of the credential that was presented, or None."""

Authenticate = Callable[[str], Awaitable[Principal]]


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential of a request, with the reason if it was refused."""

    source: Literal["header", "cookie"]
    token: str
    refusal: EngrainError | None = None


def presented(headers: Headers) -> tuple[Literal["header", "cookie"], str] | None:
    """Return the token of a request: the bearer header wins over the cookie."""
    given = headers.getlist("authorization")
    if len(given) > 1:
        raise AuthenticationRequired("The request has several Authorization headers.", remediation="Send one of them.")
    scheme, _, token = "".join(given).partition(" ")
    if scheme.lower() == "bearer":
        return "header", token.strip()
    cookie = session_cookie(headers, ACCESS_COOKIE)
    return ("cookie", cookie) if cookie else None


class Authentication:
    """Middleware that resolves the token; endpoints refuse."""

    def __init__(
        self, app: ASGIApp, *, authenticate: Authenticate, address: Callable[[Scope], str] = lambda _scope: ""
    ) -> None:
        self.app = app
        self.authenticate = authenticate
        self.address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            scope[PRINCIPAL], scope[CREDENTIAL] = await self.resolve(scope)
        await self.app(scope, receive, send)

    async def resolve(self, scope: Scope) -> tuple[Principal | None, Credential | None]:
        """Return the caller, if the credential is valid, and the credential."""
        headers = Headers(scope=scope)
        try:
            found = presented(headers)
        except AuthenticationRequired as error:
            return None, Credential("header" if "authorization" in headers else "cookie", "", error)
        if found is None:
            return None, None
        source, token = found
        try:
            principal = await self.authenticate(token)
            address = self.address(scope) + scope["path"]
            if principal.audience is not None and not same_resource(principal.audience, address):
                raise AuthenticationRequired(
                    "The token is for another address than this one.",
                    remediation="Use it at the address for which it was issued, or authorize again for this one.",
                )
        except EngrainError as error:
            return None, Credential(source, token, error)
        return principal, Credential(source, token)


def require_principal(scope: Scope, trusted_origins: Collection[str]) -> Principal:
    principal: Principal | None = scope.get(PRINCIPAL)
    credential: Credential | None = scope.get(CREDENTIAL)
    if principal is None:
        raise (credential and credential.refusal) or AuthenticationRequired("Authentication is required.")
    if credential is not None and credential.source == "cookie":
        require_same_origin(scope, trusted_origins)
    return principal
