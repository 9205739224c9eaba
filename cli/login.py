"""`engrain login` in a browser (RFC 8628), with a password or a key, `engrain logout` and `engrain whoami`."""

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlsplit

import typer

from cli.client import CommandFailed, open_client
from cli.client.client import Client, checked_token
from cli.client.credentials import Credential
from cli.client.failure import ExitCode, NotLoggedIn, Refused, Unreachable, print_json, shown, understanding, warn
from cli.client.server import JsonObject, Server, is_in_clear
from cli.options import JsonOption, UrlOption

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
SLOWER_S = 5
"""Added to the polling interval after `slow_down` (RFC 8628, section 3.5)."""
LONGEST_PAUSE_S = 30.0
_AGAIN = "Start it again with `engrain login`."


def login(
    url: UrlOption = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address instead of opening it.")] = False,
    email: Annotated[str | None, typer.Option(help="Log in with this address and a password, which is asked.")] = None,
    api_key: Annotated[bool, typer.Option("--api-key", help="Keep an API key, read from standard input.")] = False,
) -> None:
    if email is not None and api_key:
        raise CommandFailed("--email and --api-key exclude each other.", code=ExitCode.USAGE)
    with open_client(os.environ, url=url, is_local=False) as client:
        client.kept()  # Fail on a damaged credentials file before the login, not after it.
        if is_in_clear(client.server.address):
            warn(f"{client.server.address} is not encrypted: others on the way can read what you send.")
        if api_key:
            _log_in_with_key(client)
        else:
            tokens = _with_password(client, email) if email is not None else _with_browser(client, no_browser)
            _keep(client, client.session_of(tokens, str(tokens["user"]["email"])), tokens)
        if client.settings.token is not None:
            warn("ENGRAIN_TOKEN is set, and is used instead of this login.")


def _log_in_with_key(client: Client) -> None:
    key = _secret("API key").strip()
    if not key.startswith("sk_"):
        raise CommandFailed("That is not an API key: they begin with sk_live_ or sk_test_.")
    checked_token(key, "The API key")
    try:
        me = client.server.request("GET", "/api/auth/me", token=key)
    except Refused as refused:
        if refused.error == "insufficient_api_scope":
            raise CommandFailed(
                "This API key has neither of the scopes api:read and api:write, so commands can do nothing with it.",
                "Make one that has.",
            ) from None
        if refused.status != 401:
            raise
        raise NotLoggedIn(f"{client.server.address} does not accept this API key.", refused.remediation) from None
    _keep(client, Credential("api_key", key, str(me["user"]["email"])), me)


def _with_password(client: Client, email: str) -> JsonObject:
    body = {"email": email, "password": _secret("Password")}
    try:
        return client.server.request("POST", "/api/auth/local/login", body)
    except Refused as refused:
        if refused.status != 401:
            raise
        raise NotLoggedIn("The e-mail address or the password is not right.", "Check both, and try again.") from None


def _with_browser(client: Client, no_browser: bool) -> JsonObject:
    started = start(client.server, shown(f"engrain on {platform.node() or 'an unnamed machine'}")[:100])
    opened = not no_browser and _opens_browser(started.page_with_code)
    minutes, code = max(1, round(started.expires_in_s / 60)), shown(started.user_code)
    first = "Your browser opens this address" if opened else "Open this address in a browser, on any device"
    typer.echo(f"{first}:\n\n    {started.page_with_code}\n")
    typer.echo(f"Check that it shows the code {code}, and allow the login within {minutes} minutes.")
    typer.echo("Waiting for the decision; Ctrl-C stops.")
    return poll(client.server, started)


@dataclass(frozen=True, slots=True)
class Started:
    device_code: str
    user_code: str
    page_with_code: str
    expires_in_s: float
    interval_s: float


def start(server: Server, client_name: str) -> Started:
    """Begin a login, or raise Refused or Unreachable."""
    answer = server.request("POST", "/api/auth/device", {"client_name": client_name})
    with understanding(server.address):
        return Started(
            str(answer["device_code"]),
            str(answer["user_code"]),
            _web_address(str(answer.get("verification_uri_complete") or answer["verification_uri"])),
            float(answer["expires_in"]),
            float(answer.get("interval", 5)),
        )


def _web_address(text: str) -> str:
    if urlsplit(text).scheme not in ("http", "https") or not text.isprintable():
        raise ValueError(text)
    return text


