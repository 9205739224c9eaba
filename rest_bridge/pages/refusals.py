"""Error pages."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from rest_bridge.envelope import status_of
from rest_bridge.pages.layout import render, text
from rest_bridge.request_ids import REQUEST_ID
from stores.errors import EngrainError, RateLimited


def wants_page(scope: Scope) -> bool:
    """Return whether a browser, rather than a program, asks."""
    return "text/html" in Headers(scope=scope).get("accept", "").lower()


def error_page(
    error: EngrainError, scope: Scope, *, title: str = "That did not work", elsewhere: tuple[str, str] | None = None
) -> Response:
    """Show an error with its remediation.

    `elsewhere` is a way on: a path of this server and what it is called.
    """
    way_on = f'<p><a class="button" href="{text(elsewhere[0])}">{text(elsewhere[1])}</a></p>' if elsewhere else ""
    body = (
        f"<p>{text(error.remediation, at_most=500)}</p>{way_on}"
        f'<p class="soft">Reference for the operator: {text(scope.get(REQUEST_ID, ""))}</p>'
    )
    response = render(title, body, status=status_of(error), alert=error.message)
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = retry_after(error)
    return response


def retry_after(error: RateLimited) -> str:
    """Return the seconds until the next try."""
    return str(getattr(error, "retry_after_s", 1))
