"""`engrain login`, `engrain logout` and `engrain whoami`."""

import json
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

import typer

from cli.client import CommandFailed, device, guarded, open_client
from cli.client.client import Client, checked_token
from cli.client.credentials import Credential
from cli.client.failure import ExitCode, NotLoggedIn, Refused, Unreachable, shown, understanding, warn
from cli.client.server import JsonObject, is_in_clear


def run_login(
    environ: Mapping[str, str], *, url: str | None, no_browser: bool, email: str | None, api_key: bool
) -> int:
    def command() -> None:
        if email is not None and api_key:
            raise CommandFailed("--email and --api-key exclude each other.", code=ExitCode.USAGE)
        with open_client(environ, url=url, local="none") as client:
            client.kept()  # A damaged file is found now, not when somebody has allowed the login.
            if is_in_clear(client.server.address):
                warn(f"{client.server.address} is not encrypted: others on the way can read what you send.")
            if api_key:
                _log_in_with_key(client)
            else:
                tokens = (
                    _with_password(client, email) if email is not None else _with_browser(client, environ, no_browser)
                )
                _keep_session(client, tokens)
            if client.settings.token is not None:
                warn("ENGRAIN_TOKEN is set, and is used instead of this login.")

    return guarded(command)


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
    with understanding(client.server.address):
        credential = Credential("api_key", key, str(me["user"]["email"]))
    _keep(client, credential, me)


def _with_password(client: Client, email: str) -> JsonObject:
    body = {"email": email, "password": _secret("Password")}
    try:
        return client.server.request("POST", "/api/auth/local/login", body)
    except Refused as refused:
        if refused.status != 401:
            raise
        raise NotLoggedIn("The e-mail address or the password is not right.", "Check both, and try again.") from None


def _with_browser(client: Client, environ: Mapping[str, str], no_browser: bool) -> JsonObject:
    started = device.start(client.server, shown(f"engrain on {platform.node() or 'an unnamed machine'}")[:100])
    opened = not no_browser and _opens_browser(environ, started.page_with_code)
    minutes = max(1, round(started.expires_in_s / 60))
    first = "Your browser opens this address" if opened else "Open this address in a browser, on any device"
    typer.echo(f"{first}:\n\n    {started.page_with_code}\n")
    typer.echo(
        f"Check that it shows the code {shown(started.user_code)}, and allow the login within {minutes} minutes."
    )
    typer.echo("Waiting for the decision; Ctrl-C stops.")
    return device.Waiting(client.server, started).result()


def _opens_browser(environ: Mapping[str, str], address: str) -> bool:
    has_screen = sys.platform in ("darwin", "win32") or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if not has_screen or environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    import webbrowser  # noqa: PLC0415 - looking for browsers takes a while

    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False


def _keep_session(client: Client, tokens: JsonObject) -> None:
    with understanding(client.server.address):
        email = str(tokens["user"]["email"])
    _keep(client, client.session_of(tokens, email), tokens)


def _keep(client: Client, credential: Credential, who: JsonObject) -> None:
    with understanding(client.server.address):
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


def run_logout(environ: Mapping[str, str], *, url: str | None) -> int:
    def command() -> None:
        with open_client(environ, url=url, local="none") as client:
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

    return guarded(command)


def _end(client: Client, credential: Credential) -> CommandFailed | None:
    if credential.refresh_token is None:
        return None
    try:
        client.server.request("POST", "/api/auth/logout", {"refresh_token": credential.refresh_token})
    except (Refused, Unreachable) as failure:
        return failure
    return None


def run_whoami(environ: Mapping[str, str], *, url: str | None, as_json: bool) -> int:
    def command() -> None:
        with open_client(environ, url=url, local="none") as client:
            me = client.call("GET", "/api/auth/me")
            with understanding(client.server.address):
                described = _described(client, me)
                text = json.dumps(described, indent=2, ensure_ascii=False) if as_json else _text(described)
        typer.echo(text)

    return guarded(command)


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
