"""Logging in from a shell, against a real server; the decision is made over HTTP, as a browser would."""

import base64
import json
import re
import stat
import subprocess
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from auth.tokens import Tokens
from cli.client.credentials import Credential, Credentials
from stores.records import Session
from tests.cli.client.conftest import PASSWORD, SECRET, Shell, bearer, rest_of, signed_up
from tools.runtime.launch import ServerProcess

pytestmark = pytest.mark.slow


def code_from(process: "subprocess.Popen[str]") -> str:
    for line in process.stdout:
        if found := re.search(r"user_code=([A-Z]{4}-[A-Z]{4})", line):
            return found[1]
    raise AssertionError("it ended without a code")


def decide(http: httpx2.Client, signed: dict[str, Any], user_code: str, approve: bool) -> httpx2.Response:
    body = {"user_code": user_code, "approve": approve}
    return http.post("/api/auth/device/verify", json=body, headers=bearer(signed))


def log_in(shell: Shell, server: ServerProcess, email: str = "ada@example.org") -> None:
    code, said = shell.run("login", "--url", server.address, "--email", email, typed=PASSWORD + "\n")
    assert code == 0, said


def kept(shell: Shell, server: ServerProcess) -> Credential:
    return shell.file.read().servers[server.address]


def put(shell: Shell, server: ServerProcess, credential: Credential) -> None:
    with shell.file.locked():
        shell.file.write(Credentials(server.address, {server.address: credential}))


