"""Layout of pages, error pages, visitors, and headers against framing, scripts and caching."""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from auth.principal import Principal
from rest_bridge.authentication import CREDENTIAL, PRINCIPAL, Credential
from rest_bridge.envelope import status_of
from rest_bridge.prefix import public_path
from rest_bridge.request_ids import REQUEST_ID
from stores.errors import EngrainError, RateLimited, ValidationFailed

_STYLE = """
:root{color-scheme:light dark;--ground:#f3f4f6;--card:#fff;--ink:#16181d;--soft:#5b6270;--line:#c9cdd6;--act:#1f4fd8;
--on-act:#fff;--bad:#a3161b;--bad-ground:#fdecec;--note:#eef2fd}
@media(prefers-color-scheme:dark){:root{--ground:#101217;--card:#1a1d24;--ink:#eceef2;--soft:#a6adbb;--line:#474d5a;
--act:#8fb0ff;--on-act:#0d1220;--bad:#ffb4b0;--bad-ground:#3a1a1b;--note:#20283b}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;justify-content:center;padding:2rem 1rem;background:var(--ground);
color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{width:100%;max-width:27rem;align-self:flex-start;background:var(--card);border:1px solid var(--line);
border-radius:14px;padding:1.5rem;margin-top:4vh;overflow-wrap:anywhere}
.brand{margin:0 0 1rem;font-weight:700;letter-spacing:.02em;color:var(--soft)}
h1{font-size:1.35rem;line-height:1.25;margin:0 0 .75rem}
h2{font-size:1rem;margin:1.25rem 0 .35rem}
p{margin:.5rem 0}
ul{margin:.35rem 0;padding-left:1.25rem}
label,legend{font-weight:600;padding:0}
fieldset{border:0;margin:1.25rem 0 0;padding:0}
fieldset label{display:flex;gap:.6rem;align-items:baseline;font-weight:400;padding:.45rem 0}
.field{margin:.9rem 0}
.field label{display:block;margin-bottom:.25rem}
input:not([type=radio]){width:100%;font:inherit;padding:.6rem .7rem;border:1px solid var(--line);border-radius:8px;
background:var(--ground);color:var(--ink)}
.code{font:600 1.3rem/1.4 ui-monospace,monospace;letter-spacing:.12em;text-transform:uppercase}
button,.button{display:block;width:100%;font:inherit;font-weight:600;padding:.7rem 1rem;border-radius:8px;
border:1px solid var(--line);background:transparent;color:var(--ink);text-align:center;text-decoration:none;
cursor:pointer;margin-top:.6rem}
button.act{background:var(--act);border-color:var(--act);color:var(--on-act)}
:focus-visible{outline:3px solid var(--act);outline-offset:2px}
.alert,.note{padding:.65rem .8rem;border-radius:8px;margin:.75rem 0}
.alert{background:var(--bad-ground);color:var(--bad)}
.note{background:var(--note)}
.soft{color:var(--soft);font-size:.9rem}
a{color:var(--act)}
.or{text-align:center;color:var(--soft);margin:1.1rem 0 .3rem}
"""
_HASH = f"'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def text(value: str, *, at_most: int = 200) -> str:
    """Escape a foreign text for content or a quoted attribute; hide control characters."""
    shown = _UNSEEN.sub(" ", value)
    return escape(shown if len(shown) <= at_most else shown[: at_most - 1] + "…", quote=True)


def render(
    title: str, body: str, *, status: int = 200, alert: str | None = None, form_targets: Iterable[str] = ()
) -> HTMLResponse:
    """Render a page; `body` is trusted HTML, `title` and `alert` are plain text.

    `form_targets` extend `form-action`, where redirects after a form may lead.
    """
    notice = f'<p class="alert" role="alert">{text(alert, at_most=500)}</p>' if alert else ""
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{text(title)} · Engrain</title><style>{_STYLE}</style></head>"
        f'<body><main><p class="brand">Engrain</p><h1>{text(title)}</h1>{notice}{body}</main></body></html>'
    )
    # A 401 has to name a scheme; browsers ask nobody for this one.
    challenge = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return HTMLResponse(html, status, {**guarding_headers(form_targets), **challenge})


def guarding_headers(form_targets: Iterable[str] = ()) -> dict[str, str]:
    """Make the headers of a page: no loading, no framing, no caching."""
    targets = " ".join(["'self'", *form_targets])
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src {_HASH}; form-action {targets}; base-uri 'none'; frame-ancestors 'none'"
        ),
        "X-Frame-Options": "DENY",
        # Not `no-referrer`: with that, browsers send `Origin: null` with our own forms.
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def field(name: str, label: str, *, kind: str = "text", value: str = "", more: str = "") -> str:
    """Make a labelled input; `more` is trusted HTML: further attributes."""
    return (
        f'<div class="field"><label for="{name}">{text(label)}</label>'
        f'<input id="{name}" name="{name}" type="{kind}" value="{text(value, at_most=2000)}" required {more}></div>'
    )


def hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value, quote=True)}">'


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
    response = render(title, body, status=status_of(error), alert=error.message)
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = retry_after(error)
    return response


def way_out(error: EngrainError) -> str:
    """Return the remediation, which of a wrong field is an example for programs."""
    return "Correct it and try again." if isinstance(error, ValidationFailed) else error.remediation


def retry_after(error: RateLimited) -> str:
    return str(getattr(error, "retry_after_s", 1))


LOGIN_PATH = "/login"
SIGN_UP_PATH = "/signup"
AGAIN = "again"
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


def login_address(scope: Scope, *, again: bool = False) -> str:
    """Return the address of the login page that leads back here; `again` asks who is signed in already, too."""
    query = scope.get("query_string", b"").decode("latin-1")
    here = public_path(scope, scope["path"]) + (f"?{query}" if query else "")
    return f"{public_path(scope, LOGIN_PATH)}?{f'{AGAIN}=1&' if again else ''}next={quote(here, safe='')}"


def see(address: str) -> RedirectResponse:
    return RedirectResponse(address, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
