"""Asking a person: what is checked before, what the page says, and who can press its buttons."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rest_bridge.oauth import STATE_LENGTH
from stores.ledger import AuditQuery
from tests.people import Person, person
from tests.rest_bridge.harness import BASE, Clock
from tests.rest_bridge.oauth.flow import CALLBACK, CHALLENGE, VERIFIER, Flow, bearer, hidden_field, returned
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio


async def test_a_person_signs_in_is_asked_and_the_client_gets_its_code(flow: Flow, ann: Person, app: App) -> None:
    before = await flow.ask()
    assert before.status_code == 303
    assert before.headers["location"].startswith("/login?next=%2Fauthorize%3F")
    onward = parse_qs(urlsplit(before.headers["location"]).query)["next"][0]
    await flow.sign_in(ann)
    page = await flow.browser.get(onward)
    assert page.status_code == 200
    for text in ("Editor", "a program on this computer (127.0.0.1:5555)", ann.email, "owner"):
        assert text in page.text
    answer = returned(await flow.decide(page))
    assert answer.keys() == {"code", "state", "iss"}
    assert (answer["state"], answer["iss"]) == ("st&te ü", BASE)
    [entry] = app.ledger.audit.entries(AuditQuery(ann.organization_id, action="oauth.allow"))
    assert entry.draft.actor_id == ann.user_id
    assert entry.draft.details == {"client_id": flow.client_id, "client_name": "Editor"}


async def test_the_consent_page_is_not_framed_and_posts_only_to_the_client(flow: Flow, ann: Person) -> None:
    await flow.register(redirect_uris=[CALLBACK, "https://app.example/cb", "cursor://app/cb", "http://[::1]:7/cb"])
    await flow.sign_in(ann)
    for uri, target in (
        (CALLBACK, "http://127.0.0.1:5555"), ("https://app.example/cb", "https://app.example"),
        ("cursor://app/cb", "cursor:"), ("http://[::1]:9/cb", "http:"),
    ):  # fmt: skip
        page = await flow.ask(redirect_uri=uri)
        policy = page.headers["content-security-policy"]
        assert f"form-action 'self' {target};" in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["cache-control"] == "no-store"
        assert returned(await flow.decide(page), uri)["code"]


async def test_a_person_says_no(flow: Flow, ann: Person, app: App) -> None:
    await flow.sign_in(ann)
    answer = returned(await flow.decide(await flow.ask(), "deny"))
    assert answer["error"] == "access_denied"
    assert (answer["state"], answer["iss"]) == ("st&te ü", BASE)
    assert not app.ledger.audit.entries(AuditQuery(ann.organization_id, action="oauth.allow"))


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "mcp_" + "x" * 24}, {"client_id": "a\x00b"}, {"client_id": None},
        {"redirect_uri": "https://evil.example/callback"}, {"redirect_uri": CALLBACK + "/"},
        {"redirect_uri": "http://localhost:5555/callback"},
        {"redirect_uri": "http://127.0.0.1:5555@evil.example/callback"}, {"redirect_uri": "javascript:alert(1)"},
    ],
    ids=["unknown", "NUL", "none", "host", "path", "name", "user", "script"],
)  # fmt: skip
async def test_nothing_is_sent_to_an_address_that_is_not_the_clients(
    flow: Flow, ann: Person, changes: dict[str, str | None]
) -> None:
    for _ in range(2):
        page = await flow.ask(**changes)
        assert page.status_code == 400
        assert "location" not in page.headers
        assert page.headers["content-type"].startswith("text/html")
        assert "evil" not in page.text
        await flow.sign_in(ann)


async def test_several_addresses_or_clients_are_none(flow: Flow) -> None:
    for name, value in (("redirect_uri", "https://evil.example/"), ("client_id", "mcp_" + "x" * 24)):
        pairs = [*flow.asked().items(), (name, value)]
        page = await flow.browser.get("/authorize", params=pairs)
        assert (page.status_code, "location" in page.headers) == (400, False)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain", "code_challenge": VERIFIER}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"code_challenge": CHALLENGE[:-1]}, "invalid_request"),
        ({"code_challenge": CHALLENGE + "="}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"scope": "api:write"}, "invalid_scope"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"resource": f"{BASE}/api"}, "invalid_target"),
        ({"resource": BASE}, "invalid_target"),
        ({"resource": f"{BASE}/mcp#x"}, "invalid_target"),
    ],
)
async def test_what_a_client_asks_wrongly_it_is_told(flow: Flow, changes: dict[str, Any], error: str) -> None:
    answer = returned(await flow.ask(**changes))
    assert answer["error"] == error
    assert answer["error_description"]
    assert (answer["state"], answer["iss"]) == ("st&te ü", BASE)


async def test_a_parameter_that_comes_twice_is_refused(flow: Flow) -> None:
    for name in ("scope", "code_challenge", "response_type"):
        pairs = [*flow.asked().items(), (name, "x")]
        assert returned(await flow.browser.get("/authorize", params=pairs))["error"] == "invalid_request"
    twice = returned(await flow.browser.get("/authorize", params=[*flow.asked().items(), ("state", "x")]))
    assert "state" not in twice
    long = returned(await flow.ask(state="x" * (STATE_LENGTH + 1)))
    assert (long["error"], "state" in long) == ("invalid_request", False)


async def test_a_client_may_leave_out_what_is_clear_and_ask_for_more_than_there_is(flow: Flow, ann: Person) -> None:
    await flow.sign_in(ann)
    page = await flow.ask(scope="mcp offline_access", resource=None, state=None, redirect_uri=None)
    answer = returned(await flow.decide(page))
    assert answer.keys() == {"code", "iss"}
    tokens = (await flow.exchange(answer["code"], redirect_uri=None)).json()
    assert tokens["scope"] == "mcp"
    assert await flow.holds(tokens["access_token"])


async def test_a_loopback_client_takes_any_port(flow: Flow, ann: Person) -> None:
    await flow.sign_in(ann)
    other = CALLBACK.replace("5555", "61000")
    code = returned(await flow.decide(await flow.ask(redirect_uri=other)), other)["code"]
    assert (await flow.exchange(code)).json()["error"] == "invalid_grant"
    assert (await flow.exchange(code, redirect_uri=other)).status_code == 200


async def test_a_decision_counts_once(flow: Flow, ann: Person) -> None:
    await flow.sign_in(ann)
    page = await flow.ask()
    assert returned(await flow.decide(page))["code"]
    again = await flow.decide(page)
    assert (again.status_code, "location" in again.headers) == (400, False)


async def test_a_decision_has_its_time(flow: Flow, ann: Person, clock: Clock) -> None:
    await flow.sign_in(ann)
    page = await flow.ask()
    clock.now += timedelta(minutes=10)
    assert (await flow.decide(page)).status_code == 400


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]
)
async def test_another_site_cannot_decide(flow: Flow, ann: Person, headers: dict[str, str]) -> None:
    await flow.sign_in(ann)
    page = await flow.ask()
    refused = await flow.decide(page, headers=headers)
    assert (refused.status_code, "location" in refused.headers) == (403, False)
    assert returned(await flow.decide(page))["code"]


async def test_a_ticket_of_another_session_does_not_decide(flow: Flow, app: App, ann: Person) -> None:
    mallory = await person(app, "mallory")
    await flow.sign_in(mallory)
    theirs = await flow.ask()
    flow.browser.cookies.clear()
    await flow.sign_in(ann)
    for ticket in (hidden_field(theirs, "ticket"), "", "guess"):
        refused = await flow.decide(await flow.ask(), ticket=ticket)
        assert (refused.status_code, "location" in refused.headers) == (400, False)
    assert not app.ledger.audit.entries(AuditQuery(ann.organization_id, action="oauth.allow"))


async def test_only_the_sessions_cookie_decides(flow: Flow, ann: Person) -> None:
    await flow.sign_in(ann)
    page = await flow.ask()
    refused = await flow.decide(page, headers=bearer(ann.token))
    assert (refused.status_code, "location" in refused.headers) == (401, False)
    flow.browser.cookies.clear()
    assert (await flow.decide(page)).status_code == 401


async def test_a_session_that_ended_decides_nothing(flow: Flow, app: App, ann: Person) -> None:
    await flow.sign_in(ann)
    page = await flow.ask()
    await flow.browser.post("/api/auth/logout", headers={"Origin": BASE})
    assert (await flow.decide(page)).status_code == 401
    await in_thread(app.ledger.people.set_password_hash, ann.user_id, "new")
    assert (await flow.ask()).status_code == 303


async def test_a_person_chooses_among_its_own_organizations(flow: Flow, app: App, ann: Person) -> None:
    bob, stranger = await person(app, "bob", of=ann, role="viewer"), await person(app, "stranger")
    await flow.sign_in(bob)
    page = await flow.ask()
    assert page.text.count('name="organization"') == 2
    assert stranger.organization_id not in page.text
    code = returned(await flow.decide(page, organization=ann.organization_id))["code"]
    tokens = (await flow.exchange(code)).json()
    principal = await in_thread(app.accounts.authenticate, tokens["access_token"])
    assert (principal.organization_id, principal.role) == (ann.organization_id, "viewer")
    for foreign in (stranger.organization_id, "unknown"):
        refused = await flow.decide(await flow.ask(), organization=foreign)
        assert (refused.status_code, "location" in refused.headers) == (404, False)


async def test_what_a_client_calls_itself_is_text_only(flow: Flow, ann: Person) -> None:
    await flow.register(client_name='<img src=x onerror="alert(1)">')
    await flow.sign_in(ann)
    page = await flow.ask()
    assert "<img" not in page.text
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;" in page.text
