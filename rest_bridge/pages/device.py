"""`/device`: a person allows or denies the device login of a program."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from pydantic import JsonValue
from starlette.responses import Response
from starlette.types import Receive, Scope

from auth.principal import Principal
from rest_bridge.bodies import parse_pairs, read_form
from rest_bridge.pages.endpoint import Page
from rest_bridge.pages.layout import choice, field, hidden, login_address, render, see, text, visitor_of, way_out
from rest_bridge.prefix import public_path
from stores.errors import EngrainError, NotFound, ValidationFailed
from tools.people.device import PAGE


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
        elsewhere = login_address(scope, again=True)
        return _decision_form(visitor, waiting, organizations, self.app.clock(), elsewhere)

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        visitor = visitor_of(scope)
        if visitor is None:
            return see(login_address(scope))
        given = await read_form(scope, receive)
        if given.get("visitor") != visitor.user_id:
            # Somebody else has signed in since: whoever decides must see as whom.
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


def _code_form(user_code: str = "", alert: EngrainError | None = None) -> Response:
    more = 'class="code" maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false" autofocus'
    body = (
        "<p>Type the code that the program shows you.</p>"
        '<form method="get">'
        + field("user_code", "Code", value=user_code[:20], more=more)
        + '<button class="act">Continue</button></form>'
    )
    said = None if alert is None else f"{alert.message} {way_out(alert)}"
    return render("Let a program sign in", body, alert=said, error=alert)


def _decision_form(
    visitor: Principal, waiting: dict[str, Any], organizations: list[dict[str, Any]], now: datetime, elsewhere: str
) -> Response:
    user_code = str(waiting["user_code"])
    agent = str(waiting["user_agent"])
    body = (
        f"<p>A program that calls itself <strong>{text(str(waiting['client_name']))}</strong> asks to act as you.</p>"
        "<h2>Compare</h2><ul>"
        f'<li>It must show the code <strong class="code">{text(user_code)}</strong></li>'
        f"<li>It asked from the address <strong>{text(str(waiting['address']) or 'unknown')}</strong>"
        + (f" as {text(agent, at_most=120)}" if agent else "")
        + f"</li><li>It asked {_ago(now - datetime.fromisoformat(str(waiting['started_at'])))}</li></ul>"
        '<p class="note">Allow it only if you started it yourself just now. If somebody sent you this address or '
        "this code, deny it: whoever sent it would get into your account.</p>"
        '<form method="post">'
        + hidden("user_code", user_code)
        + hidden("visitor", visitor.user_id)
        + choice(
            (each["slug"], each["name"], each["role"], each["id"] == visitor.organization_id) for each in organizations
        )
        + '<button class="act" name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny">Deny</button></form>'
        f'<p class="soft">You are signed in as {text(visitor.user.name)} ({text(visitor.user.email)}). '
        f'<a href="{text(elsewhere, at_most=2000)}">Sign in as somebody else</a></p>'
    )
    return render("Let this program sign in?", body)


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
