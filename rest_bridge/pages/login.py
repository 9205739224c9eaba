"""`/login` and `/signup`: sign in with a password, a provider, or a new account."""

import re
from collections.abc import Mapping, Sequence
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
    SIGN_UP_PATH,
    field,
    hidden,
    local_path,
    render,
    retry_after,
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
    operation = "log_in"
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
        return await self.form(scope, onward, query, alert)

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        given = await read_form(scope, receive)
        onward = local_path(given.get("next"))
        try:
            filled = {name: given.get(name, "") for name in self.fields}
            answer = await self.operations.answer(self.operation, scope, filled)
        except (AuthenticationRequired, Conflict, Forbidden, RateLimited, ValidationFailed) as error:
            alert = f"{error.message.rstrip('.')}. {way_out(error)}"
            response = await self.form(scope, onward, given, alert, status_of(error))
            if isinstance(error, RateLimited):
                response.headers["Retry-After"] = retry_after(error)
            return response
        response = see(onward or public_path(scope, LOGIN_PATH))
        response.raw_headers.extend(cookies_of(answer))
        return response

    async def form(
        self, scope: Scope, onward: str | None, typed: Mapping[str, str], alert: str | None = None, status: int = 200
    ) -> Response:
        ways = dict(from_json(bytes((await self.operations.answer("providers", scope, {})).body)))
        body = _form(self.fields, onward, typed, "Sign in") if ways["local_auth_enabled"] else ""
        if self.offers_sign_up:
            body += f'<p class="soft">No account yet? {_link(SIGN_UP_PATH, onward, "Create one")}</p>'
        if body and ways["providers"]:
            body += '<p class="or">or</p>'
        body += "".join(_provider_link(each, onward) for each in ways["providers"])
        nobody = "<p>Nobody can sign in here at present. Ask the operator of this server.</p>"
        return render("Sign in", body or nobody, status=status, alert=alert)

    @property
    def offers_sign_up(self) -> bool:
        return self.app.settings.local_auth_enabled and self.app.settings.signup_enabled


class SignUpPage(LoginPage):
    operation = "sign_up"
    fields = ("name", "email", "password")

    async def form(
        self, scope: Scope, onward: str | None, typed: Mapping[str, str], alert: str | None = None, status: int = 200
    ) -> Response:
        if not self.offers_sign_up:
            return see(public_path(scope, LOGIN_PATH))
        body = _form(self.fields, onward, typed, "Create account")
        body += f'<p class="soft">You have an account? {_link(LOGIN_PATH, onward, "Sign in")}</p>'
        return render("Create an account", body, status=status, alert=alert)


class Home(Page):
    """`/`: redirect to the login page."""

    methods = ("GET",)

    async def show(self, scope: Scope) -> Response:
        return see(public_path(scope, LOGIN_PATH))


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
