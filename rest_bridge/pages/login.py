"""`/login`: sign in with a password or a provider."""

import re
from urllib.parse import quote

from pydantic_core import from_json
from starlette.responses import Response
from starlette.types import Receive, Scope

from auth.principal import Principal
from rest_bridge.bodies import parse_pairs, read_form
from rest_bridge.envelope import status_of
from rest_bridge.pages.endpoint import Page, cookies_of
from rest_bridge.pages.layout import (
    AGAIN,
    LOGIN_PATH,
    field,
    hidden,
    local_path,
    render,
    retry_after,
    see,
    text,
    visitor_of,
)
from rest_bridge.prefix import public_path
from stores.errors import AuthenticationRequired, Forbidden, RateLimited, ValidationFailed
from stores.ledger.external_identities import CODEHOST
from stores.records import JsonObject

_WORD = re.compile(r"[a-z_]{1,60}")


class LoginPage(Page):
    """Sign in by the operation `log_in`, and redirect to `next` on this server."""

    async def show(self, scope: Scope) -> Response:
        query = parse_pairs(scope.get("query_string", b""), "query")
        onward = local_path(query.get("next"))
        visitor = visitor_of(scope)
        failed = query.get("error", "")
        if visitor is not None and AGAIN not in query and not failed:
            return see(onward) if onward is not None else _welcome(visitor)
        return await self.form(scope, onward, query.get("email", ""), _failure(failed) if failed else None)

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        """Sign in, or show the reason with the form filled in, except for the password."""
        given = await read_form(scope, receive)
        onward = local_path(given.get("next"))
        credentials = {"email": given.get("email", ""), "password": given.get("password", "")}
        try:
            answer = await self.operations.answer("log_in", scope, dict(credentials))
        except (AuthenticationRequired, Forbidden, RateLimited, ValidationFailed) as error:
            alert = f"{error.message.rstrip('.')}. {error.remediation}"
            response = await self.form(scope, onward, credentials["email"], alert, status_of(error))
            if isinstance(error, RateLimited):
                response.headers["Retry-After"] = retry_after(error)
            return response
        response = see(onward or public_path(scope, LOGIN_PATH))
        response.raw_headers.extend(cookies_of(answer))
        return response

    async def form(
        self, scope: Scope, onward: str | None, email: str, alert: str | None = None, status: int = 200
    ) -> Response:
        ways = dict(from_json(bytes((await self.operations.answer("providers", scope, {})).body)))
        body = _password_form(onward, email) if ways["local_auth_enabled"] else ""
        if body and ways["providers"]:
            body += '<p class="or">or</p>'
        body += "".join(_provider_link(each, onward) for each in ways["providers"])
        nobody = "<p>Nobody can sign in here at present. Ask the operator of this server.</p>"
        return render("Sign in", body or nobody, status=status, alert=alert)


class Home(Page):
    """`/`: redirect to the login page."""

    methods = ("GET",)

    async def show(self, scope: Scope) -> Response:
        return see(public_path(scope, LOGIN_PATH))


def _failure(word: str) -> str:
    reason = f" ({word})" if _WORD.fullmatch(word) else ""
    return f"Signing in did not work{reason}. Try again, or choose another way."


def _password_form(onward: str | None, email: str) -> str:
    focus = "" if email else "autofocus"
    return (
        '<form method="post">'
        + (hidden("next", onward) if onward else "")
        + field("email", "E-mail", kind="email", value=email, more=f'autocomplete="username" maxlength="254" {focus}')
        + field("password", "Password", kind="password", more='autocomplete="current-password" maxlength="1024"')
        + '<button class="act">Sign in</button></form>'
    )


def _provider_link(provider: JsonObject, onward: str | None) -> str:
    address = str(provider["login_url"])
    if onward is not None:
        address += f"?{'redirect_uri' if provider['name'] == CODEHOST else 'next'}={quote(onward, safe='')}"
    label = text(str(provider["label"]))
    return f'<a class="button" href="{text(address, at_most=40_000)}">Continue with {label}</a>'


def _welcome(visitor: Principal) -> Response:
    return render(
        "You are signed in",
        f"<p>As <strong>{text(visitor.user.name)}</strong> ({text(visitor.user.email)}), in the organization "
        f"<strong>{text(visitor.organization.name)}</strong>. You can close this page.</p>"
        f'<a class="button" href="?{AGAIN}=1">Sign in as somebody else</a>',
    )
