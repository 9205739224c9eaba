"""Layout of pages, error pages, visitors, and headers against framing, scripts and caching."""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from auth.origin import REQUEST_ID
from auth.principal import Principal
from rest_bridge.authentication import CREDENTIAL, PRINCIPAL, Credential
from rest_bridge.envelope import headers_of, status_of
from rest_bridge.mcp_discovery import public_path
from stores.errors import EngrainError, ValidationFailed
from tools.text.plain import one_line

_STYLE = Path(__file__).with_name("style.css").read_text()
_HASH = f"'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"


def text(value: str, *, at_most: int = 200) -> str:
    """Escape a foreign text for content or a quoted attribute, as one line without control characters."""
    return escape(one_line(value, at_most), quote=True)


def render(
    title: str,
    body: str,
    *,
    alert: str | None = None,
    error: EngrainError | None = None,
    form_targets: Iterable[str] = (),
) -> HTMLResponse:
    """Render a page; `body` is trusted HTML, `title` and `alert` are plain text. An `error` gives status and headers.

    `form_targets` extend `form-action`, where redirects after a form may lead.
    """
    notice = f'<p class="alert" role="alert">{text(alert, at_most=500)}</p>' if alert else ""
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{text(title)} · Engrain</title><style>{_STYLE}</style></head>"
        f'<body><main><p class="brand">Engrain</p><h1>{text(title)}</h1>{notice}{body}</main></body></html>'
    )
    targets = " ".join(["'self'", *form_targets])
    guarding = {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src {_HASH}; form-action {targets}; base-uri 'none'; frame-ancestors 'none'"
        ),
        "X-Frame-Options": "DENY",
        # Not `no-referrer`: with that, browsers send `Origin: null` with our own forms.
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
    if error is None:
        return HTMLResponse(html, headers=guarding)
    # Browsers do not ask for a password of the scheme that a 401 names.
    return HTMLResponse(html, status_of(error), headers_of(error) | guarding)


def field(name: str, label: str, *, kind: str = "text", value: str = "", more: str = "") -> str:
    """Make a labelled input; `more` is trusted HTML: further attributes."""
    return (
        f'<div class="field"><label for="{name}">{text(label)}</label>'
        f'<input id="{name}" name="{name}" type="{kind}" value="{text(value, at_most=2000)}" required {more}></div>'
    )


def hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value, quote=True)}">'


def decision(
    scope: Scope, visitor: Principal, organizations: Iterable[tuple[str, str, str, bool]], /, **kept: str
) -> str:
    """Make the form in which a visitor allows or denies something in an organization; `kept` are hidden fields.

    Organizations are value, name, role, and whether it is chosen.
    """
    options = "".join(
        f'<label><input type="radio" name="organization" value="{escape(value, quote=True)}" required'
        f"{' checked' if is_chosen else ''}><span>{text(name)} "
        f'<span class="soft">as {text(role)}</span></span></label>'
        for value, name, role, is_chosen in organizations
    )
    return (
        f'<form method="post">{"".join(hidden(name, value) for name, value in kept.items())}'
        f"<fieldset><legend>In the organization</legend>{options}</fieldset>"
        '<button class="act" name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny">Deny</button></form>'
        f'<p class="soft">You are signed in as {text(visitor.user.name)} ({text(visitor.user.email)}). '
        f'<a href="{escape(login_address(scope, again=True))}">Sign in as another user</a></p>'
    )


def wants_page(scope: Scope) -> bool:
    return "text/html" in Headers(scope=scope).get("accept", "").lower()


def error_page(
    error: EngrainError, scope: Scope, *, title: str = "That did not work", elsewhere: tuple[str, str] | None = None
) -> Response:
    """Show an error; `elsewhere` is a path to go on to, with its label."""
    way_on = f'<p><a class="button" href="{text(elsewhere[0])}">{text(elsewhere[1])}</a></p>' if elsewhere else ""
    body = (
        f"<p>{text(way_out(error), at_most=500)}</p>{way_on}"
        f'<p class="soft">Reference for the operator: {text(scope.get(REQUEST_ID, ""))}</p>'
    )
    return render(title, body, alert=error.message, error=error)


def way_out(error: EngrainError) -> str:
    """Return the remediation, which of a wrong field is an example for programs."""
    return "Correct it and try again." if isinstance(error, ValidationFailed) else error.remediation


LOGIN_PATH = "/login"
SIGN_UP_PATH = "/signup"
AGAIN = "again"
NEXT_LIMIT = 16 * 1024
# Visible ASCII without a backslash, which browsers read as a slash.
_PATH = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")


def visitor_of(scope: Scope) -> Principal | None:
    """Return the caller of the session cookie; other credentials are ignored."""
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


def login_address(scope: Scope, *, again: bool = False) -> str:
    """Return the address of the login page that leads back here; `again` asks who is signed in already, too."""
    query = scope.get("query_string", b"").decode("latin-1")
    here = public_path(scope, scope["path"]) + (f"?{query}" if query else "")
    return f"{public_path(scope, LOGIN_PATH)}?{f'{AGAIN}=1&' if again else ''}next={quote(here, safe='')}"


def see(address: str) -> RedirectResponse:
    return RedirectResponse(address, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
