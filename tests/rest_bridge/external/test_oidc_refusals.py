"""A provider that misbehaves, an attacker in the middle, a browser that did not ask: nobody is signed in."""

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from tests.ledgers import user_count
from tests.oidc_provider.harness import Browser, Provider, set_cookies
from tests.oidc_provider.signing import FLAWS
from tests.rest_bridge.external.conftest import FRONTEND
from tests.rest_bridge.external.test_oidc import somebody
from tests.rest_bridge.harness import assert_envelope
from tools.app import App

pytestmark = pytest.mark.anyio

LOGIN = "/api/auth/oidc/acme/login"


@pytest.fixture(autouse=True)
async def _nobody_was_let_in(browser: Browser, app: App) -> Any:
    before = user_count(app.ledger)
    yield
    assert (await browser.me()).status_code == 401
    assert user_count(app.ledger) == before


CLAIMS: list[dict[str, Any]] = [
    {"iss": "https://evil.example"}, {"iss": None}, {"aud": "another client"}, {"aud": None},
    {"aud": ["another client", "and another"]}, {"aud": ["engrain", "another client"]},
    {"aud": ["engrain", "another client"], "azp": "another client"}, {"azp": "another client"},
    {"nonce": "of another attempt"}, {"nonce": None}, {"exp": None}, {"exp": "tomorrow"}, {"iat": None},
    {"sub": None}, {"sub": 7}, {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
]  # fmt: skip


@pytest.mark.parametrize(
    "behaviour",
    [
        *({"signature": flaw} for flaw in FLAWS),
        *({"times": times} for times in ({"exp": -120}, {"nbf": 600}, {"iat": 600})),
        *({"claims": claims} for claims in CLAIMS),
    ],
    ids=str,
)
async def test_a_token_of_others_for_others_or_of_another_time_is_refused(
    browser: Browser, provider: Provider, behaviour: dict[str, Any]
) -> None:
    provider.behave(**{**behaviour, "claims": somebody(**behaviour.get("claims", {}))})
    assert_envelope(await browser.sign_in(), 401, "oidc_id_token_invalid")


async def test_a_subject_that_is_empty_or_endless_is_refused(browser: Browser, provider: Provider) -> None:
    for subject in ("", "x" * 256, "a\nb"):
        provider.behave(claims=somebody(sub=subject))
        assert_envelope(await browser.sign_in(), 401, "oidc_subject_incomplete")


async def test_an_account_needs_an_address(browser: Browser, provider: Provider) -> None:
    for email in (None, "nonsense", "a\u0000@b.example", 7):
        claims = somebody(email=email)
        provider.behave(claims=claims, userinfo={"email": email})
        assert_envelope(await browser.sign_in(), 401, "oidc_claim_missing")


@pytest.mark.parametrize("token", [{"id_token": None}, {"id_token": 7}, {"id_token": ["a"]}], ids=str)
async def test_a_missing_id_token_is_refused(browser: Browser, provider: Provider, token: dict[str, Any]) -> None:
    provider.behave(token=token)
    assert_envelope(await browser.sign_in(), 401, "oidc_claims_missing")


async def test_a_provider_without_keys_is_refused(browser: Browser, provider: Provider) -> None:
    provider.behave(claims=somebody(), keys=[])
    assert_envelope(await browser.sign_in(), 401, "oidc_jwks_missing")
    provider.behave(claims=somebody(), configuration={"jwks_uri": None})
    assert_envelope(await browser.sign_in(), 401, "oidc_jwks_missing")


async def test_a_callback_works_once(browser: Browser, provider: Provider) -> None:
    link = await browser.to_provider(LOGIN)
    provider.behave(claims=somebody(roles=[]))
    assert_envelope(await browser.get(link), 403, "oidc_missing_role")
    assert_envelope(await browser.get(link), 400, "oauth_state_invalid")


async def test_a_code_that_was_used_is_refused(browser: Browser, provider: Provider) -> None:
    provider.behave(claims=somebody(roles=[]))
    first = parse_qs(urlsplit(await browser.to_provider(LOGIN)).query)
    second = parse_qs(urlsplit(await browser.to_provider(LOGIN)).query)
    callback = "/api/auth/oidc/acme/callback?"
    spent = await browser.get(callback + urlencode({"code": first["code"][0], "state": first["state"][0]}))
    assert_envelope(spent, 403, "oidc_missing_role")
    replayed = await browser.get(callback + urlencode({"code": first["code"][0], "state": second["state"][0]}))
    assert_envelope(replayed, 401, "oidc_sign_in_refused")


async def test_a_code_of_another_attempt_is_refused_by_pkce(browser: Browser, provider: Provider) -> None:
    first = parse_qs(urlsplit(await browser.to_provider(LOGIN)).query)
    second = parse_qs(urlsplit(await browser.to_provider(LOGIN)).query)
    mixed = urlencode({"code": first["code"][0], "state": second["state"][0]})
    assert_envelope(await browser.get(f"/api/auth/oidc/acme/callback?{mixed}"), 401, "oidc_sign_in_refused")


async def test_a_link_that_somebody_sends_signs_nobody_in(browser: Browser, provider: Provider, base: str) -> None:
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
        link = await Browser(client, base).to_provider(LOGIN)
        assert_envelope(await browser.get(link), 400, "oauth_state_invalid")
        await browser.to_provider(LOGIN)
        assert_envelope(await browser.get(link), 400, "oauth_state_invalid")
        provider.behave(claims=somebody(roles=[]))
        # It was not spent by that: whoever began it may still end it.
        assert_envelope(await client.get(link), 403, "oidc_missing_role")


async def test_an_attempt_belongs_to_its_provider(browser: Browser, provider: Provider) -> None:
    link = await browser.to_provider(LOGIN)
    for other in ("/api/auth/oidc/quiet/callback", "/api/auth/codehost/callback"):
        moved = link.replace("/api/auth/oidc/acme/callback", other)
        assert_envelope(await browser.get(moved), 400, "oauth_state_invalid")


@pytest.mark.parametrize("query", ["", "code=x", "state=x", "state=&code=x", "code=x&state=" + "y" * 512], ids=str)
async def test_a_callback_without_a_beginning_is_refused(browser: Browser, query: str) -> None:
    answer = await browser.get(f"/api/auth/oidc/acme/callback?{query}")
    assert_envelope(answer, 400, "oauth_state_invalid")


async def test_a_callback_with_neither_code_nor_error_is_refused(browser: Browser, provider: Provider) -> None:
    link = await browser.to_provider(LOGIN)
    state = parse_qs(urlsplit(link).query)["state"][0]
    assert_envelope(await browser.get(f"/api/auth/oidc/acme/callback?state={state}"), 400, "invalid_request")


async def test_a_browser_has_few_attempts_on_its_way(browser: Browser, provider: Provider) -> None:
    links = [await browser.to_provider(LOGIN) for _ in range(6)]
    assert len(browser.client.cookies["engrain_oauth_state"]) < 100
    provider.behave(claims=somebody(roles=[]))
    assert_envelope(await browser.get(links[0]), 400, "oauth_state_invalid")
    for link in reversed(links[2:]):
        assert_envelope(await browser.get(link), 403, "oidc_missing_role")


@pytest.mark.parametrize("planted", ["x" * 4000, "....", "a" * 22 + ".<script>"], ids=["long", "dots", "script"])
async def test_a_strange_cookie_is_not_kept(browser: Browser, provider: Provider, planted: str) -> None:
    answer = await browser.get(LOGIN, headers={"Cookie": f"engrain_oauth_state={planted}"})
    cookie = set_cookies(answer)["engrain_oauth_state"]
    assert "script" not in cookie
    assert len(cookie) < 200
    assert "HttpOnly; Max-Age=600; Path=/; SameSite=lax" in cookie


@pytest.mark.parametrize("iss", ["https://evil.example", ""], ids=str)
async def test_an_answer_that_names_another_issuer_is_refused(browser: Browser, provider: Provider, iss: str) -> None:
    provider.behave(claims=somebody(), answer={"iss": iss})
    assert_envelope(await browser.sign_in(), 401, "oidc_issuer_mismatch")


async def test_an_issuer_that_was_promised_has_to_come(browser: Browser, provider: Provider) -> None:
    promised = {"authorization_response_iss_parameter_supported": True}
    provider.behave(claims=somebody(roles=[]), configuration=promised)
    assert_envelope(await browser.sign_in(), 401, "oidc_issuer_mismatch")
    provider.behave(claims=somebody(roles=[]), configuration=promised, answer={"iss": provider.issuer})
    assert_envelope(await browser.sign_in(), 403, "oidc_missing_role")


@pytest.mark.parametrize("error", ["access_denied", "login_required", "interaction_required"])
async def test_who_says_no_returns_to_the_login_page(browser: Browser, provider: Provider, error: str) -> None:
    provider.behave(answer={"error": error})
    answer = await browser.sign_in(next="/app")
    assert answer.headers["location"] == f"{FRONTEND}/login?error={error}&next=%2Fapp"
    assert list(set_cookies(answer)) == ["engrain_oauth_state"]


async def test_any_other_error_of_the_provider_is_told(browser: Browser, provider: Provider) -> None:
    provider.behave(answer={"error": "server_error"})
    body = assert_envelope(await browser.sign_in(), 401, "oidc_sign_in_refused")
    assert "server_error" in body["message"]


async def test_an_error_cannot_carry_a_page(browser: Browser, provider: Provider) -> None:
    provider.behave(answer={"error": "<script>alert(1)</script>"})
    assert_envelope(await browser.sign_in(), 422, "validation_error")


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("nobody", 404, "oidc_provider_not_found"),
        ("ACME", 404, "oidc_provider_not_found"),
        ("codehost", 404, "oidc_provider_not_found"),
        ("homeless", 503, "oidc_organization_missing"),
        ("secretless", 500, "oidc_client_secret_missing"),
        ("unreachable", 503, "provider_unavailable"),
        ("closed", 502, "provider_answer_invalid"),
    ],
)
async def test_unusable_providers(browser: Browser, provider: Provider, name: str, status: int, code: str) -> None:
    answer = await browser.get(f"/api/auth/oidc/{name}/login")
    assert_envelope(answer, status, code)
    assert "set-cookie" not in answer.headers


