"""A real server process is fed with secrets and with text that would forge log lines: neither comes out again."""

import json
import re
import socket
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx2
import pytest
from websockets.sync.client import connect

from tests.rest_bridge.test_mcp_mount import answer_in, call
from tests.security.harness import AGENT
from tools.runtime.launch import server_process

PASSWORD, OTHER_PASSWORD = "pass-secret-one-phrase", "pass-secret-two-phrase"
SHORT, LONG = "sec-sh!", "sec-long-" + "x" * 200
JWT_SECRET = "jwt-secret-0123456789-0123456789-abcdef"
SCRAPE_TOKEN = "scrape-secret-0123456789"
TEXT = "text-that-somebody-remembers"
FORGED = 'x\r\n2026-01-01T00:00:00Z [info ] request user_id=forged\r\n{"event": "forged"}'
ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b2J\u2028\u202e\x08"
NAME = f"{FORGED}{ESCAPES}"


@dataclass
class Story:
    folder: Path
    style: str
    # A list: access tokens of one session that were issued within one second are equal.
    secrets: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    pages: dict[str, str] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    log: str = ""


class Client:
    def __init__(self, http: httpx2.Client, story: Story) -> None:
        self.http, self.story, self.token = http, story, ""

    def send(self, method: str, path: str, body: object = None, **headers: str) -> httpx2.Response:
        bearer = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.http.request(method, path, json=body, headers={**bearer, **named})
        self.http.cookies.clear()
        if answer.status_code >= 400:
            self.story.refusals.append(answer.text)
        return answer


def live(client: Client, address: str) -> None:
    secrets = client.story.secrets
    secrets += [PASSWORD, OTHER_PASSWORD, SHORT, LONG, JWT_SECRET, SCRAPE_TOKEN, TEXT]
    account = {"email": "ada@example.org", "password": PASSWORD, "name": NAME}
    signed = client.send("POST", "/api/auth/local/signup", account, X_Request_ID="a b").json()
    for wrong in (SHORT, LONG, 5, None, [PASSWORD], {"a": PASSWORD}):
        client.send("POST", "/api/auth/local/signup", {**account, "password": wrong})
        client.send("POST", "/api/auth/local/login", {**account, "password": wrong})
    client.send("POST", "/api/auth/local/login", {"email": PASSWORD, "password": OTHER_PASSWORD})
    client.send("POST", "/api/auth/local/signup", account)
    client.token = signed["access_token"]
    secrets += [signed["access_token"], signed["refresh_token"]]
    renewed = client.send("POST", "/api/auth/refresh", {"refresh_token": signed["refresh_token"]}).json()
    client.token = renewed["access_token"]
    secrets += [renewed["access_token"], renewed["refresh_token"]]
    change = {"current_password": OTHER_PASSWORD, "new_password": PASSWORD}
    client.send("POST", "/api/users/me/password", change)
    client.send("POST", "/api/users/me/password", {**change, "new_password": SHORT})
    made = client.send("POST", "/api/auth/api-keys", {"name": NAME[:250], "scopes": ["mcp", "api:write"]}).json()
    secrets.append(made["api_key"])
    slug = client.send("GET", "/api/orgs").json()["orgs"][0]["slug"]
    invited = client.send("POST", f"/api/orgs/{slug}/invitations", {"email": "grace@example.org"}).json()
    token = invited["invitation"]["accept_url"].rsplit("/", 2)[-2]
    secrets.append(token)
    client.send("POST", f"/api/invitations/{token}/accept", {})
    bearer = {"Authorization": f"Bearer {client.token}"}
    with connect(address.replace("http", "ws") + "/api/ws", additional_headers=bearer, proxy=None) as ear:
        ear.send('{"type": "ping"}')
        ear.recv()
        client.send("POST", "/api/entities", {"name": NAME[:200], "content": TEXT, "sync": True})
        client.story.events.append(str(ear.recv()))
    client.send("POST", "/api/entities", {"name": TEXT * 20})
    client.send("GET", f"/api/entities/{quote(NAME)}")
    client.send("POST", "/api/search", {"query": TEXT})
    client.send("GET", f"/api/nowhere/%1b[31m%0d%0aforged?token={client.token}")
    client.send("GET", f"/api/entities?access_token={client.token}&page=x")
    tool = call("add", title=NAME[:200], content=TEXT, agent=ESCAPES)
    client.http.post("/mcp", json=tool, headers={**AGENT, "Authorization": f"Bearer {made['api_key']}"})
    client.send("POST", "/api/users/password/reset", {"email": "ada@example.org"})


