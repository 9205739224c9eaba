"""The reference page."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import httpx2
import pytest

from rest_bridge.docs_page import render_page
from rest_bridge.openapi import build_document
from tests.rest_bridge.notes import NoteIdRequest, Notes, Said
from tools.app import App
from tools.operation import Call, Operation, Route

pytestmark = pytest.mark.anyio

VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Collects what a page refers to, and complains of tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if identity := found.get("id"):
            assert identity not in self.ids, f"{identity} is there twice"
            self.ids.add(identity)
        if tag == "a":
            self.links.add(found["href"] or "")
        self.fetched += [value for name, value in attrs if name in ("src", "srcset", "style", "onclick") and value]
        assert tag not in ("link", "img", "iframe", "object")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_the_page_is_well_formed_and_fetches_nothing(client: httpx2.AsyncClient) -> None:
    response = await client.get("/api/docs")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    page = Page()
    page.feed(response.text)
    assert not page.open
    assert not page.fetched
    assert "http://" not in response.text
    assert "https://" not in response.text
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside - {"log_in"} <= page.ids
    assert {link for link in page.links if not link.startswith("#")} == {"/api/openapi.json"}


async def test_the_policy_allows_exactly_the_pages_own_style_and_script(client: httpx2.AsyncClient) -> None:
    response = await client.get("/api/docs")
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        [source] = re.findall(rf"<{tag}>(.*?)</{tag}>", response.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


async def test_every_operation_is_on_the_page(client: httpx2.AsyncClient, notes: Notes) -> None:
    text = (await client.get("/api/docs")).text
    for operation in notes.operations():
        assert f'id="{operation.name}"' in text


async def markup(_app: App, _call: Call, _request: NoteIdRequest) -> Said:
    """Say <script>alert(1)</script> & "more"."""
    return Said(said="")


def test_descriptions_are_text_and_not_markup() -> None:
    operation = Operation(markup, route=Route("GET", "/api/markup/{note_id}"))
    text = render_page(build_document([operation], version="1", server=None, extra={}))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;more&quot;" in text
