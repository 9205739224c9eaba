"""Signing in by a code host: the account that comes of it, and what the code host may not do."""

import re
import uuid
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rest_bridge.application import build_asgi
from tests.ledgers import user_count
from tests.oidc_provider.harness import Browser, Provider, set_cookies
from tests.people import PASSWORD
from tests.rest_bridge.external.conftest import FRONTEND
from tests.rest_bridge.harness import assert_envelope, client_of, opened, serving, settings_at
from tools.app import App
from tools.catalogue import OPERATIONS

pytestmark = pytest.mark.anyio

LOGIN = "/api/auth/codehost"


def somebody(**user: Any) -> dict[str, Any]:
    number = uuid.uuid4().int >> 70
    address = f"{number}@code.example"
    return {
        "user": {"id": number, "login": "grace", **user},
        "emails": [
            {"email": "old@code.example", "primary": False, "verified": True},
            {"email": address, "primary": True, "verified": True},
        ],
    }


def address_of(account: dict[str, Any]) -> str:
    return str(account["emails"][1]["email"])


async def test_first_sign_in_makes_account_and_organization(browser: Browser, provider: Provider, app: App) -> None:
    account = somebody(name="Grace", avatar_url="https://code.example/grace.png")
    provider.behave(**account)
    answer = await browser.sign_in(LOGIN)
    assert (answer.status_code, answer.headers["location"], answer.content) == (302, FRONTEND, b"")
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")
    cookies = set_cookies(answer)
    assert "Max-Age=3600;" in cookies["engrain_access_token"]
    assert re.search("Max-Age=25919[89].;|Max-Age=2592000;", cookies["engrain_refresh_token"])
    assert "Max-Age=0;" in cookies["engrain_oauth_state"]
    me = (await browser.me()).json()
    assert me["user"] | {"id": ""} == {
        "id": "", "codehost_id": account["user"]["id"], "email": address_of(account), "name": "Grace",
        "avatar_url": "https://code.example/grace.png", "is_admin": False,
    }  # fmt: skip
    assert (me["organization"]["slug"], me["org_role"]) == (f"u-{me['user']['id']}", "owner")
    (session,) = app.ledger.people.sessions(me["user"]["id"])
    assert (session.provider, session.user_agent) == ("codehost", "Firefox")
    refreshed = await browser.client.post(f"{browser.base}/api/auth/refresh")
    assert refreshed.status_code == 200


async def test_the_second_sign_in_is_by_the_same_account(browser: Browser, provider: Provider) -> None:
    account = somebody()
    provider.behave(**account)
    await browser.sign_in(LOGIN)
    first = (await browser.me()).json()["user"]
    provider.behave(**{**somebody(), "user": {**account["user"], "login": "renamed"}})
    await browser.sign_in(LOGIN, redirect_uri="/tasks")
    assert (await browser.me()).json()["user"] == first


async def test_a_local_account_is_linked_by_its_address(browser: Browser, provider: Provider, app: App) -> None:
    account = somebody()
    local = {"email": address_of(account), "password": PASSWORD, "name": "Local"}
    signed = (await browser.client.post(f"{browser.base}/api/auth/local/signup", json=local)).json()
    browser.client.cookies.clear()
    provider.behave(**account)
    await browser.sign_in(LOGIN)
    me = (await browser.me()).json()["user"]
    assert (me["id"], me["codehost_id"]) == (signed["user"]["id"], account["user"]["id"])
    assert len(app.ledger.people.sessions(me["id"])) == 1
    user = app.ledger.people.user(me["id"])
    assert user is not None
    assert user.password_hash is None


async def test_an_address_that_only_casefolds_alike_is_refused(browser: Browser, provider: Provider, app: App) -> None:
    account = somebody()
    local = {"email": f"sam{address_of(account)}", "password": PASSWORD, "name": "Sam"}
    signed = (await browser.client.post(f"{browser.base}/api/auth/local/signup", json=local)).json()
    browser.client.cookies.clear()
    app.ledger.people.edit_user(signed["user"]["id"], lambda user: replace(user, email_verified_at=app.clock()))
    vouched = {"email": f"\u017fam{address_of(account)}", "primary": True, "verified": True}
    provider.behave(**{**account, "emails": [vouched]})
    assert_envelope(await browser.sign_in(LOGIN), 403, "codehost_email_unverified")
    assert (await browser.me()).status_code == 401
    user = app.ledger.people.user(signed["user"]["id"])
    assert user is not None
    assert user.codehost_id is None


async def test_an_account_has_one_code_host_account(browser: Browser, provider: Provider, app: App) -> None:
    account = somebody()
    provider.behave(**account)
    await browser.sign_in(LOGIN)
    browser.client.cookies.clear()
    provider.behave(user={"id": account["user"]["id"] + 1}, emails=account["emails"])
    assert_envelope(await browser.sign_in(LOGIN), 409, "conflict")
    assert (await browser.me()).status_code == 401