def test_a_person_logs_in_with_a_browser_and_out_again(
    shell: Shell, server: ServerProcess, http: httpx2.Client, ada: dict[str, Any]
) -> None:
    with shell.start("login", "--url", server.address) as login:
        user_code = code_from(login)
        seen = http.get("/api/auth/device/verify", params={"user_code": user_code}, headers=bearer(ada)).json()
        assert re.match(r"engrain on .+", seen["client_name"])
        assert re.match(r"engrain/\S+ \(", seen["user_agent"])
        assert decide(http, ada, user_code, True).status_code == 200
        code, said = rest_of(login)
    assert code == 0, said
    assert f"Logged in to {server.address} as Ada <ada@example.org>" in said
    assert stat.S_IMODE(shell.file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(shell.file.folder.stat().st_mode) == 0o700

    code, said = shell.run("whoami")
    assert code == 0
    assert "Ada <ada@example.org>" in said
    assert server.address in said
    listed = http.get("/api/users/me/sessions", headers=bearer(ada)).json()["sessions"]
    assert [each["provider"] for each in listed].count("device") == 1

    assert shell.run("logout") == (0, f"Logged out of {server.address}.\n")
    listed = http.get("/api/users/me/sessions", headers=bearer(ada)).json()["sessions"]
    assert "device" not in [each["provider"] for each in listed]
    assert shell.run("whoami", "--url", server.address)[0] == 3
    assert ada["access_token"] not in shell.file.path.read_text()


def test_a_denied_login_says_so_and_keeps_nothing(
    shell: Shell, server: ServerProcess, http: httpx2.Client, ada: dict[str, Any]
) -> None:
    with shell.start("login", "--url", server.address, "--no-browser") as login:
        decide(http, ada, code_from(login), False)
        code, said = rest_of(login)
    assert (code, "The login was denied." in said) == (1, True)
    assert not shell.file.path.exists()


def test_a_browser_is_opened_where_there_is_a_screen(
    shell: Shell, server: ServerProcess, http: httpx2.Client, ada: dict[str, Any]
) -> None:
    browser = shell.home / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > opened\n')
    browser.chmod(0o700)
    screen = {"DISPLAY": ":0", "BROWSER": f"{browser} %s"}
    for environ, opens in ((screen, True), (screen | {"SSH_CONNECTION": "1"}, False)):
        (shell.home / "opened").unlink(missing_ok=True)
        with shell.start("login", "--url", server.address, **environ) as login:
            user_code = code_from(login)
            decide(http, ada, user_code, False)
            assert rest_of(login)[0] == 1
        assert (shell.home / "opened").exists() is opens
        if opens:
            expected = f"{server.address}/device?user_code={user_code}"
            assert (shell.home / "opened").read_text().strip() == expected


def test_a_password_comes_from_a_pipe_and_a_wrong_one_is_refused(
    shell: Shell, server: ServerProcess, ada: dict[str, Any]
) -> None:
    words = ("login", "--url", server.address, "--email", ada["user"]["email"])
    code, said = shell.run(*words, typed="wrong\n")
    assert (code, "not right" in said, "wrong" in said.replace("not right", "")) == (3, True, False)
    assert shell.run(*words, typed=f"{PASSWORD}\n")[0] == 0
    assert shell.run(*words)[0] == 2


def test_logging_in_again_ends_the_session_before(shell: Shell, server: ServerProcess, http: httpx2.Client) -> None:
    signed_up(http, "again")
    log_in(shell, server, "again@example.org")
    before = kept(shell, server)
    log_in(shell, server, "again@example.org")
    assert http.get("/api/auth/me", headers={"Authorization": f"Bearer {before.token}"}).status_code == 401
    assert shell.run("whoami")[0] == 0


def test_an_api_key_is_kept_until_it_is_revoked(
    shell: Shell, server: ServerProcess, http: httpx2.Client, ada: dict[str, Any]
) -> None:
    def made(*scopes: str) -> dict[str, Any]:
        body = {"name": "shell", "scopes": scopes}
        return dict(http.post("/api/auth/api-keys", json=body, headers=bearer(ada)).json())

    key, weak = made("api:read"), made("mcp")
    words = ("login", "--api-key", "--url", server.address)
    code, said = shell.run(*words, typed=weak["api_key"])
    assert (code, "api:read" in said) == (1, True)
    assert shell.run(*words, typed="sk_live_" + "x" * 43)[0] == 3
    assert shell.run(*words, typed="not a key")[0] == 1
    assert shell.run(*words, typed=f"{key['api_key']}\n")[0] == 0
    described = json.loads(shell.run("whoami", "--json")[1])
    assert (described["credential"], described["access_token_expires_at"]) == ("api_key", None)
    http.post(f"/api/auth/api-keys/{key['id']}/revoke", headers=bearer(ada))
    code, said = shell.run("whoami")
    assert (code, "API key" in said, key["api_key"] in said) == (3, True, False)
    assert "still holds until it is revoked" in shell.run("logout")[1]


def test_the_environment_wins_over_what_is_kept(shell: Shell, server: ServerProcess, ada: dict[str, Any]) -> None:
    log_in(shell, server)
    code, said = shell.run("whoami", ENGRAIN_TOKEN="nonsense")
    assert (code, "ENGRAIN_TOKEN" in said) == (3, True)
    code, said = shell.run("whoami", ENGRAIN_TOKEN="tökén")
    assert (code, "ENGRAIN_TOKEN contains a space" in said) == (2, True)
    code, said = shell.run("whoami", ENGRAIN_URL="http://127.0.0.1:9")
    assert (code, "http://127.0.0.1:9" in said) == (3, True)
    shell.file.path.unlink()
    environ = {"ENGRAIN_URL": f"{server.address}/", "ENGRAIN_TOKEN": str(ada["access_token"])}
    described = json.loads(shell.run("whoami", "--json", **environ)[1])
    assert (described["credential"], described["server"]) == ("environment", server.address)
    assert not shell.file.path.exists()
    code, said = shell.run("whoami", ENGRAIN_URLS=server.address)
    assert "did you mean ENGRAIN_URL?" in said


def expired(token: str) -> str:
    body = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    hour = timedelta(hours=1)
    now = datetime.now(UTC)
    tokens = Tokens(SECRET, "HS256", hour, hour, lambda: now - 3 * hour)
    return tokens.access(Session(claims["sid"], claims["sub"], claims["org"], "r", now, now, None))


@pytest.fixture
def stale(shell: Shell, server: ServerProcess, ada: dict[str, Any]) -> Credential:
    log_in(shell, server)
    held = kept(shell, server)
    old = replace(held, token=expired(held.token), expires_at=int(time.time()) - 7200)
    put(shell, server, old)
    return old


@pytest.mark.parametrize("known", [True, False], ids=["by the clock", "by the server's word"])
def test_an_expired_access_token_is_renewed(
    shell: Shell, server: ServerProcess, stale: Credential, known: bool
) -> None:
    if not known:
        put(shell, server, replace(stale, expires_at=int(time.time()) + 3600))
    assert shell.run("whoami")[0] == 0
    now = kept(shell, server)
    assert now.refresh_token != stale.refresh_token
    assert (now.expires_at or 0) > time.time() + 3000


@pytest.mark.parametrize("known", [True, False], ids=["by the clock", "by the server's word"])
def test_commands_at_once_use_a_refresh_token_once(
    shell: Shell, server: ServerProcess, http: httpx2.Client, stale: Credential, known: bool
) -> None:
    if not known:
        put(shell, server, replace(stale, expires_at=int(time.time()) + 3600))
    running = [shell.start("whoami") for _ in range(5)]
    ended = [rest_of(process) for process in running]
    assert [code for code, _ in ended] == [0] * 5, ended
    assert shell.run("whoami")[0] == 0, "the session lives on"
    replayed = http.post("/api/auth/refresh", json={"refresh_token": stale.refresh_token})
    assert replayed.status_code == 401


def test_a_session_that_was_ended_elsewhere_is_said_and_forgotten(
    shell: Shell, server: ServerProcess, http: httpx2.Client, ada: dict[str, Any]
) -> None:
    log_in(shell, server)
    held = kept(shell, server)
    http.post("/api/auth/logout", json={"refresh_token": held.refresh_token})
    code, said = shell.run("whoami")
    assert (code, "has ended" in said, f"engrain login --url {server.address}" in said) == (3, True, True)
    assert shell.file.read() == Credentials()
    assert "not logged in" in shell.run("logout")[1]


def test_logging_out_of_a_server_that_is_gone_forgets_it_and_warns(shell: Shell) -> None:
    address = "http://127.0.0.1:9"
    with shell.file.locked():
        shell.file.write(Credentials(address, {address: Credential("session", "a", "a@example.org", "r", 1)}))
    code, said = shell.run("logout")
    assert (code, "Forgot the login" in said, "goes on until" in said) == (0, True, True)
    assert shell.file.read() == Credentials()


@pytest.mark.parametrize(
    "words", [("--email", "a@example.org", "--api-key"), ("--url", "ftp://x")], ids=["two ways", "no address"]
)
def test_a_command_line_that_makes_no_sense_is_refused(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run("login", *words)[0] == 2


DAMAGED = {
    "no JSON": "{",
    "no object": "[]",
    "another version": '{"version": 2, "default": null, "servers": {}}',
    "no credential": '{"version": 1, "default": null, "servers": {"http://x": {}}}',
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
@pytest.mark.parametrize("command", ["login", "logout", "whoami"])
def test_a_damaged_file_is_named_and_left_alone(shell: Shell, command: str, content: str) -> None:
    shell.file.folder.mkdir(parents=True)
    shell.file.path.write_text(content)
    shell.file.path.chmod(0o600)
    code, said = shell.run(command, "--url", "http://127.0.0.1:9")
    assert (code, "is damaged" in said, f"rm '{shell.file.path}'" in said) == (1, True, True)
    assert shell.file.path.read_text() == content


def test_a_file_that_others_can_read_is_closed_to_them(shell: Shell) -> None:
    credential = Credential("session", "a", "a@example.org", "r", 1)
    shell.file.folder.mkdir(parents=True)
    body = {"version": 1, "default": None, "servers": {"http://x": asdict(credential)}}
    shell.file.path.write_text(json.dumps(body))
    shell.file.path.chmod(0o644)
    code, said = shell.run("whoami", "--url", "http://127.0.0.1:9")
    assert (code, "others could read" in said) == (3, True)
    assert stat.S_IMODE(shell.file.path.stat().st_mode) == 0o600
    assert shell.file.read().servers == {"http://x": credential}
