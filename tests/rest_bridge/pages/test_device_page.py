"""Letting a program sign in on a page: nobody is let in without a person who saw what asks."""

import re
from typing import Any

import httpx2
import pytest

from tests.people import PASSWORD, Person, person
from tests.rest_bridge.harness import Client
from tools.app import App
from tools.people.device import GRANT_TYPE

pytestmark = pytest.mark.anyio


async def sign_in(browser: Client, who: Person) -> None:
    browser.cookies.clear()
    await browser.post("/login", data={"email": who.email, "password": PASSWORD})


async def start(browser: Client, name: str = "engrain on laptop") -> dict[str, Any]:
    answer = await browser.post("/api/auth/device", json={"client_name": name}, headers={"User-Agent": "engrain/1"})
    return dict(answer.json())


async def ask(browser: Client, device: dict[str, Any]) -> httpx2.Response:
    body = {"grant_type": GRANT_TYPE, "device_code": device["device_code"]}
    return await browser.post("/api/auth/device/token", json=body)


def form_of(page: httpx2.Response) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.text))


async def decide(browser: Client, device: dict[str, Any], decision: str, **more: Any) -> httpx2.Response:
    page = await browser.get("/device", params={"user_code": device["user_code"]})
    fields = {"user_code": device["user_code"]} | form_of(page) | {"decision": decision} | more.pop("fields", {})
    return await browser.post("/device", data=fields, **more)


async def test_the_printed_address_leads_over_login_to_the_decision(browser: Client, ann: Person) -> None:
    device = await start(browser)
    first = await browser.get(device["verification_uri_complete"])
    assert first.status_code == 303
    page = await browser.get(first.headers["location"])
    assert f'name="next" value="/device?user_code={device["user_code"]}"' in page.text
    onward = {"email": ann.email, "password": PASSWORD, "next": f"/device?user_code={device['user_code']}"}
    signed_in = await browser.post("/login", data=onward)
    shown = (await browser.get(signed_in.headers["location"])).text
    for expected in ("engrain on laptop", device["user_code"], "127.0.0.1", "engrain/1", ann.email, "Allow", "Deny"):
        assert expected in shown
    done = await decide(browser, device, "allow")
    assert (done.status_code, "The program is signed in" in done.text) == (200, True)
    assert (await ask(browser, device)).json()["user"]["id"] == ann.user_id


async def test_the_code_can_be_typed_and_a_wrong_one_is_asked_again(browser: Client, ann: Person) -> None:
    await sign_in(browser, ann)
    device = await start(browser)
    form = await browser.get("/device")
    assert '<label for="user_code">' in form.text
    typed = device["user_code"].lower().replace("-", " ")
    assert "engrain on laptop" in (await browser.get("/device", params={"user_code": typed})).text
    wrong = await browser.get("/device", params={"user_code": 'BBBB-BBBB"><b>'})
    assert (wrong.status_code, "No program waits with that code" in wrong.text) == (404, True)
    assert "<b>" not in wrong.text


async def test_denied_on_the_page_is_denied(browser: Client, ann: Person) -> None:
    await sign_in(browser, ann)
    device = await start(browser)
    form = form_of(await browser.get("/device", params={"user_code": device["user_code"]}))
    assert "turned away" in (await browser.post("/device", data=form | {"decision": "deny"})).text
    assert (await ask(browser, device)).json()["error"] == "access_denied"
    again = await browser.post("/device", data=form | {"decision": "allow"})
    assert (again.status_code, "No program waits" in again.text) == (404, True)


async def test_the_organization_is_chosen_among_the_visitors_own(browser: Client, ann: Person, app: App) -> None:
    host = await person(app, "host")
    slug = host.signed.identity.organization.slug
    app.ledger.people.add_membership(ann.user_id, host.organization_id, "viewer")
    await sign_in(browser, ann)
    device = await start(browser)
    page = (await browser.get("/device", params={"user_code": device["user_code"]})).text
    assert page.count('type="radio"') == 2
    assert page.count("checked") == 1
    await decide(browser, device, "allow", fields={"organization": slug})
    assert (await ask(browser, device)).json()["organization"]["id"] == host.organization_id

    foreign = (await person(app, "stranger")).signed.identity.organization.slug
    device = await start(browser)
    assert (await decide(browser, device, "allow", fields={"organization": foreign})).status_code == 404
    assert (await ask(browser, device)).json()["error"] == "authorization_pending"


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}],
    ids=["origin", "fetch metadata", "opaque origin"],
)
async def test_another_sites_page_decides_nothing(browser: Client, ann: Person, headers: dict[str, str]) -> None:
    await sign_in(browser, ann)
    device = await start(browser)
    for decision in ("allow", "deny"):
        assert (await decide(browser, device, decision, headers=headers)).status_code == 403
    assert (await ask(browser, device)).json()["error"] == "authorization_pending"


async def test_opening_an_address_decides_nothing(browser: Client, ann: Person) -> None:
    await sign_in(browser, ann)
    device = await start(browser)
    await browser.get("/device", params={"user_code": device["user_code"], "decision": "allow"})
    assert (await decide(browser, device, "perhaps")).status_code == 422
    assert (await ask(browser, device)).json()["error"] == "authorization_pending"


async def test_whoever_signed_in_meanwhile_is_shown_who_decides(browser: Client, ann: Person, app: App) -> None:
    await sign_in(browser, ann)
    device = await start(browser)
    form = form_of(await browser.get("/device", params={"user_code": device["user_code"]}))
    other = await person(app, "other")
    await sign_in(browser, other)
    answer = await browser.post("/device", data=form | {"decision": "allow"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/device?user_code={device['user_code']}")
    assert other.email in (await browser.get(answer.headers["location"])).text
    assert (await ask(browser, device)).json()["error"] == "authorization_pending"


async def test_only_a_sessions_cookie_decides(browser: Client, ann: Person) -> None:
    key = (await ann.call("create_api_key", name="key", scopes=["mcp", "api:read", "api:write"]))["api_key"]
    device = await start(browser)
    for headers in (
        {}, {"Authorization": f"Bearer {ann.token}"}, {"Authorization": f"Bearer {key}"},
        {"Cookie": f"engrain_access_token={key}"},
    ):  # fmt: skip
        answer = await decide(browser, device, "allow", headers=headers)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?")
    assert (await ask(browser, device)).json()["error"] == "authorization_pending"


async def test_what_a_program_calls_itself_is_text(browser: Client, ann: Person) -> None:
    await sign_in(browser, ann)
    device = await start(browser, "<script>alert(1)</script>")
    page = (await browser.get("/device", params={"user_code": device["user_code"]})).text
    assert "<script" not in page
    assert "&lt;script&gt;" in page


async def test_guesses_on_the_page_and_over_rest_share_one_limit(browser: Client, ann: Person) -> None:
    await sign_in(browser, ann)
    statuses = []
    for number in range(62):
        guess = {"user_code": "BCDF-GHJK"}
        path = "/device" if number % 2 else "/api/auth/device/verify"
        statuses.append((await browser.get(path, params=guess)).status_code)
    assert set(statuses) == {404, 429}