def poll(
    server: Server,
    started: Started,
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> JsonObject:
    """Ask until the login is decided; return the tokens, or raise CommandFailed."""
    deadline = clock() + started.expires_in_s
    body: JsonObject = {"grant_type": GRANT_TYPE, "device_code": started.device_code}
    pause_s = wait_s = started.interval_s
    while clock() + wait_s < deadline:
        sleep(wait_s)
        try:
            return server.request("POST", "/api/auth/device/token", body)
        except Unreachable:
            pause_s = wait_s = min(pause_s * 2, max(pause_s, LONGEST_PAUSE_S))
        except Refused as refused:
            if refused.error == "access_denied":
                raise CommandFailed("The login was denied.", f"If that was a mistake: {_AGAIN}") from None
            if refused.error == "expired_token":
                break
            if refused.error == "slow_down":
                pause_s += SLOWER_S
            elif refused.error != "authorization_pending" and refused.status not in (429, 500, 503):
                raise
            wait_s = max(pause_s, refused.retry_after_s or 0.0)
    else:
        sleep(max(0.0, deadline - clock()))
    raise CommandFailed("The code of this login expired before it was allowed.", _AGAIN)


def _opens_browser(address: str) -> bool:
    has_screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not has_screen or os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return False
    import webbrowser  # noqa: PLC0415 - looking for browsers takes a while

    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False


def _keep(client: Client, credential: Credential, who: JsonObject) -> None:
    user, organization = who["user"], who["organization"]
    said = (
        f"Logged in to {client.server.address} as {user['name']} <{user['email']}>, "
        f"in the organization {organization['name']} ({organization['slug']})."
    )
    before = client.keep(credential)
    if before is not None:
        _end(client, before)
    typer.echo(shown(said))


def _secret(what: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=True))
    text = sys.stdin.readline().rstrip("\r\n")
    if not text:
        raise CommandFailed(f"Standard input is empty, and the {what} is read from it.", code=ExitCode.USAGE)
    return text


def logout(url: UrlOption = None) -> None:
    with open_client(os.environ, url=url, is_local=False) as client:
        before = client.forget()
        if before is None:
            typer.echo(f"You are not logged in to {client.server.address}.")
        elif before.kind == "api_key":
            typer.echo(f"Forgot the API key for {client.server.address}. It still holds until it is revoked.")
        elif (failure := _end(client, before)) is None:
            typer.echo(f"Logged out of {client.server.address}.")
        else:
            typer.echo(f"Forgot the login to {client.server.address}.")
            warn(f"{failure.message} The session there goes on until you end it or it expires.")
        if client.settings.token is not None:
            warn("ENGRAIN_TOKEN is set, and is still used: unset it, too.")


def _end(client: Client, credential: Credential) -> CommandFailed | None:
    if credential.refresh_token is None:
        return None
    try:
        client.server.request("POST", "/api/auth/logout", {"refresh_token": credential.refresh_token})
    except (Refused, Unreachable) as failure:
        return failure
    return None


def whoami(url: UrlOption = None, as_json: JsonOption = False) -> None:
    with open_client(os.environ, url=url, is_local=False) as client:
        described = _described(client, client.call("GET", "/api/auth/me"))
        print_json(described) if as_json else typer.echo(_text(described))


def _described(client: Client, me: JsonObject) -> JsonObject:
    kept = None if client.settings.token is not None else client.kept()
    ends = kept.expires_at if kept is not None else None
    return {
        "server": client.server.address,
        "server_version": client.server.version,
        "user": me["user"],
        "organization": me["organization"],
        "org_role": me["org_role"],
        "credential": "environment" if kept is None else kept.kind,
        "access_token_expires_at": None if ends is None else datetime.fromtimestamp(ends, UTC).isoformat(),
    }


_CREDENTIALS = {
    "environment": "the token in ENGRAIN_TOKEN",
    "session": "a session, renewed when it is used",
    "api_key": "an API key",
}


def _text(described: JsonObject) -> str:
    user, organization = described["user"], described["organization"]
    lines = (
        f"{user['name']} <{user['email']}>",
        f"Organization: {organization['name']} ({organization['slug']}), role {described['org_role']}",
        f"Server: {described['server']} (Engrain {described['server_version']})",
        f"Logged in with {_CREDENTIALS[described['credential']]}",
    )
    return "\n".join(map(shown, lines))
