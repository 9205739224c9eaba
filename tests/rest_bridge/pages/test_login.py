"""Signing in on a page: the same checks as over REST, and no way out to another site."""

import html
import json
import re
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from rest_bridge.application import build_asgi
from rest_bridge.bodies import FORM_LIMIT
from tests.people import PASSWORD, Person
from tests.rest_bridge.harness import Client, client_of, opened, settings_at
from tests.rest_bridge.oauth.flow import hidden_field
from tools.app import App
from tools.runtime.settings import read_settings

pytestmark = pytest.mark.anyio

SECRET = "engrain_access_token"


async def sign_in(browser: Client, email: str, password: str = PASSWORD, **more: str) -> httpx2.Response:
    return await browser.post("/login", data={"email": email, "password": password, **more})


async def test_the_page_asks_and_nothing_may_frame_script_or_keep_it(browser: Client) -> None:
    page = await browser.get("/login")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["cache-control"] == "no-store"
    assert '<label for="email">' in page.text
    assert '<label for="password">' in page.text
    assert "<script" not in page.text
    assert "http" not in page.text.replace("http-equiv", "")


async def test_a_password_signs_in_and_leads_on(browser: Client, ann: Person) -> None:
    onward = "/authorize?client_id=a&state=%2F%2Fx"
    page = await browser.get("/login", params={"next": onward})
    assert 'name="next" value="/authorize?client_id=a&amp;state=%2F%2Fx"' in page.text
    answer = await sign_in(browser, ann.email, next=onward)
    assert answer.status_code == 303
    assert answer.headers["location"] == onward
    cookies = answer.headers.get_list("set-cookie")
    assert all("HttpOnly" in each and "SameSite=Lax" in each for each in cookies)
    assert {each.partition("=")[0] for each in cookies} == {SECRET, "engrain_refresh_token"}
    assert (await browser.get("/api/auth/me")).json()["user"]["id"] == ann.user_id


