"""Credentials of `engrain login` by server, in a file that only its owner can read."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from cli.client.failure import CommandFailed, warn
from cli.locking import locked_file
from stores.folder import replace_file

VERSION = 1


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
        """Return the stored credentials; CommandFailed if the file is unreadable or damaged."""
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
                f"{self.path} is damaged: it is not a file of `engrain login`.",
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
        """Lock the file against other commands; yield its contents, or raise CommandFailed."""
        with self._writing():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            lock = locked_file(self.folder / "credentials.lock")
        with lock:
            yield self.read()

    def write(self, credentials: Credentials) -> None:
        """Replace the stored credentials, while `locked`, or raise CommandFailed."""
        body = {
            "version": VERSION,
            "default": credentials.default,
            "servers": {name: asdict(each) for name, each in credentials.servers.items()},
        }
        with self._writing():
            replace_file(self.path, f"{json.dumps(body, indent=2)}\n".encode())

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
    return Credentials(body["default"] if body["default"] in servers else None, servers)
