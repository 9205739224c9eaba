"""Session cookies, and protection against cross-site requests."""

from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import Scope

from stores.errors import AuthenticationRequired, Forbidden
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