@pytest.mark.parametrize(
    "emails",
    [
        [],
        [{"email": "a@code.example", "primary": True, "verified": False}],
        [{"email": "a@code.example", "primary": False, "verified": True}],
        [{"email": "a@code.example", "primary": 1, "verified": "yes"}],
        [{"email": "nonsense", "primary": True, "verified": True}],
        [7, "a@code.example"],
    ],
    ids=str,
)
async def test_a_verified_address_is_needed(browser: Browser, provider: Provider, app: App, emails: list[Any]) -> None:
    provider.behave(**{**somebody(), "emails": emails})
    before = user_count(app.ledger)
    assert_envelope(await browser.sign_in(LOGIN), 403, "codehost_email_unverified")
    assert user_count(app.ledger) == before


@pytest.mark.parametrize("number", [None, "4711", True, 0, -1, 2**63, 1.5], ids=str)
async def test_an_account_needs_a_number(browser: Browser, provider: Provider, number: Any) -> None:
    provider.behave(**somebody(id=number))
    assert_envelope(await browser.sign_in(LOGIN), 502, "provider_answer_invalid")


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        ({"at": {"token": "broken"}}, 502), ({"at": {"token": "large"}}, 502), ({"at": {"token": 503}}, 503),
        ({"at": {"user": "list"}}, 502), ({"at": {"user": "compressed"}}, 502), ({"at": {"user": 401}}, 502),
        ({"at": {"user": 500}}, 503), ({"at": {"emails": "broken"}}, 502), ({"at": {"emails": "text"}}, 502),
        ({"at": {"emails": 429}}, 503), ({"token": {"access_token": None}}, 502),
        ({"token": {"access_token": ["a"]}}, 502), ({"token": {"access_token": "a\nb"}}, 502),
        ({"token": {"error": "bad_verification_code", "access_token": None}}, 401),
        ({"token": {"error": "<b>", "access_token": None}}, 401),
    ],
    ids=str,
)  # fmt: skip
async def test_what_a_code_host_may_answer_instead(
    browser: Browser, provider: Provider, behaviour: dict[str, Any], status: int
) -> None:
    codes = {401: "codehost_sign_in_refused", 502: "provider_answer_invalid", 503: "provider_unavailable"}
    provider.behave(**somebody(), **behaviour)
    body = assert_envelope(await browser.sign_in(LOGIN), status, codes[status])
    assert "<b>" not in body["message"]


async def test_what_is_asked_of_the_code_host(browser: Browser, provider: Provider) -> None:
    begun = await browser.get(LOGIN, params={"redirect_uri": f"{FRONTEND}/a?b=c#d"})
    query = parse_qs(urlsplit(begun.headers["location"]).query)
    assert query["scope"] == ["read:user user:email"]
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [f"{browser.base}/api/auth/codehost/callback"]
    assert "HttpOnly; Max-Age=600; Path=/; SameSite=lax" in set_cookies(begun)["engrain_oauth_state"]
    ended = await browser.get((await browser.get(begun.headers["location"])).headers["location"])
    assert ended.headers["location"] == f"{FRONTEND}/a?b=c#d"


async def test_a_state_works_once_and_in_its_browser_only(browser: Browser, provider: Provider) -> None:
    link = await browser.to_provider(LOGIN)
    held = browser.client.cookies["engrain_oauth_state"]
    browser.client.cookies.clear()
    assert_envelope(await browser.get(link), 400, "oauth_state_invalid")
    assert_envelope(await browser.get(link.replace("state=", "state=x")), 400, "oauth_state_invalid")
    browser.client.cookies.set("engrain_oauth_state", held)
    assert (await browser.get(link)).status_code == 302
    browser.client.cookies.set("engrain_oauth_state", held)
    assert_envelope(await browser.get(link), 400, "oauth_state_invalid")


async def test_who_says_no_returns_to_the_login_page(browser: Browser, provider: Provider) -> None:
    provider.behave(answer={"error": "access_denied"})
    answer = await browser.sign_in(LOGIN)
    assert answer.headers["location"].startswith(f"{FRONTEND}/login?error=access_denied&next=")
    provider.behave(answer={"error": "server_error"})
    assert_envelope(await browser.sign_in(LOGIN), 401, "codehost_sign_in_refused")


async def test_nobody_signs_up_where_signing_up_is_switched_off(browser: Browser, provider: Provider, app: App) -> None:
    account = somebody()
    provider.behave(**account)
    await browser.sign_in(LOGIN)
    off = {"signup_enabled": False, "local_auth_enabled": False}
    closed = replace(app, settings=app.settings.model_copy(update=off))
    async with serving(closed, OPERATIONS) as port:
        there = Browser(browser.client, f"http://127.0.0.1:{port}")
        assert (await there.sign_in(LOGIN)).status_code == 302
        provider.behave(**somebody())
        assert_envelope(await there.sign_in(LOGIN), 403, "signup_disabled")
        by_password = {"email": "a@example.org", "password": "long enough"}
        local = await browser.client.post(f"{there.base}/api/auth/local/login", json=by_password)
        assert_envelope(local, 403, "local_auth_disabled")


@pytest.mark.parametrize("path", [LOGIN, f"{LOGIN}/callback", f"{LOGIN}/callback?code=x&state=y"])
async def test_without_settings_there_is_no_code_host(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    async with opened(settings_at(tmp_path_factory.mktemp("bare"))) as app, client_of(build_asgi(app)) as client:
        assert_envelope(await client.get(path), 404, "codehost_not_configured")
        assert (await client.get("/api/auth/providers")).json()["providers"] == []
