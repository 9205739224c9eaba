"""Replacing a session without a word to the person: only the same person's, and only where it is switched on."""

import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.ledgers import user_count
from tests.oidc_provider.harness import Browser, Provider, set_cookies
from tests.rest_bridge.external.conftest import FRONTEND
from tests.rest_bridge.harness import assert_envelope
from tools.app import App

pytestmark = pytest.mark.anyio

LOGIN, REFRESH = "/api/auth/oidc/quiet/login", "/api/auth/oidc/quiet/refresh"


@pytest.fixture
async def ada(browser: Browser, provider: Provider) -> dict[str, Any]:
    name = uuid.uuid4().hex
    claims = {"sub": name, "email": f"{name}@acme.example", "groups": ["member"]}
    provider.behave(claims=claims)
    assert (await browser.sign_in(LOGIN)).status_code == 302
    return claims


async def user_id(browser: Browser) -> str:
    return str((await browser.me()).json()["user"]["id"])


async def test_a_session_is_renewed(browser: Browser, provider: Provider, app: App, ada: dict[str, Any]) -> None:
    (old,) = app.ledger.people.sessions(await user_id(browser))
    answer = await browser.sign_in(REFRESH, redirect=f"{FRONTEND}/tasks?open=1")
    assert answer.headers["location"] == f"{FRONTEND}/tasks?open=1"
    (new,) = app.ledger.people.sessions(await user_id(browser))
    assert new.id != old.id
    assert new.expires_at > old.expires_at


async def test_the_provider_is_asked_to_say_nothing_to_the_person(browser: Browser, ada: dict[str, Any]) -> None:
    asked = (await browser.get(REFRESH)).headers["location"]
    assert parse_qs(urlsplit(asked).query)["prompt"] == ["none"]


@pytest.mark.parametrize(
    "error", ["login_required", "interaction_required", "consent_required", "account_selection_required"]
)
async def test_a_provider_that_would_have_to_ask_leads_to_the_page_for_signing_in(
    browser: Browser, provider: Provider, app: App, ada: dict[str, Any], error: str
) -> None:
    before = app.ledger.people.sessions(await user_id(browser))
    provider.behave(claims=ada, silently=error)
    answer = await browser.sign_in(REFRESH, next="/tasks?a=1&b=2")
    assert answer.status_code == 302
    where = urlsplit(answer.headers["location"])
    assert answer.headers["location"].startswith(f"{FRONTEND}/login?")
    assert parse_qs(where.query) == {"error": [error], "next": ["/tasks?a=1&b=2"]}
    assert "engrain_access_token" not in set_cookies(answer)
    assert app.ledger.people.sessions(await user_id(browser)) == before


async def test_another_person_gets_no_session(
    browser: Browser, provider: Provider, app: App, ada: dict[str, Any]
) -> None:
    mine, count = await user_id(browser), user_count(app.ledger)
    provider.behave(claims={**ada, "sub": uuid.uuid4().hex, "email": "eve@acme.example"})
    answer = await browser.sign_in(REFRESH)
    assert parse_qs(urlsplit(answer.headers["location"]).query)["error"] == ["login_required"]
    assert (await user_id(browser), user_count(app.ledger)) == (mine, count)


async def test_a_session_that_was_ended_meanwhile_is_not_revived(
    browser: Browser, provider: Provider, app: App, ada: dict[str, Any]
) -> None:
    mine = await user_id(browser)
    link = await browser.to_provider(REFRESH)
    app.ledger.people.set_password_hash(mine, "new")
    answer = await browser.get(link)
    assert parse_qs(urlsplit(answer.headers["location"]).query)["error"] == ["login_required"]
    assert app.ledger.people.sessions(mine) == []


async def test_the_role_is_claimed_anew(browser: Browser, provider: Provider, ada: dict[str, Any]) -> None:
    provider.behave(claims={**ada, "groups": ["viewer"]})
    await browser.sign_in(REFRESH)
    assert (await browser.me()).json()["org_role"] == "viewer"
    provider.behave(claims={**ada, "groups": []})
    assert_envelope(await browser.sign_in(REFRESH), 403, "oidc_missing_role")


async def test_it_is_off_unless_it_is_switched_on(browser: Browser, provider: Provider) -> None:
    answer = await browser.get("/api/auth/oidc/acme/refresh")
    assert_envelope(answer, 404, "oidc_silent_refresh_disabled")
    assert_envelope(await browser.get("/api/auth/oidc/nobody/refresh"), 404, "oidc_provider_not_found")


async def test_it_needs_a_session(browser: Browser, provider: Provider) -> None:
    assert_envelope(await browser.get(REFRESH), 401, "authentication_required")


async def test_it_leads_to_no_other_site(browser: Browser, ada: dict[str, Any]) -> None:
    assert_envelope(await browser.get(REFRESH, params={"next": "//evil.example"}), 400, "invalid_redirect")
