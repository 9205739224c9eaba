"""Error pages."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from rest_bridge.envelope import status_of
from rest_bridge.pages.layout import render, text
from rest_bridge.request_ids import REQUEST_ID
from stores.errors import EngrainError, RateLimited


def wants_page(scope: Scope) -> bool:
    return "text/html" in Headers(scope=scope).get("accept", "").lower()


def error_page(
    error: EngrainError, scope: Scope, *, title: str = "That did not work", elsewhere: tuple[str, str] | None = None
) -> Response:
    """Show an error; `elsewhere` is a path to go on to, with its label."""
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
    return str(getattr(error, "retry_after_s", 1))