EVIL = [
    "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "\\evil.example", "/\t/evil.example",
    "/\n/evil.example", " //evil.example", "https://evil.example", "https:evil.example", "https:/evil.example",
    "javascript:alert(1)", "data:text/html,x", "evil.example", "https://app.example.com@evil.example/",
    "https://user:pass@app.example.com/", "https://app.example.com.evil.example/", "https://app.example.com:8443/",
    "http://app.example.com/", "https://app.example.com\\.evil.example/", "https://evil.example\\@app.example.com/",
    "https://evil.example#@app.example.com/", "https://[::1/", "https://app.example.com:port/",
]  # fmt: skip


@pytest.mark.parametrize("path", ["/api/auth/oidc/acme/login", "/api/auth/codehost"])
@pytest.mark.parametrize("evil", EVIL)
async def test_no_sign_in_leads_to_another_site(browser: Browser, provider: Provider, path: str, evil: str) -> None:
    for name in ("redirect_uri",) if path.endswith("codehost") else ("redirect", "next"):
        answer = await browser.get(path, params={name: evil})
        body = assert_envelope(answer, 400, "invalid_redirect")
        assert body["details"]["field"] == f"query.{name}"
        assert "set-cookie" not in answer.headers


async def test_a_person_reads_a_page_where_a_program_reads_the_envelope(browser: Browser, provider: Provider) -> None:
    provider.behave(claims=somebody(iss="https://evil.example"))
    callback = await browser.to_provider(LOGIN)
    shown = await browser.client.get(callback, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (shown.status_code, shown.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert 'role="alert"' in shown.text
    assert 'href="/login"' in shown.text
    assert set_cookies(shown).get("engrain_access_token") is None
