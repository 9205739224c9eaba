"""Who looks at a page, and where to send somebody who has to sign in first."""

import re
from urllib.parse import quote

from starlette.responses import RedirectResponse
from starlette.types import Scope

from auth.principal import Principal
from rest_bridge.authentication import CREDENTIAL, PRINCIPAL, Credential

LOGIN_PATH = "/login"
NEXT_LIMIT = 16 * 1024
_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")
"""Visible ASCII without a backslash, which browsers read as a slash."""


def visitor_of(scope: Scope) -> Principal | None:
    """Return who is signed in by the session cookie: a header, an API key or a client's token is no visitor."""
    principal: Principal | None = scope.get(PRINCIPAL)
    credential: Credential | None = scope.get(CREDENTIAL)
    if principal is None or principal.session_id is None or credential is None or credential.source != "cookie":
        return None
    return principal


def local_path(wanted: str | None) -> str | None:
    """Return an address of this server to go on to; None for one that leads elsewhere, or none."""
    if wanted is None or len(wanted) > NEXT_LIMIT or not _PATH.fullmatch(wanted):
        return None
    return wanted


def to_login(scope: Scope) -> RedirectResponse:
    """Send a visitor to sign in and back to the address that was asked for."""
    query = scope.get("query_string", b"").decode("latin-1")
    here = scope["path"] + (f"?{query}" if query else "")
    return see(f"{LOGIN_PATH}?next={quote(here, safe='')}")


def see(address: str) -> RedirectResponse:
    """Send a browser on with a GET."""
    return RedirectResponse(address, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
