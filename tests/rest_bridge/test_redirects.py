"""Operations that answer a browser: with a place to go to, and with cookies."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import Field

from rest_bridge.application import build_asgi
from rest_bridge.openapi import build_document
from tests.rest_bridge.harness import Client, client_of
from tools.app import App
from tools.frame.operation import Call, Cookie, Operation, Redirect, Request, Route

pytestmark = pytest.mark.anyio


class GoRequest(Request):
    to: str = Field(description="Where to.")


async def go(_app: App, call: Call, request: GoRequest) -> Redirect:
    last = call.cookies.get("last", "")
    return Redirect(location=request.to, cookies=(Cookie(name="last", value=last + request.to[1:], lifetime_s=600),))


GO = Operation(go, roles=None, route=Route("GET", "/api/go", status=302))


@pytest.fixture
async def browser(app: App) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app, (GO,))) as client:
        yield client


async def test_a_browser_is_told_where_to_go_and_what_to_keep(browser: Client) -> None:
    answer = await browser.get("/api/go", params={"to": "/there"})
    assert (answer.status_code, answer.headers["location"], answer.content) == (302, "/there", b"")
    assert answer.headers["set-cookie"] == "last=there; HttpOnly; Max-Age=600; Path=/; SameSite=Lax"
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")


async def test_an_operation_for_browsers_reads_their_cookies(browser: Client) -> None:
    answer = await browser.get("/api/go", params={"to": "/b"}, headers={"Cookie": "last=a"})
    assert answer.headers["set-cookie"].startswith("last=ab;")


def test_the_document_says_that_there_is_no_body_but_a_location() -> None:
    document: dict[str, Any] = build_document((GO,), version="1", server=None, extra={})
    found = document["paths"]["/api/go"]["get"]["responses"]["302"]
    assert "content" not in found
    assert found["headers"]["Location"]["required"]
    assert "Redirect" not in document["components"]["schemas"]
