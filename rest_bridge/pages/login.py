"""`/login`: signing in with e-mail and password or somebody else's word, and going on to where one came from."""

from urllib.parse import quote

from pydantic_core import from_json
from starlette.responses import Response
from starlette.types import Receive, Scope

from auth.principal import Principal
from rest_bridge.envelope import status_of
from rest_bridge.pages.endpoint import Page, retry_after
from rest_bridge.pages.forms import parse_pairs, read_form
from rest_bridge.pages.layout import field, hidden, render, text
from rest_bridge.pages.operations import cookies_of
from rest_bridge.pages.visitors import LOGIN_PATH, local_path, see, visitor_of
from stores.errors import AuthenticationRequired, EngrainError, Forbidden, RateLimited, ValidationFailed
from stores.records import JsonObject

AGAIN = "again"
"""Query parameter: ask for the password although somebody is signed in."""


class LoginPage(Page):
    """Signs a person in by the operation `log_in` and goes on to `next`, an address of this server."""

    async def show(self, scope: Scope) -> Response:
        """Ask who it is, unless that is known."""
        query = parse_pairs(scope.get("query_string", b""), "query")
        onward = local_path(query.get("next"))
        visitor = visitor_of(scope)
        if visitor is not None and AGAIN not in query:
            return see(onward) if onward is not None else _welcome(visitor)
        return await self.form(scope, onward, query.get("email", ""))

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        """Sign in, or say why not; what was typed stays, but for the password."""
        given = await read_form(scope, receive)
        onward = local_path(given.get("next"))
        credentials = {"email": given.get("email", ""), "password": given.get("password", "")}
        try:
            answer = await self.operations.answer("log_in", scope, dict(credentials))
        except (AuthenticationRequired, Forbidden, RateLimited, ValidationFailed) as error:
            response = await self.form(scope, onward, credentials["email"], error)
            if isinstance(error, RateLimited):
                response.headers["Retry-After"] = retry_after(error)
            return response
        response = see(onward or LOGIN_PATH)
        response.raw_headers.extend(cookies_of(answer))
        return response

    async def form(self, scope: Scope, onward: str | None, email: str, refused: EngrainError | None = None) -> Response:
        """Make the page that asks."""
        ways = dict(from_json(bytes((await self.operations.answer("providers", scope, {})).body)))
        body = _password_form(onward, email) if ways["local_auth_enabled"] else ""
        if body and ways["providers"]:
            body += '<p class="or">or</p>'
        body += "".join(_provider_link(each, onward) for each in ways["providers"])
        alert = f"{refused.message.rstrip('.')}. {refused.remediation}" if refused else None
        return render(
            "Sign in",
            body or "<p>Nobody can sign in here at present. Ask the operator of this server.</p>",
            status=status_of(refused) if refused else 200,
            alert=alert,
        )


def _password_form(onward: str | None, email: str) -> str:
    focus = "" if email else "autofocus"
    return (
        f'<form method="post" action="{LOGIN_PATH}">'
        + (hidden("next", onward) if onward else "")
        + field("email", "E-mail", kind="email", value=email, more=f'autocomplete="username" maxlength="254" {focus}')
        + field("password", "Password", kind="password", more='autocomplete="current-password" maxlength="1024"')
        + '<button class="act">Sign in</button></form>'
    )


def _provider_link(provider: JsonObject, onward: str | None) -> str:
    address = str(provider["login_url"])
    if onward is not None:
        address += f"{'&' if '?' in address else '?'}next={quote(onward, safe='')}"
    label = text(str(provider["label"]))
    return f'<a class="button" href="{text(address, at_most=40_000)}">Continue with {label}</a>'


def _welcome(visitor: Principal) -> Response:
    return render(
        "You are signed in",
        f"<p>As <strong>{text(visitor.user.name)}</strong> ({text(visitor.user.email)}), in the organization "
        f"<strong>{text(visitor.organization.name)}</strong>. You can close this page.</p>"
        f'<a class="button" href="{LOGIN_PATH}?{AGAIN}=1">Sign in as somebody else</a>',
    )
