"""Visitors of pages, and redirects to the login."""

import re
from urllib.parse import quote

from starlette.responses import RedirectResponse
from starlette.types import Scope

from auth.principal import Principal
from rest_bridge.authentication import CREDENTIAL, PRINCIPAL, Credential

LOGIN_PATH = "/login"
NEXT_LIMIT = 16 * 1024
# Visible ASCII without a backslash, which browsers read as a slash.
_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")


def visitor_of(scope: Scope) -> Principal | None:
    """Return the caller of the session cookie; other credentials are no visitor's."""
    principal: Principal | None = scope.get(PRINCIPAL)
    credential: Credential | None = scope.get(CREDENTIAL)
    if principal is None or principal.session_id is None or credential is None or credential.source != "cookie":
        return None
    return principal


def local_path(wanted: str | None) -> str | None:
    """Return a path of this server to go on to; None for any other."""
    if wanted is None or len(wanted) > NEXT_LIMIT or not _PATH.fullmatch(wanted):
        return None
    return wanted


def to_login(scope: Scope) -> RedirectResponse:
    """Redirect to the login page, and back here afterwards."""
    query = scope.get("query_string", b"").decode("latin-1")
    here = scope["path"] + (f"?{query}" if query else "")
    return see(f"{LOGIN_PATH}?next={quote(here, safe='')}")


def see(address: str) -> RedirectResponse:
    return RedirectResponse(address, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
