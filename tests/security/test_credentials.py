"""Which credential counts when several come, and places where none is looked for."""

import pytest

from tests.people import Person
from tests.security.harness import COOKIE, REFRESH_COOKIE, SURFACES, Headers, World, bearer, cookie

pytestmark = pytest.mark.anyio

BROWSERS = ("REST", "WebSocket")
"""Surfaces that take the cookie."""


@pytest.mark.parametrize("surface", SURFACES)
async def test_several_authorization_headers_fail(world: World, ada: Person, eve: Person, surface: str) -> None:
    """A proxy may have checked one of them and we another."""
    for headers in (
        bearer(ada.token) + bearer(eve.token), bearer(ada.token) * 2, bearer("nonsense") + bearer(ada.token),
        [("Authorization", "Basic eDp5"), *bearer(ada.token)], [*bearer(ada.token), ("authorization", "")],
    ):  # fmt: skip
        heard = await world.ask(surface, headers)
        assert (heard.admitted, heard.status in (401, 1008)) == (False, True), (headers, heard)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    "value",
    [
        "Bearer {token}, Bearer {token}", "Bearer {token} {token}", "Bearer={token}", "{token}", "Token {token}",
        "Bearer", "Bearer x.y.z",
    ],
)  # fmt: skip
async def test_a_token_in_another_dress_is_none(world: World, ada: Person, surface: str, value: str) -> None:
    heard = await world.ask(surface, [("Authorization", value.format(token=ada.token))])
    assert not heard.admitted


async def test_the_header_wins_over_the_cookie_even_when_bad(world: World, ada: Person, eve: Person) -> None:
    both = [*bearer(ada.token), *cookie(eve.token)]
    assert ada.email in (await world.ask("REST", both)).text
    for surface in BROWSERS:
        assert (await world.ask(surface, [*bearer(ada.token), *cookie("nonsense")])).admitted
        assert not (await world.ask(surface, [*bearer("nonsense"), *cookie(ada.token)])).admitted


async def test_a_socket_with_both_hears_what_the_header_may(world: World, ada: Person, eve: Person) -> None:
    async with world.socket([*bearer(ada.token), *cookie(eve.token)]) as socket:
        await socket.send('{"type": "ping"}')
        assert "pong" in str(await socket.recv())
        theirs = (await world.post("/api/entities", {"name": "n", "sync": True}, eve.token)).json()["id"]
        mine = (await world.post("/api/entities", {"name": "n", "sync": True}, ada.token)).json()["id"]
        told = str(await socket.recv())
        assert mine in told
        assert theirs not in told


@pytest.mark.parametrize("surface", BROWSERS)
async def test_a_planted_cookie_signs_nobody_in(world: World, ada: Person, eve: Person, surface: str) -> None:
    """Whoever controls another host of the domain can set a cookie of the same name for a wider domain or path."""
    ours, planted = f"{COOKIE}={ada.token}", f"{COOKIE}={eve.token}"
    for headers in (
        [("Cookie", f"{ours}; {planted}")], [("Cookie", f"{planted}; {ours}")],
        [("Cookie", ours), ("Cookie", planted)], [("Cookie", f"{ours}; {COOKIE}=nonsense")],
        [("Cookie", f"a=b; {ours}; c=d; {planted}")],
    ):  # fmt: skip
        heard = await world.ask(surface, headers)
        assert (heard.admitted, heard.status in (401, 1008)) == (False, True), (headers, heard)
    assert (await world.ask(surface, [("Cookie", f"{ours}; {ours}")])).admitted, "twice the same is no question"


async def test_a_planted_refresh_cookie_spends_no_session(world: World, ada: Person, eve: Person) -> None:
    mine, theirs = ada.signed.refresh_token, eve.signed.refresh_token
    headers = {"Cookie": f"{REFRESH_COOKIE}={mine}; {REFRESH_COOKIE}={theirs}"}
    refused = await world.post("/api/auth/refresh", {}, **headers)
    assert refused.status_code == 401
    assert all("Max-Age=0" in line for line in refused.headers.get_list("set-cookie"))
    for token in (mine, theirs):
        assert (await world.post("/api/auth/refresh", {"refresh_token": token})).status_code == 200


@pytest.mark.parametrize("surface", BROWSERS)
@pytest.mark.parametrize(
    ("line", "admitted"),
    [
        (f"{COOKIE}={{token}}", True), (f'{COOKIE}="{{token}}"', True), (f"x=1; {COOKIE}={{token}}; y=2", True),
        (f"{COOKIE}={{token}},{COOKIE}=x", False), (f"x=1, {COOKIE}={{token}}", False),
        (f'x="; {COOKIE}=nonsense"; y={{token}}', False), (f"__Host-{COOKIE}={{token}}", False),
        (f"__Secure-{COOKIE}={{token}}", False), (f"{COOKIE.upper()}={{token}}", False),
        (f"{COOKIE}%3D{{token}}", False), (f"$Version=1; $Path=/; x{COOKIE}={{token}}", False),
        (f"={COOKIE}={{token}}", False), (f"{COOKIE}==;{{token}}", False),
    ],
)  # fmt: skip
async def test_cookies_match_whole_names(world: World, ada: Person, surface: str, line: str, admitted: bool) -> None:
    heard = await world.ask(surface, [("Cookie", line.format(token=ada.token))])
    assert heard.admitted is admitted


@pytest.mark.parametrize("surface", SURFACES)
async def test_tokens_count_only_in_header_or_cookie(world: World, ada: Person, surface: str) -> None:
    places: tuple[Headers, ...] = (
        [("X-Access-Token", ada.token)], [("X-Api-Key", ada.token)], [("Proxy-Authorization", f"Bearer {ada.token}")],
        [("X-Forwarded-Authorization", f"Bearer {ada.token}")], [("X-Original-Authorization", f"Bearer {ada.token}")],
        [("Sec-WebSocket-Protocol", f"bearer, {ada.token}")], [("Cookie", f"{REFRESH_COOKIE}={ada.token}")],
        [("X-Forwarded-User", ada.user_id), ("X-Remote-User", ada.email)],
    )  # fmt: skip
    for headers in places:
        assert not (await world.ask(surface, headers)).admitted, headers


@pytest.mark.parametrize("name", ["access_token", "token", "authorization", "api_key", COOKIE])
async def test_a_token_in_the_address_or_the_body_is_not_seen(world: World, ada: Person, name: str) -> None:
    """Addresses end in logs and histories."""
    assert (await world.send("GET", f"/api/auth/me?{name}={ada.token}")).status_code == 401
    assert (await world.post("/api/search", {"query": "x", name: ada.token})).status_code == 401
    assert (await world.post(f"/mcp?{name}={ada.token}", {})).status_code == 401


async def test_the_cookie_does_not_open_mcp_whatever_comes_with_it(world: World, ada: Person) -> None:
    here = [("Origin", world.origin), ("Sec-Fetch-Site", "same-origin")]
    heard = await world.ask("MCP", [*cookie(ada.token), *here])
    assert (heard.admitted, heard.status) == (False, 401)
