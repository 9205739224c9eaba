"""Requests of the user who is logged in, with token refresh."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cli.client.credentials import Credential, CredentialFile, Credentials
from cli.client.failure import CommandFailed, ExitCode, NotLoggedIn, Refused, understanding, warn
from cli.client.server import DEFAULT, JsonObject, Server, server_address
from tools.runtime.client_settings import ClientSettings, read_client_settings

PATIENCE = 5
"""Times that a request is repeated when the server is busy."""
NO_SCOPE = "insufficient_api_scope"
_STOPS = frozenset({signal.SIGINT, signal.SIGTERM})


@contextmanager
def put_off() -> Iterator[None]:
    """Defer interrupts of the main thread until the block ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


T = TypeVar("T")
EARLY_S = 30
"""Seconds; a token that expires sooner is refreshed first."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    text: str
    structure: JsonObject


@dataclass(frozen=True, slots=True)
class Client:
    """A server with the credential that is sent to it."""

    server: Server
    file: CredentialFile
    settings: ClientSettings
    is_own: bool = False
    """True for the server of this user's data folder."""

    @property
    def login_command(self) -> str:
        return "engrain login" if self.server.address == DEFAULT else f"engrain login --url {self.server.address}"

    def kept(self) -> Credential | None:
        return self.file.read().servers.get(self.server.address)

    def call(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        """Send the fields that are not None as the logged-in user, or raise NotLoggedIn, Refused or Unreachable."""
        given = None if body is None else {name: value for name, value in body.items() if value is not None}
        return self.authorized(lambda token: self.server.request(method, path, given, token=token))

    def authorized(self, send: Callable[[str], T]) -> T:
        """Call `send` with the user's token, and again with a renewed one after a 401."""
        if self.settings.token is not None:
            return self._with_setting(send, checked_token(self.settings.token, "ENGRAIN_TOKEN"))
        credential = self.kept()
        if credential is None:
            raise NotLoggedIn(f"You are not logged in to {self.server.address}.", f"Log in: {self.login_command}")
        if is_over(credential):
            credential = self._renewed(credential)
        try:
            return send(credential.token)
        except Refused as refused:
            if refused.status != 401 or refused.message.startswith(NO_SCOPE):
                raise
            # Nothing was done, so it can be repeated.
            renewed = self._renewed(credential)
        return send(renewed.token)

    def patient_call(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        """Call; where the server is busy, wait as it asks and repeat the request."""
        for _ in range(PATIENCE):
            try:
                return self.call(method, path, body)
            except Refused as refused:
                if refused.retry_after_s is None:
                    raise
                time.sleep(refused.retry_after_s)
        return self.call(method, path, body)

    def tool(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call an MCP tool without the arguments that are None, or raise as `call`, and CommandFailed on a refusal."""
        given = {key: value for key, value in arguments.items() if value is not None}
        params = {"name": name, "arguments": given}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self.call("POST", "/mcp", message)
        if "error" in answer:
            raise CommandFailed(str(answer["error"]["message"]))
        result = answer["result"]
        text, structure = str(result["content"][0]["text"]), result.get("structuredContent")
        if structure is None or result.get("isError"):
            raise CommandFailed(text)
        return ToolAnswer(text, dict(structure))

    def _with_setting(self, send: Callable[[str], T], token: str) -> T:
        try:
            return send(token)
        except Refused as refused:
            if refused.status != 401:
                raise
            raise NotLoggedIn(
                f"{self.server.address} does not accept the token in ENGRAIN_TOKEN: {refused.message}",
                f"Set another one, or unset ENGRAIN_TOKEN and log in: {self.login_command}",
            ) from None

    def _renewed(self, stale: Credential) -> Credential:
        with self.file.locked() as credentials:
            current = credentials.servers.get(self.server.address)
            if current is not None and current.token != stale.token and not is_over(current):
                return current
            if current is None or current.refresh_token is None:
                raise self._ended(current)
            with put_off():  # between the server's answer and the file, Ctrl-C would lose the only token that holds
                return self._rotated(credentials, current, current.refresh_token)

    def _rotated(self, credentials: Credentials, current: Credential, refresh_token: str) -> Credential:
        try:
            tokens = self.server.request("POST", "/api/auth/refresh", {"refresh_token": refresh_token})
        except Refused as refused:
            if refused.status != 401:
                raise
            self.file.write(credentials.without_server(self.server.address))
            raise self._ended(current) from None
        renewed = self.session_of(tokens, current.email)
        self.file.write(credentials.with_server(self.server.address, renewed))
        return renewed

    def _ended(self, credential: Credential | None) -> NotLoggedIn:
        if credential is not None and credential.kind == "api_key":
            return NotLoggedIn(
                f"{self.server.address} does not accept the API key any more: it was revoked, or has expired.",
                f"Make a new one, or log in: {self.login_command}",
            )
        return NotLoggedIn(f"Your session at {self.server.address} has ended.", f"Log in again: {self.login_command}")

    def session_of(self, tokens: JsonObject, email: str) -> Credential:
        """Make a credential of the answer to a login or refresh; Unreachable without tokens."""
        with understanding(self.server.address):
            return Credential(
                kind="session",
                token=str(tokens["access_token"]),
                email=email,
                refresh_token=str(tokens["refresh_token"]),
                expires_at=int(time.time()) + int(tokens["expires_in"]),
            )

    def keep(self, credential: Credential) -> Credential | None:
        """Store a credential and make its server the default; return the previous one."""
        with self.file.locked() as credentials:
            before = credentials.servers.get(self.server.address)
            kept = credentials.with_server(self.server.address, credential)
            self.file.write(replace(kept, default=self.server.address))
        return before

    def forget(self) -> Credential | None:
        with self.file.locked() as credentials:
            before = credentials.servers.get(self.server.address)
            if before is not None:
                self.file.write(credentials.without_server(self.server.address))
        return before


@contextmanager
def open_client(environ: Mapping[str, str], *, url: str | None = None, is_local: bool = True) -> Iterator[Client]:
    """Open the server of the option, of ENGRAIN_URL, of the last login, or this machine's, or raise CommandFailed.

    This machine's own server needs no login; where it does not run it is started. Unless `is_local`, the address is
    the default one instead. An answer that the block does not understand is Unreachable, too.
    """
    settings, warnings = read_client_settings(environ)
    for warning in warnings:
        warn(warning if warning.endswith("?") else f"{warning}.")
    file = CredentialFile.of_user()
    named = url or settings.url
    address = server_address(named) if named else file.read().default
    own = None
    if address is None and is_local and settings.token is None:
        from cli.local.server import data_folder, ensure  # noqa: PLC0415 - not needed with another server

        own = ensure(data_folder(environ), environ)
        address, settings = own.address, replace(settings, token=own.key)
    server = Server(address or DEFAULT, own.pid if own else None)
    try:
        with understanding(server.address):
            yield Client(server, file, settings, own is not None)
    finally:
        server.close()


def checked_token(text: str, where: str) -> str:
    """Return a token or key, or raise CommandFailed for characters that neither has."""
    if not text.isascii() or not text.isprintable() or " " in text:
        raise CommandFailed(
            f"{where} contains a space, a line break or a non-ASCII character, which no token or key has.",
            "Was it copied as a whole, and nothing else?",
            code=ExitCode.USAGE,
        )
    return text


def is_over(credential: Credential) -> bool:
    return credential.expires_at is not None and credential.expires_at <= time.time() + EARLY_S
