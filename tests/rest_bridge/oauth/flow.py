"""One client, one browser and the steps between them, each of which a test can do wrongly."""

import base64
import hashlib
import html
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from tests.people import PASSWORD, Person
from tests.rest_bridge.harness import BASE, Client

VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
CALLBACK = "http://127.0.0.1:5555/callback"
RESOURCE = f"{BASE}/mcp"
RPC = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


def form(code: str, resource: str = RESOURCE) -> dict[str, str]:
    return {"code": code, "code_verifier": VERIFIER, "redirect_uri": CALLBACK, "resource": resource}


@dataclass
class Flow:
    browser: Client
    client_id: str = ""

    async def register(self, **described: Any) -> dict[str, Any]:
        metadata = {"redirect_uris": [CALLBACK], "client_name": "Editor", **described}
        answer = await self.browser.post("/register", json=metadata)
        assert answer.status_code == 201, answer.text
        self.client_id = answer.json()["client_id"]
        return dict(answer.json())

    async def sign_in(self, person: Person) -> None:
        answer = await self.browser.post("/login", data={"email": person.email, "password": PASSWORD})
        assert answer.status_code == 303, answer.text

    def asked(self, **changes: str | None) -> dict[str, str]:
        query = {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": CALLBACK, "state": "st&te ü",
            "code_challenge": CHALLENGE, "code_challenge_method": "S256", "resource": RESOURCE, "scope": "mcp",
            **changes,
        }  # fmt: skip
        return {name: value for name, value in query.items() if value is not None}

    async def ask(self, **changes: str | None) -> httpx2.Response:
        return await self.browser.get("/authorize", params=self.asked(**changes))

    async def decide(
        self, page: httpx2.Response, decision: str = "allow", *, headers: dict[str, str] | None = None, **fields: str
    ) -> httpx2.Response:
        form = {"ticket": hidden_field(page, "ticket"), "organization": chosen(page), "decision": decision, **fields}
        return await self.browser.post("/authorize", data=form, headers=headers)

    async def code(self, **changes: str | None) -> str:
        answer = await self.decide(await self.ask(**changes))
        return returned(answer)["code"]

    async def exchange(self, code: str, **changes: str | None) -> httpx2.Response:
        form = {
            "grant_type": "authorization_code", "client_id": self.client_id, "code": code, "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER, "resource": RESOURCE, **changes,
        }  # fmt: skip
        return await self.token(**form)

    async def refresh(self, token: str, **changes: str | None) -> httpx2.Response:
        form = {"grant_type": "refresh_token", "client_id": self.client_id, "refresh_token": token, **changes}
        return await self.token(**form)

    async def token(self, **form: str | None) -> httpx2.Response:
        data = {name: value for name, value in form.items() if value is not None}
        return await self.browser.post("/token", data=data)

    async def tokens(self) -> dict[str, Any]:
        answer = await self.exchange(await self.code())
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def call(self, token: str, tool: str = "search", **arguments: Any) -> httpx2.Response:
        message = {**RPC, "params": {"name": tool, "arguments": arguments or {"query": "anything"}}}
        return await self.browser.post("/mcp", json=message, headers={**HEADERS, **bearer(token)})

    async def holds(self, token: str) -> bool:
        answer = await self.call(token)
        assert answer.status_code in (200, 401), answer.text
        return answer.status_code == 200


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def hidden_field(page: httpx2.Response, name: str) -> str:
    assert page.status_code == 200, page.text
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, page.text
    return html.unescape(found[1])


def chosen(page: httpx2.Response) -> str:
    found = re.search(r'name="organization" value="([^"]*)" required checked', page.text)
    assert found is not None, page.text
    return found[1]


def returned(answer: httpx2.Response, to: str = CALLBACK) -> dict[str, str]:
    assert answer.status_code == 303, answer.text
    address = urlsplit(answer.headers["location"])
    assert f"{address.scheme}://{address.netloc}{address.path}" == to
    return {name: values[0] for name, values in parse_qs(address.query, strict_parsing=True).items()}
