"""What pages of other sites can make a visitor's browser do here: nothing that changes anything."""

import re

import pytest

from tests.people import PASSWORD, Person
from tests.security.harness import COOKIE, REFRESH_COOKIE, World
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation

pytestmark = pytest.mark.anyio

FOREIGN = {
    "null origin": {"Origin": "null"},
    "null origin, cross-site": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    "another site": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "another scheme": {"Origin": "https://127.0.0.1"},
    "a host below": {"Origin": "http://evil.127.0.0.1"},
    "a host that begins like ours": {"Origin": "http://127.0.0.1.evil.example"},
    "a name before an at sign": {"Origin": "http://127.0.0.1@evil.example"},
    "only the fetch metadata": {"Sec-Fetch-Site": "cross-site"},
    "a sister host": {"Sec-Fetch-Site": "same-site"},
    "an unknown word": {"Sec-Fetch-Site": "trust-me"},
}
CHANGING = [each for each in OPERATIONS if each.route is not None and each.route.method != "GET"]
PROTECTED = [each for each in CHANGING if each.roles is not None]
HANDING_OUT = [each for each in CHANGING if each.roles is None and each.route and each.route.cookies == "set"]


def path_of(operation: Operation) -> str:
    assert operation.route is not None
    return re.sub(r"\{\w+\}", "x", operation.route.path)


def name_of(operation: Operation) -> str:
    return operation.name


@pytest.mark.parametrize("operation", PROTECTED, ids=name_of)
async def test_no_writing_route_trusts_a_cross_site_cookie(world: World, ada: Person, operation: Operation) -> None:
    """Refused before anything is read: the answer is the same for bodies that make no sense."""
    assert operation.route is not None
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        cookies = {"Cookie": f"{COOKIE}={ada.token}; {REFRESH_COOKIE}={ada.signed.refresh_token}"}
        answer = await world.send(operation.route.method, path_of(operation), {}, **cookies, **headers)
        assert (answer.status_code, answer.json()["error"]) == (403, "cross_origin_refused")


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
async def test_another_site_neither_writes_nor_listens_with_the_cookie_nor_signs_a_visitor_in(
    world: World, ada: Person, headers: dict[str, str]
) -> None:
    """Signed in, the visitor would go on in the attacker's account, and leave there what should be kept."""
    held, account = f"{COOKIE}={ada.token}", {"email": ada.email, "password": PASSWORD}
    signed_in = await world.post("/api/auth/local/login", account, **headers)
    for answer in (signed_in, await world.post("/api/entities", {"name": "n"}, Cookie=held, **headers)):
        assert (answer.status_code, answer.json()["error"]) == (403, "cross_origin_refused")
    assert "set-cookie" not in signed_in.headers
    assert (await world.send("GET", "/api/entities", token=ada.token)).json()["total"] == 0
    heard = await world.ask("WebSocket", [("Cookie", held), *headers.items()])
    assert (heard.admitted, heard.status) == (False, 1008)


@pytest.mark.parametrize("operation", HANDING_OUT, ids=name_of)
async def test_no_route_hands_cookies_to_pages_of_other_sites(world: World, operation: Operation) -> None:
    assert operation.route is not None
    answer = await world.send(operation.route.method, path_of(operation), {}, Origin="https://evil.example")
    assert (answer.status_code, answer.json()["error"]) == (403, "cross_origin_refused")


async def test_another_site_does_not_sign_a_visitor_out(world: World, ada: Person) -> None:
    for held in (f"{COOKIE}={ada.token}", f"{REFRESH_COOKIE}={ada.signed.refresh_token}"):
        answer = await world.post("/api/auth/logout", {}, Cookie=held, Origin="https://evil.example")
        assert (answer.status_code, answer.json()["error"]) == (403, "cross_origin_refused")
    assert (await world.send("GET", "/api/auth/me", token=ada.token)).status_code == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
async def test_a_form_of_another_site_is_not_taken_for_json(world: World, ada: Person, content_type: str) -> None:
    """These are the types that a page can send without asking the server first."""
    answer = await world.http.post(
        "/api/entities",
        content='{"name": "n", "x": "=',
        headers={"Content-Type": content_type, "Cookie": f"{COOKIE}={ada.token}", "Sec-Fetch-Site": "cross-site"},
    )
    assert answer.status_code == 403
    as_us = {"Content-Type": content_type, "Authorization": f"Bearer {ada.token}"}
    assert (await world.http.post("/api/entities", content='{"name": "n"}', headers=as_us)).status_code == 415


@pytest.mark.parametrize("path", ["/api/entities", "/api/auth/local/login", "/api/auth/me", "/mcp", "/api/ws"])
async def test_without_a_setting_no_page_of_another_site_reads_an_answer(world: World, ada: Person, path: str) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answers = [
        await world.send("OPTIONS", path, **asked, **{"Access-Control-Request-Headers": "authorization"}),
        await world.send("GET", path, Origin="https://evil.example"),
        await world.send("POST", path, {}, ada.token, Origin="null"),
    ]
    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "headers", [{"X-HTTP-Method-Override": "DELETE"}, {"X-HTTP-Method": "DELETE"}, {"X-Method-Override": "DELETE"}]
)
async def test_a_method_is_what_the_request_line_says(world: World, ada: Person, headers: dict[str, str]) -> None:
    made = (await world.post("/api/entities", {"name": "n", "sync": True}, ada.token)).json()["id"]
    path = f"/api/entities/{made}"
    assert (await world.send("GET", path, token=ada.token, **headers)).json()["id"] == made
    assert (await world.send("GET", f"{path}?_method=DELETE", token=ada.token)).status_code == 200
    assert (await world.send("POST", path, {"_method": "DELETE"}, ada.token, **headers)).status_code == 405
    assert (await world.send("GET", path, token=ada.token)).status_code == 200


@pytest.mark.parametrize("method", ["TRACE", "PUT", "PROPFIND", "OPTIONS"])
@pytest.mark.parametrize("path", ["/api/entities", "/api/auth/local/login"])
async def test_methods_that_no_route_has_are_refused(world: World, ada: Person, method: str, path: str) -> None:
    answer = await world.send(method, path, token=ada.token)
    assert answer.status_code == 405
    assert ada.token not in answer.text
