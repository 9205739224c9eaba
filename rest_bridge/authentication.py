"""Authentication of each request, once; the caller is stored in the scope."""

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from auth.grants import same_resource
from auth.principal import Principal
from stores.errors import AuthenticationRequired, EngrainError, Forbidden
from stores.records import JsonObject
from tools.frame.operation import ACCESS_COOKIE, REFRESH_COOKIE, Cookie

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def session_cookie(headers: Headers, name: str) -> str | None:
    """Return a session cookie; refuse several values, because another host of the domain can plant one."""
    chunks = (chunk for line in headers.getlist("cookie") for chunk in line.split(";") if name in chunk)
    values = {value for chunk in chunks if (value := cookie_parser(chunk).get(name))}
    if len(values) > 1:
        raise AuthenticationRequired(
            f"The cookie {name} came with several values.", remediation="Delete this site's cookies and log in again."
        )
    return values.pop() if values else None


def session_cookies(body: JsonObject, seconds_left: Callable[[str], int]) -> list[Cookie]:
    """Return the cookies that keep the tokens of an answer."""
    tokens = ((ACCESS_COOKIE, body.get("access_token")), (REFRESH_COOKIE, body.get("refresh_token")))
    return [
        Cookie(name=name, value=each, lifetime_s=seconds_left(each)) for name, each in tokens if isinstance(each, str)
    ]


def set_cookies(response: Response, cookies: Iterable[Cookie], *, secure: bool = False) -> None:
    for each in cookies:
        response.set_cookie(each.name, each.value, each.lifetime_s, secure=secure, httponly=True)


def clear_session(response: Response) -> None:
    set_cookies(response, [Cookie(name=name, value="", lifetime_s=0) for name in (ACCESS_COOKIE, REFRESH_COOKIE)])


def require_same_origin(scope: Scope, trusted: Collection[str]) -> None:
    """Refuse cross-site requests with the visitor's cookie (CSRF).

    The rules are those of Go's `http.CrossOriginProtection`; requests without `Sec-Fetch-Site` and `Origin` are
    not from browsers.
    """
    if scope.get("method", "GET") in SAFE_METHODS and scope["type"] == "http":
        return
    headers = Headers(scope=scope)
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    is_ours = site is not None or origin is None or urlsplit(origin).netloc == headers.get("host")
    if origin in trusted or ((site or "none") in ("same-origin", "none") and is_ours):
        return
    raise Forbidden(
        "This request comes from another site and carries only the session cookie.",
        code="cross_origin_refused",
        remediation="Send the access token as a bearer token, or add the page's origin to ENGRAIN_CORS_ORIGINS.",
    )


PRINCIPAL = "engrain.principal"
"""Scope key of the caller, or None. Never a context variable: those leak between requests of one connection."""
CREDENTIAL = "engrain.credential"

Authenticate = Callable[[str], Awaitable[Principal]]
CredentialSource = Literal["header", "cookie"]


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential of a request, with the reason if it was refused."""

    source: CredentialSource
    token: str
    refusal: EngrainError | None = None


def presented(headers: Headers) -> tuple[CredentialSource, str] | None:
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

    def __init__(self, app: ASGIApp, *, authenticate: Authenticate, address: Callable[[Scope], str]) -> None:
        self.app = app
        self.authenticate = authenticate
        self.address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            scope[PRINCIPAL], scope[CREDENTIAL] = await self.resolve(scope)
        await self.app(scope, receive, send)

    async def resolve(self, scope: Scope) -> tuple[Principal | None, Credential | None]:
        headers = Headers(scope=scope)
        source: CredentialSource = "header" if "authorization" in headers else "cookie"
        token = ""
        try:
            if (found := presented(headers)) is None:
                return None, None
            source, token = found
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