def shout(address: str, token: str) -> None:
    host, port = urlsplit(address).hostname, urlsplit(address).port
    for header in (
        b"User-Agent: a\rforged: b", b"User-Agent: \x1b[31mred\x07", b"X-Request-ID: req\x1b[2J",
        b"X-Request-ID: a\tb", b"User-Agent: \xff\xfe", f"X-Request-ID: {token}".encode(),
    ):  # fmt: skip
        head = b"GET /api/auth/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer " + token.encode()
        with socket.create_connection((host, port), timeout=10) as wire:
            wire.sendall(head + b"\r\n" + header + b"\r\n\r\n")
            while wire.recv(65536):
                pass


@pytest.fixture(scope="module", params=["json", "console"])
def story(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Story:
    story = Story(tmp_path_factory.mktemp("leaks"), request.param)
    environ = {
        "ENGRAIN_EMBEDDING_PROVIDER": "none", "ENGRAIN_LOG_FORMAT": request.param, "ENGRAIN_LOG_LEVEL": "debug",
        "ENGRAIN_JWT_SECRET": JWT_SECRET, "ENGRAIN_METRICS_SCRAPE_TOKEN": SCRAPE_TOKEN,
        "ENGRAIN_RATE_LIMIT_ENABLED": "false",
    }  # fmt: skip
    with server_process(story.folder, environ=environ) as server:
        with httpx2.Client(base_url=server.address, trust_env=False, timeout=30) as http:
            client = Client(http, story)
            live(client, server.address)
            shout(server.address, client.token)
            for path in ("/metrics", "/api/openapi.json", "/api/docs", "/api/health/ready"):
                story.pages[path] = client.send("GET", path).text
            told = http.post(
                "/mcp", json=call("logs", limit=500), headers={**AGENT, "Authorization": f"Bearer {client.token}"}
            )
            story.pages["the log tool"] = json.dumps(answer_in(told)["result"], ensure_ascii=False)
        server.stop()
        story.log = server.log.read_text(encoding="utf-8")
    for letter in (story.folder / "mail").glob("*.eml"):
        text = message_from_bytes(letter.read_bytes(), policy=policy.default).get_content()
        story.secrets += [line for line in text.splitlines() if len(line) == 43]
    return story


def leaked(story: Story, text: str) -> list[str]:
    return [secret for secret in story.secrets if secret in text]


def test_no_secret_and_no_text_is_in_the_log(story: Story) -> None:
    assert len(story.secrets) == 14
    assert story.log.count("request") > 30, "it was written"
    # A request id is the caller's to choose; one that is a token is not one of 128 characters.
    assert leaked(story, story.log) == []


def test_nobody_forges_a_line_of_the_log(story: Story) -> None:
    lines = story.log.splitlines()
    if story.style == "json":
        entries = [json.loads(line) for line in lines if line.startswith("{")]
        assert len(entries) > 30
        assert "forged" not in {entry["event"] for entry in entries}
        assert all(line.startswith("{") for line in lines if "forged" in line)
    assert not [line for line in lines if re.match(r'(2026-01-01|\{"event": "forged)', line)]
    control = {character for character in story.log if ord(character) < 32 or 127 <= ord(character) < 160} - {"\n"}
    assert control == set()
    assert not {"\u2028", "\u202e"} & set(story.log)


def test_no_secret_is_in_a_refusal(story: Story) -> None:
    assert len(story.refusals) > 15
    # The text of a search or a path is the caller's own, and may be named to it; secrets may not.
    for refusal in story.refusals:
        assert [secret for secret in leaked(story, refusal) if secret != TEXT] == [], refusal


def test_no_secret_is_in_metrics_documents_the_log_tool_or_events(story: Story) -> None:
    assert story.pages["/metrics"].startswith("# HELP")
    for name, page in story.pages.items():
        assert leaked(story, page) == [], name
    assert story.events
    assert leaked(story, str(story.events)) == []
    assert "eyJ" not in story.pages["/api/openapi.json"]
    assert not re.search(r"sk_(live|test)_[A-Za-z0-9_-]{43}", story.pages["/api/openapi.json"])


def test_secrets_are_nowhere_in_the_data_folder_but_in_the_mail(story: Story) -> None:
    kept = b"".join(file.read_bytes() for file in story.folder.rglob("*") if file.is_file() and file.suffix != ".eml")
    assert TEXT.encode() in kept
    assert [each for each in story.secrets if each != TEXT and each.encode() in kept] == []


def test_what_holds_secrets_is_readable_by_its_owner_only(story: Story) -> None:
    for file in [story.folder / "ledger.sqlite", *story.folder.glob("mail/*.eml"), *story.folder.glob("jwt_secret")]:
        assert file.stat().st_mode & 0o077 == 0, file.name
