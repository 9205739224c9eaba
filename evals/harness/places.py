"""Where a haystack lies on a server, and which of the records there is which text."""

import threading
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from evals.client import Client

PASSWORD = "eval-account"  # noqa: S105 - of accounts that hold nothing but a public data set
LOGIN = "/api/auth/local/login"


class SignIns:
    """What signing in gave, by server and account: servers limit how often one may. In memory alone, never on disk."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], str] = {}
        self._locks: dict[tuple[str, str], threading.Lock] = {}

    def keep(self, address: str, email: str, token: str) -> None:
        """Use a token that signing up gave."""
        self._tokens[address, email] = token

    def token(self, address: str, email: str, refused: str = "") -> str:
        """Return what is kept, or sign in where that is nothing, or what the server has refused."""
        account = address, email
        with self._locks.setdefault(account, threading.Lock()):
            token = self._tokens.get(account, "")
            if not token or token == refused:
                with Client(address) as anybody:
                    signed = anybody.post(LOGIN, {"email": email, "password": PASSWORD})
                token = self._tokens[account] = str(signed["access_token"])
            return token


_sign_ins = SignIns()


@dataclass(frozen=True, slots=True)
class Place:
    """One haystack: an organization of its own or, by the key of an organization, a project of its own."""

    email: str = ""
    """The account whose organization it is; empty where a key opens it."""
    project_id: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """By id of the record, which text it is."""

    def token(self, client: Client, key: str) -> str:
        """Return the token of an earlier sign-in at the client's server, or sign in, where that is the way."""
        return _sign_ins.token(client.address, self.email) if self.email else key

    def enter(self, client: Client, key: str) -> None:
        """Let a client act here; what is no longer valid is renewed."""
        if not self.email:
            client.present(key)
            return
        client.present(self.token(client, key), lambda refused: _sign_ins.token(client.address, self.email, refused))

    @property
    def scope(self) -> dict[str, Any]:
        """Fields of a request that keeps or reads its raw memories."""
        return {"memory_scope": "project", "scope_key": self.project_id} if self.project_id else {}

    @property
    def filter(self) -> dict[str, Any]:
        """Fields of a search among its entities."""
        return {"project": self.project_id} if self.project_id else {}

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata that puts an entity there."""
        return {"project_id": self.project_id} if self.project_id else {}

    def plain(self) -> dict[str, Any]:
        """As an object of JSON."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Read an object of JSON."""
        return cls(**plain)


def opened(client: Client, key: str) -> Place:
    """Make an empty place: with a key a project in its organization, else an account. The client then acts there."""
    name = f"eval-{uuid.uuid4().hex[:16]}"
    if key:
        client.present(key)
        project = client.post("/api/entities", {"name": name, "entity_type": "project"})
        return Place(project_id=str(project["id"]))
    email = f"{name}@localhost.test"
    signed = client.post("/api/auth/local/signup", {"email": email, "password": PASSWORD, "name": "Eval"})
    _sign_ins.keep(client.address, email, str(signed["access_token"]))
    place = Place(email=email)
    place.enter(client, key)
    return place
