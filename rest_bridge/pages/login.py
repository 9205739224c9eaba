"""Pages: base class, `/login` and `/signup`, and `/device`, where a person lets a program sign in."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import JsonValue
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from auth.principal import Principal
from rest_bridge.authentication import require_same_origin
from rest_bridge.bodies import parse_pairs, read_form
from rest_bridge.envelope import REFUSE
from rest_bridge.mcp_discovery import public_path
from rest_bridge.pages.layout import (
    AGAIN,
    LOGIN_PATH,
    SIGN_UP_PATH,
    decision,
    error_page,
    field,
    hidden,
    local_path,
    login_address,
    render,
    see,
    text,
    visitor_of,
    way_out,
)
from rest_bridge.routes import Endpoint
from stores.errors import AuthenticationRequired, Conflict, Forbidden, NotFound, RateLimited, ValidationFailed
from stores.ledger import CODEHOST
from stores.records import JsonObject
from tools.app import App
from tools.people.device import PAGE


class Page:
    def __init__(self, app: App, endpoints: Mapping[str, Endpoint]) -> None:
        self.app = app
        self.endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[REFUSE] = error_page
        response = await self.answer(scope, receive)
        await response(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "POST":
            return await self.show(scope)
        require_same_origin(scope, ())
        return await self.submit(scope, receive)

    async def show(self, scope: Scope) -> Response:
        raise NotImplementedError

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        """Answer POST from this server's own page, or from no browser."""
        raise NotImplementedError


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
        return body or "<p>This server has no way to sign in. Ask its operator.</p>"

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
        f'<a class="button" href="?{AGAIN}=1">Sign in as another user</a>',
    )


class DevicePage(Page):
    async def show(self, scope: Scope) -> Response:
        visitor = visitor_of(scope)
        if visitor is None:
            return see(login_address(scope))
        user_code = parse_pairs(scope.get("query_string", b""), "query").get("user_code", "")
        if not user_code:
            return _code_form()
        try:
            waiting = await self.body_of("describe_device", scope, user_code=user_code)
        except (NotFound, ValidationFailed) as error:
            return _code_form(user_code, error)
        organizations = (await self.body_of("list_organizations", scope))["orgs"]
        shown = (
            (each["slug"], each["name"], each["role"], each["id"] == visitor.organization_id) for each in organizations
        )
        form = decision(scope, visitor, shown, user_code=str(waiting["user_code"]), visitor=visitor.user_id)
        return render("Let this program sign in?", _asking(waiting, self.app.clock()) + form)

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        visitor = visitor_of(scope)
        if visitor is None:
            return see(login_address(scope))
        given = await read_form(scope, receive)
        if given.get("visitor") != visitor.user_id:
            # Another user has signed in since: the page must show as whom the visitor decides.
            return see(f"{public_path(scope, PAGE)}?{urlencode({'user_code': given.get('user_code', '')})}")
        if given.get("decision") not in ("allow", "deny"):
            raise ValidationFailed("Neither Allow nor Deny was chosen.", details={"field": "form.decision"})
        try:
            decided = await self.body_of(
                "decide_device",
                scope,
                user_code=given.get("user_code", ""),
                approve=given["decision"] == "allow",
                organization=given.get("organization"),
            )
        except NotFound as error:
            return _code_form(alert=error)
        return _done(decided)

    async def body_of(self, operation: str, scope: Scope, **fields: JsonValue) -> dict[str, Any]:
        return (await self.endpoints[operation].call(scope, fields)).body()


def _code_form(user_code: str = "", alert: NotFound | ValidationFailed | None = None) -> Response:
    more = 'class="code" maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false" autofocus'
    body = (
        "<p>Type the code that the program shows you.</p>"
        '<form method="get">'
        + field("user_code", "Code", value=user_code[:20], more=more)
        + '<button class="act">Continue</button></form>'
    )
    said = None if alert is None else f"{alert.message} {way_out(alert)}"
    return render("Let a program sign in", body, alert=said, error=alert)


def _asking(waiting: dict[str, Any], now: datetime) -> str:
    agent = str(waiting["user_agent"])
    return (
        f"<p>A program that calls itself <strong>{text(str(waiting['client_name']))}</strong> asks to act as you.</p>"
        "<h2>Compare</h2><ul>"
        f'<li>It must show the code <strong class="code">{text(str(waiting["user_code"]))}</strong></li>'
        f"<li>It asked from the address <strong>{text(str(waiting['address']) or 'unknown')}</strong>"
        + (f" as {text(agent, at_most=120)}" if agent else "")
        + f"</li><li>It asked {_ago(now - datetime.fromisoformat(str(waiting['started_at'])))}</li></ul>"
        '<p class="note">Allow it only if you started it yourself just now. If somebody sent you this address or '
        "this code, deny it: whoever sent it would get into your account.</p>"
    )


def _done(decided: dict[str, Any]) -> Response:
    name = f"<strong>{text(str(decided['client_name']))}</strong>"
    if not decided["approved"]:
        return render("The program was turned away", f"<p>{name} gets no access. You can close this page.</p>")
    organization = f"<strong>{text(str(decided['organization']['name']))}</strong>"
    return render(
        "The program is signed in",
        f"<p>{name} acts as you in {organization} from now on. You can close this page and go back to it.</p>"
        '<p class="soft">It shows in the list of your sessions, where you can end it.</p>',
    )


def _ago(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    if minutes < 1:
        return "less than a minute ago"
    return "one minute ago" if minutes == 1 else f"{minutes} minutes ago"
