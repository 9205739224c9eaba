"""A provider that is down, slow, or talks nonsense: an error that says so, soon, and nothing is stored."""

import time
import uuid
from typing import Any

import anyio
import pytest

from auth.external.outbound import DEADLINE_S
from tests.ledgers import user_count
from tests.oidc_provider.harness import Browser, Provider
from tests.rest_bridge.harness import assert_envelope
from tools.app import App

pytestmark = pytest.mark.anyio

NONSENSE = ("broken", "list", "text", "large", "deep", "empty", "compressed", "redirect", 404)
LOGIN = "/api/auth/oidc/acme/login"


@pytest.fixture(autouse=True)
async def _nothing_is_stored(browser: Browser, app: App) -> Any:
    before = user_count(app.ledger)
    yield
    assert (await browser.me()).status_code == 401
    assert user_count(app.ledger) == before


@pytest.mark.parametrize("how", NONSENSE, ids=str)
async def test_bad_configurations(browser: Browser, provider: Provider, how: str | int) -> None:
    provider.behave(at={"configuration": how})
    answer = await browser.get(LOGIN)
    assert_envelope(answer, 502, "provider_answer_invalid")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "configuration",
    [
        {"issuer": "https://evil.example"}, {"issuer": None}, {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None}, {"token_endpoint": "http://elsewhere.example/token"}, {"token_endpoint": 7},
        {"jwks_uri": "file:///etc/passwd"}, {"userinfo_endpoint": "https://user:password@somewhere.example/"},
    ],
    ids=str,
)  # fmt: skip
async def test_a_configuration_that_leads_astray(
    browser: Browser, provider: Provider, configuration: dict[str, Any]
) -> None:
    provider.behave(configuration=configuration)
    assert_envelope(await browser.get(LOGIN), 502, "provider_answer_invalid")


@pytest.mark.parametrize("place", ["token", "keys", "userinfo"])
@pytest.mark.parametrize("how", [each for each in NONSENSE if each not in ("empty", "text")], ids=str)
async def test_bad_answers(browser: Browser, provider: Provider, place: str, how: str | int) -> None:
    provider.behave(at={place: how}, claims={"sub": uuid.uuid4().hex, "email": None})
    assert_envelope(await browser.sign_in(), 502, "provider_answer_invalid")


@pytest.mark.parametrize("place", ["token", "keys", "userinfo"])
@pytest.mark.parametrize("status", [500, 503, 429])
async def test_provider_failures(browser: Browser, provider: Provider, place: str, status: int) -> None:
    provider.behave(at={place: status}, claims={"sub": uuid.uuid4().hex, "email": None})
    assert_envelope(await browser.sign_in(), 503, "provider_unavailable")


async def test_a_failed_attempt_is_spent(browser: Browser, provider: Provider) -> None:
    link = await browser.to_provider(LOGIN)
    provider.behave(at={"token": 500})
    assert_envelope(await browser.get(link), 503, "provider_unavailable")
    provider.behave()
    assert_envelope(await browser.get(link), 400, "oauth_state_invalid")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["slow", "trickle"])
async def test_a_slow_provider_holds_up_nobody(browser: Browser, provider: Provider, how: str) -> None:
    provider.behave(at={"configuration": how})
    begun = time.monotonic()
    others: list[float] = []

    async def ask_something_else() -> None:
        while len(others) < 20:
            asked = time.monotonic()
            assert (await browser.get("/api/health")).status_code == 200
            others.append(time.monotonic() - asked)
            await anyio.sleep(0.1)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask_something_else)
        answer = await browser.client.get(browser.base + LOGIN, timeout=60)
    assert_envelope(answer, 503, "provider_unavailable")
    assert time.monotonic() - begun < DEADLINE_S + 5
    assert sorted(others)[10] < 0.5


async def test_new_keys_of_the_provider_count_at_once(browser: Browser, provider: Provider) -> None:
    claims = {"sub": uuid.uuid4().hex, "roles": []}
    provider.behave(claims=claims)
    assert_envelope(await browser.sign_in(), 403, "oidc_missing_role")
    for kind in ("EC", "RSA"):
        provider.behave(claims=claims, new_key=kind)
        assert_envelope(await browser.sign_in(), 403, "oidc_missing_role")
    provider.behave(claims=claims, signature="an unknown key")
    assert_envelope(await browser.sign_in(), 401, "oidc_id_token_invalid")
