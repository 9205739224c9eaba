"""Pages that repeat what they were given, and clients that were let in through them."""

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest

from auth.grants import AuthorizationRequest
from stores.ledger import AuditDraft
from tests.people import PASSWORD, Person
from tests.rest_bridge.oauth.flow import CALLBACK, CHALLENGE, form
from tests.security.harness import COOKIE, SURFACES, World, bearer, cookie
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

MARKUP = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' autofocus onfocus='alert(1)",
    "</title><svg/onload=alert(1)>", "{{7919*7907}}${7919*7907}<%= 7919*7907 %>", "\u003cscript\u003e",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
)  # fmt: skip
RAW = ("<script>", "<img", "<svg", "<meta http-equiv", "onfocus='", str(7919 * 7907))


@pytest.mark.parametrize("markup", MARKUP)
@pytest.mark.parametrize(
    "path",
    [
        "/login?next={}", "/login?next=/{}", "/login?email={}", "/login?error={}", "/login?{}=x",
        "/device?user_code={}", "/authorize?client_id={}", "/authorize?client_id=x&redirect_uri={}&state={}",
        "/api/docs?{}", "/{}",
    ],
)  # fmt: skip
async def test_no_page_repeats_markup(world: World, ada: Person, path: str, markup: str) -> None:
    for headers in ({}, {"Cookie": f"{COOKIE}={ada.token}"}):
        answer = await world.send("GET", path.replace("{}", quote(markup, safe="")), **headers)
        if answer.headers.get("content-type", "").startswith("text/html") and "/api/docs" not in path:
            assert not [each for each in RAW if each in answer.text]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert "evil.example" not in answer.headers.get("location", "").split("?")[0]


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example;script-src 'unsafe-inline'/x", "https://evil.example;script-src/x",
        "https://evil.example,x/y", "https://evil.example'/x", 'https://evil.example"/x',
        "https://evil.example\r\nSet-Cookie: a=b", "https://*/x", "https://*.example/x",
    ],
)  # fmt: skip
async def test_no_address_of_a_client_writes_the_policy_of_the_page_that_asks(world: World, address: str) -> None:
    answer = await world.post("/register", {"redirect_uris": [address], "client_name": "x"})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


async def test_the_password_field_hides_and_lets_managers_fill_it(world: World) -> None:
    page = (await world.send("GET", "/login")).text
    [field] = re.findall(r"<input[^>]*password[^>]*>", page)
    assert 'type="password"' in field
    assert 'autocomplete="current-password"' in field
    assert not re.search(r"\son[a-z]+=", page), "nothing hinders pasting"


async def test_signing_in_on_the_page_starts_a_session_of_its_own(world: World, ada: Person, eve: Person) -> None:
    form = {"email": ada.email, "password": PASSWORD}
    answer = await world.http.post("/login", data=form, headers={"Cookie": f"{COOKIE}={eve.token}"})
    world.http.cookies.clear()
    assert answer.status_code == 303
    assert eve.token not in str(answer.headers)
    assert COOKIE in [line.partition("=")[0] for line in answer.headers.get_list("set-cookie")]


async def client_token(world: World, who: Person) -> str:
    accounts, resource = world.app.accounts, f"{world.origin}/mcp"

    def grant() -> str:
        client, _ = accounts.grants.register({"redirect_uris": [CALLBACK], "client_name": "Editor"})
        asked = AuthorizationRequest(client.id, CALLBACK, True, CHALLENGE, resource)
        audit = AuditDraft("oauth.allow", who.organization_id, who.user_id, client.id, {}, {})
        code = accounts.grants.allow(asked, who.user_id, who.organization_id, audit)
        return accounts.grants.redeem(client, form(code, resource)).access_token

    return await in_thread(grant)


async def test_what_a_person_granted_for_mcp_opens_no_other_surface(world: World, ada: Person) -> None:
    token = await client_token(world, ada)
    assert (await world.ask("MCP", bearer(token))).admitted
    for surface in SURFACES:
        assert not (await world.ask(surface, cookie(token))).admitted, surface
    for surface in ("REST", "WebSocket"):
        assert not (await world.ask(surface, bearer(token))).admitted, surface
    assert not (await world.ask("MCP", [("Host", "localhost:1"), *bearer(token)])).admitted, "it is for one address"
    assert (await world.post("/api/auth/api-keys", {}, token)).status_code == 401
    assert 'name="password"' in (await world.send("GET", "/login", Cookie=f"{COOKIE}={token}")).text
    assert (await world.ask("MCP", bearer(token))).admitted, "none of it ended the grant"


@pytest.mark.parametrize(
    "change", [str.upper, lambda token: token[:-1], lambda token: token + "A", lambda token: "eng_rt_" + token[7:]]
)
async def test_a_client_token_is_one_to_the_letter(world: World, ada: Person, change: Callable[[str], str]) -> None:
    token = await client_token(world, ada)
    for surface in SURFACES:
        assert not (await world.ask(surface, bearer(change(token)))).admitted
