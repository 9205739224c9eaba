"""`/login` and `/signup`: sign in with a password, a provider, or a new account."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope

from auth.principal import Principal
from rest_bridge.bodies import parse_pairs, read_form
from rest_bridge.pages.endpoint import Page
from rest_bridge.pages.layout import (
    AGAIN,
    LOGIN_PATH,
    SIGN_UP_PATH,
    field,
    hidden,
    local_path,
    render,
    see,
    text,
    visitor_of,
    way_out,
)
from rest_bridge.prefix import public_path
from stores.errors import AuthenticationRequired, Conflict, Forbidden, RateLimited, ValidationFailed
from stores.ledger.external_identities import CODEHOST
from stores.records import JsonObject

_WORD = re.compile(r"[a-z_]{1,60}")


class LoginPage(Page):
    title, operation = "Sign in", "log_in"
    fields: tuple[str, ...] = ("email", "password")

    async def show(self, scope: Scope) -> Response:
        query = parse_pairs(scope.get("query_string", b""), "query")
        onward = local_path(query.get("next"))
        visitor = visitor_of(scope)
        failed = query.get("error", "")
        if visitor is not None and AGAIN not in query and not failed:
            return see(onward) if onward is not None else _welcome(visitor)
        reason = f" ({failed})" if _WORD.fullmatch(failed) else ""
        alert = f"Signing in did not work{reason}. Try again, or choose another way." if failed else None
        return render(self.title, await self.body(scope, onward, query), alert=alert)

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        given = await read_form(scope, receive)
        onward, endpoint = local_path(given.get("next")), self.endpoints[self.operation]
        try:
            outcome = await endpoint.call(scope, {name: given.get(name, "") for name in self.fields})
        except (AuthenticationRequired, Conflict, Forbidden, RateLimited, ValidationFailed) as error:
            alert = f"{error.message.rstrip('.')}. {way_out(error)}"
            return render(self.title, await self.body(scope, onward, given), alert=alert, error=error)
        response = see(onward or public_path(scope, LOGIN_PATH))
        endpoint.keep_session(response, scope, outcome)
        return response

    async def body(self, scope: Scope, onward: str | None, typed: Mapping[str, str]) -> str:
        ways: dict[str, Any] = (await self.endpoints["providers"].call(scope, {})).body()
        body = _form(self.fields, onward, typed, "Sign in") if ways["local_auth_enabled"] else ""
        if self.offers_sign_up:
            body += f'<p class="soft">No account yet? {_link(SIGN_UP_PATH, onward, "Create one")}</p>'
        if body and ways["providers"]:
            body += '<p class="or">or</p>'
        body += "".join(_provider_link(each, onward) for each in ways["providers"])
        return body or "<p>Nobody can sign in here at present. Ask the operator of this server.</p>"

    @property
    def offers_sign_up(self) -> bool:
        return self.app.settings.local_auth_enabled and self.app.settings.signup_enabled


class SignUpPage(LoginPage):
    title, operation = "Create an account", "sign_up"
    fields = ("name", "email", "password")

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        if not self.offers_sign_up:
            return see(public_path(scope, LOGIN_PATH))
        return await super().answer(scope, receive)

    async def body(self, _scope: Scope, onward: str | None, typed: Mapping[str, str]) -> str:
        body = _form(self.fields, onward, typed, "Create account")
        return body + f'<p class="soft">You have an account? {_link(LOGIN_PATH, onward, "Sign in")}</p>'


_FIELDS = {
    "name": ("Name", "text", 'autocomplete="name" maxlength="255"'),
    "email": ("E-mail", "email", 'autocomplete="username" maxlength="254"'),
    "password": ("Password", "password", 'autocomplete="{}-password" maxlength="1024"'),
}


def _form(names: Sequence[str], onward: str | None, typed: Mapping[str, str], button: str) -> str:
    whose = "new" if "name" in names else "current"
    inputs = [hidden("next", onward) if onward else ""]
    for name in names:
        label, kind, more = _FIELDS[name]
        value = "" if name == "password" else typed.get(name, "")
        focus = "" if value or name != names[0] else " autofocus"
        inputs.append(field(name, label, kind=kind, value=value, more=more.format(whose) + focus))
    return f'<form method="post">{"".join(inputs)}<button class="act">{button}</button></form>'


def _link(path: str, onward: str | None, label: str) -> str:
    query = f"?next={quote(onward, safe='')}" if onward else ""
    return f'<a href="{text(path.removeprefix("/") + query, at_most=40_000)}">{label}</a>'


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