async def test_who_has_no_account_makes_one_and_goes_on(browser: Client, tmp_path: Path) -> None:
    onward = "/authorize?client_id=a&state=%2Fx"
    offered = re.search(r'href="(signup[^"]*)"', (await browser.get("/login", params={"next": onward})).text)
    assert offered is not None
    page = await browser.get(f"/{html.unescape(offered[1])}")
    form = {"name": "Nia <b>", "email": "nia@example.org", "password": "short", "next": hidden_field(page, "next")}
    refused = await browser.post(page.url, data=form)
    assert (refused.status_code, "Nia &lt;b&gt;" in refused.text, "short" in refused.text) == (422, True, False)
    [alert] = re.findall(r'role="alert">([^<]*)<', refused.text)
    assert html.unescape(alert) == "password: String should have at least 8 characters. Correct it and try again."
    answer = await browser.post(page.url, data={**form, "password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (303, onward)
    assert (await browser.get("/api/auth/me")).json()["user"]["email"] == "nia@example.org"
    browser.cookies.clear()
    assert (await browser.post(page.url, data={**form, "password": PASSWORD})).status_code == 409
    async with opened(settings_at(tmp_path, signup_enabled=False)) as app, client_of(build_asgi(app)) as closed:
        assert "signup" not in (await closed.get("/login")).text
        assert (await closed.get("/signup")).headers["location"] == "/login"
        assert (await closed.post("/signup", data={**form, "password": PASSWORD})).status_code == 303
        assert (await closed.post("/login", data={**form, "password": PASSWORD})).status_code == 401


async def test_who_is_signed_in_goes_on_at_once_or_is_named(browser: Client, ann: Person) -> None:
    await sign_in(browser, ann.email)
    answer = await browser.get("/login", params={"next": "/authorize?x=1"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/authorize?x=1")
    assert ann.email in (await browser.get("/login")).text
    assert 'name="password"' in (await browser.get("/login", params={"again": "1"})).text


async def test_only_a_sessions_cookie_counts_as_signed_in(browser: Client, ann: Person) -> None:
    created = await ann.call("create_api_key", name="key", scopes=["mcp", "api:write"])
    for headers in (
        {"Authorization": f"Bearer {ann.token}"}, {"Authorization": f"Bearer {created['api_key']}"},
        {"Cookie": f"{SECRET}={created['api_key']}"}, {"Cookie": f"{SECRET}=x.y.z"},
    ):  # fmt: skip
        assert 'name="password"' in (await browser.get("/login", headers=headers)).text


async def test_a_wrong_password_and_an_unknown_address_read_the_same(browser: Client, ann: Person) -> None:
    wrong = await sign_in(browser, ann.email, "not the password")
    unknown = await sign_in(browser, "nobody@example.org")
    assert wrong.status_code == unknown.status_code == 401
    assert "Invalid credentials" in wrong.text
    assert wrong.text.replace(ann.email, "x") == unknown.text.replace("nobody@example.org", "x")
    assert not wrong.headers.get_list("set-cookie")


@pytest.mark.parametrize(
    "onward",
    [
        "https://evil.example/", "//evil.example/", "/\\evil.example/", "\\\\evil.example", "javascript:alert(1)",
        "/\t/evil.example", "/ok\r\nSet-Cookie: a=b", "evil.example", "/" + "a" * 20_000,
    ],
)  # fmt: skip
async def test_login_leads_nowhere_else(browser: Client, ann: Person, onward: str) -> None:
    page = await browser.get(f"/login?next={quote(onward, safe='')}")
    assert page.status_code == 200
    assert 'name="next"' not in page.text
    answer = await sign_in(browser, ann.email, next=onward)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    again = await browser.get(f"/login?next={quote(onward, safe='')}")
    assert (again.status_code, "You are signed in" in again.text) == (200, True)


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}],
    ids=["origin", "fetch metadata", "opaque origin"],
)
async def test_another_site_cannot_sign_a_visitor_in(browser: Client, ann: Person, headers: dict[str, str]) -> None:
    answer = await browser.post("/login", data={"email": ann.email, "password": PASSWORD}, headers=headers)
    assert answer.status_code == 403
    assert not answer.headers.get_list("set-cookie")
    assert answer.headers["content-type"].startswith("text/html")


async def test_the_page_and_the_route_share_one_limit(browser: Client, ann: Person) -> None:
    for _ in range(3):
        assert (await sign_in(browser, ann.email, "wrong")).status_code == 401
    wrong = {"email": ann.email, "password": "wrong"}
    statuses = [(await browser.post("/api/auth/local/login", json=wrong)).status_code for _ in range(3)]
    assert statuses == [401, 401, 429]
    refused = await sign_in(browser, ann.email)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert not refused.headers.get_list("set-cookie")


async def test_what_was_typed_comes_back_as_text_only(browser: Client, app: App) -> None:
    answer = await sign_in(browser, '"><script>alert(1)</script>@x')
    assert answer.status_code in (401, 422)
    assert "<script" not in answer.text
    assert "&lt;script&gt;" in answer.text


async def test_another_way_of_signing_in_keeps_the_way_on_and_says_when_it_failed(tmp_path: Path) -> None:
    provider = {
        "name": "acme", "issuer": "https://id.acme.example", "client_id": "engrain",
        "client_secret_env": "ACME_SECRET", "organization_slug": "acme",
    }  # fmt: skip
    settings = read_settings(
        {
            "ENGRAIN_DATA_DIR": str(tmp_path),
            "ENGRAIN_EMBEDDING_PROVIDER": "none",
            "ENGRAIN_LOCAL_AUTH_ENABLED": "false",
            "ACME_SECRET": "s",
            "ENGRAIN_OIDC": json.dumps({"providers": [provider]}),
            "ENGRAIN_CODEHOST_CLIENT_ID": "id",
            "ENGRAIN_CODEHOST_CLIENT_SECRET": "secret",
            **{
                f"ENGRAIN_CODEHOST_{name}_URL": f"https://code.example/{name.lower()}"
                for name in ("AUTHORIZE", "TOKEN", "API")
            },
        }
    )[0]
    async with opened(settings) as app, client_of(build_asgi(app)) as browser:
        page = await browser.get("/login", params={"next": "/authorize?a=b&c=d"})
        onward = quote("/authorize?a=b&c=d", safe="")
        assert f'href="/api/auth/oidc/acme/login?next={onward}"' in page.text
        assert f'href="/api/auth/codehost?redirect_uri={onward}"' in page.text
        assert "password" not in page.text
        failed = await browser.get("/login", params={"next": "/authorize", "error": "login_required"})
        assert "did not work (login_required)" in failed.text
        odd = await browser.get("/login", params={"error": "Call 555 now"})
        assert "did not work. Try" in odd.text


async def test_the_root_leads_to_signing_in(browser: Client) -> None:
    assert (await browser.get("/")).headers["location"] == "/login"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"email=a&email=b", "application/x-www-form-urlencoded", 422),
        (b"email=%ff", "application/x-www-form-urlencoded", 422),
        (b"{}", "application/json", 415),
        (b"a=" + b"x" * FORM_LIMIT, "application/x-www-form-urlencoded", 413),
        (b"", "application/x-www-form-urlencoded", 422),
        (b"email=a%00b%40example.org&password=x", "application/x-www-form-urlencoded", 422),
    ],
    ids=["a field twice", "no UTF-8", "JSON", "too large", "empty", "NUL"],
)
async def test_a_form_that_is_none_is_refused(browser: Client, body: bytes, kind: str, status: int) -> None:
    answer = await browser.post("/login", content=body, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
