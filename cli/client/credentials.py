"""Credentials of `engrain login` by server, in a file that only its owner can read."""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from cli.client.failure import CommandFailed, warn

VERSION = 1
LOCK_TIMEOUT_S = 60.0
_LOCK_EVERY_S = 0.05
_KINDS = ("session", "api_key")


@dataclass(frozen=True, slots=True)
class Credential:
    kind: Literal["session", "api_key"]
    token: str = field(repr=False)
    email: str
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: int | None = None
    """Seconds since 1970 by this machine's clock."""


@dataclass(frozen=True, slots=True)
class Credentials:
    default: str | None = None
    servers: Mapping[str, Credential] = field(default_factory=dict)

    def with_server(self, server: str, credential: Credential) -> "Credentials":
        return replace(self, servers={**self.servers, server: credential})

    def without_server(self, server: str) -> "Credentials":
        left = {name: each for name, each in self.servers.items() if name != server}
        default = next(reversed(left), None) if self.default == server else self.default
        return Credentials(default, left)


class CredentialFile:
    """`credentials.json` in the user's configuration folder, replaced atomically: reading needs no lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "credentials.json"

    @classmethod
    def of_user(cls) -> "CredentialFile":
        import platformdirs  # noqa: PLC0415 - not every command needs it

        return cls(Path(platformdirs.user_config_dir("engrain", appauthor=False)))

    def read(self) -> Credentials:
        """Return the stored credentials.

        Raises:
            CommandFailed: The file cannot be read or is damaged.
        """
        try:
            text = self._read_text()
        except FileNotFoundError:
            return Credentials()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandFailed(
                f"{self.path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}.",
                f"Make it readable, or remove it and log in again: rm '{self.path}'",
            ) from None
        try:
            return _parsed(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CommandFailed(
                f"{self.path} is damaged: it does not hold what `engrain login` writes.",
                f"Remove it and log in again: rm '{self.path}'",
            ) from None

    def _read_text(self) -> str:
        with self.path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & 0o077:
                os.fchmod(file.fileno(), 0o600)
                warn(f"others could read {self.path}; from now on only you can (mode 0600).")
            return file.read()

    @contextmanager
    def locked(self) -> Iterator[Credentials]:
        """Lock the file against other commands; yield its contents.

        Raises:
            CommandFailed: The lock timed out, or the folder cannot be written.
        """
        with self._writing():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            descriptor = os.open(self.folder / "credentials.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait(descriptor)
            yield self.read()
        finally:
            os.close(descriptor)

    def _wait(self, descriptor: int) -> None:
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CommandFailed(
                        f"Another engrain command has kept {self.folder} locked for {LOCK_TIMEOUT_S:.0f} seconds.",
                        "Wait for it, or stop it, and try again.",
                    ) from None
                time.sleep(_LOCK_EVERY_S)
            else:
                return

    def write(self, credentials: Credentials) -> None:
        """Replace the stored credentials; only while `locked`.

        Raises:
            CommandFailed: The folder cannot be written.
        """
        body = {
            "version": VERSION,
            "default": credentials.default,
            "servers": {name: asdict(each) for name, each in credentials.servers.items()},
        }
        fresh = self.path.with_suffix(".new")
        with self._writing():
            # One that an interrupted command left may have any mode.
            fresh.unlink(missing_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(body, file, indent=2)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CommandFailed(
                f"{self.folder} cannot be written: {error.strerror or error}.",
                "Make it writable for you, or set ENGRAIN_TOKEN instead of logging in.",
            ) from None


def _parsed(body: Any) -> Credentials:  # noqa: ANN401, RUF100 - whatever the file holds
    if body["version"] != VERSION:
        raise ValueError(body["version"])
    servers = {str(name): Credential(**each) for name, each in body["servers"].items()}
    for each in servers.values():
        _check(each)
    return Credentials(body["default"] if body["default"] in servers else None, servers)


def _check(credential: Credential) -> None:
    texts = (credential.token, credential.email)
    optional = (credential.refresh_token, str), (credential.expires_at, int)
    if credential.kind not in _KINDS or not all(isinstance(text, str) for text in texts):
        raise ValueError(credential.kind)
    if not all(value is None or isinstance(value, kind) for value, kind in optional):
        raise ValueError(credential.kind)
