"""Where a haystack lies on a server, and which of the records there is which text."""

import threading
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from evals.client import Client
from evals.harness.server import Target
from stores.errors import EngrainError

PASSWORD = "eval-account"  # noqa: S105 - of accounts that hold nothing but a public data set
LOGIN = "/api/auth/local/login"


class SignIns:
    """What signing in gave, by server and place: servers limit how often one may. In memory alone, never on disk."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str, str], str] = {}
        self._locks: dict[tuple[str, str, str], threading.Lock] = {}

    def keep(self, address: str, place: "Place", token: str) -> None:
        """Use a token that signing up gave."""
        self._tokens[address, place.email, place.organization] = token

    def token(self, address: str, place: "Place", refused: str = "") -> str:
        """Return what is kept, or sign in where that is nothing, or what the server has refused."""
        account = address, place.email, place.organization
        with self._locks.setdefault(account, threading.Lock()):
            token = self._tokens.get(account, "")
            if not token or token == refused:
                with Client(address) as client:
                    client.present(_signed_in(client, place.email))
                    token = _entered(client, place.organization) if place.organization else client.token
                self._tokens[account] = token
            return token


def _signed_in(client: Client, email: str) -> str:
    try:
        return _access(client.post(LOGIN, {"email": email, "password": PASSWORD}))
    except EngrainError as error:
        raise EngrainError(
            f"The account of this run no longer opens anything at {client.address}: {error.message} Where the data of"
            " that server is gone, add --afresh to begin anew."
        ) from error


def _access(signed: Mapping[str, Any]) -> str:
    return str(signed["access_token"])


def _entered(client: Client, organization: str) -> str:
    return _access(client.post(f"/api/orgs/{organization}/switch", {}))


_sign_ins = SignIns()


@dataclass(frozen=True, slots=True)
class Place:
    """One haystack: an organization of its own or, by the key of an organization, a project of its own."""

    email: str = ""
    """Of the account that acts there; empty where a key opens it."""
    organization: str = ""
    """Slug of the organization of another account, which took this one in; empty where it is its own."""
    project_id: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """By id of the record, which text it is."""

    def token(self, client: Client, key: str) -> str:
        """Return the token of an earlier sign-in at the client's server, or sign in, where that is the way."""
        return _sign_ins.token(client.address, self) if self.email else key

    def enter(self, client: Client, key: str) -> None:
        """Let a client act here; what is no longer valid is renewed."""
        if not self.email:
            client.present(key)
            return
        client.present(self.token(client, key), lambda refused: _sign_ins.token(client.address, self, refused))

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


def opened(target: Target, client: Client, key: str) -> Place:
    """Make an empty place: with a key a project in its organization, else an account. The client then acts there.

    Raises:
        EngrainError: The server refuses, or it is somebody's and nobody has an account there yet.
    """
    if key:
        client.present(key)
        project = client.post("/api/entities", {"name": _new_name(), "entity_type": "project"})
        return Place(project_id=str(project["id"]))
    email, signed = _signed_up(client)
    place = Place(email=email)
    _sign_ins.keep(client.address, place, _access(signed))
    place.enter(client, key)
    if not target.is_ours and client.get("/api/auth/me")["user"]["is_admin"]:
        client.delete("/api/users/me")
        raise EngrainError(
            f"Nobody has an account at {client.address} yet, and the first one is its admin: make yours before any is"
            " made for a run. The one that was made just now is deleted."
        )
    return place


def joined(owner: Client) -> Place:
    """Sign up an account that the organization of whoever the client is takes in. It may read what is there by now."""
    organization = str(owner.get("/api/auth/me")["organization"]["slug"])
    with Client(owner.address) as client:
        email, signed = _signed_up(client)
        owner.post(f"/api/orgs/{organization}/members", {"user_id": signed["user"]["id"], "role": "member"})
        client.present(_access(signed))
        place = Place(email=email, organization=organization)
        _sign_ins.keep(client.address, place, _entered(client, organization))
    return place


def _signed_up(client: Client) -> tuple[str, Mapping[str, Any]]:
    email = f"{_new_name()}@localhost.test"
    try:
        return email, client.post("/api/auth/local/signup", {"email": email, "password": PASSWORD, "name": "Eval"})
    except EngrainError as error:
        raise EngrainError(
            f"No account can be made for this run: {error.message} With a key in ENGRAIN_TOKEN `retrieval`, `history`"
            " and `reflection` need none."
        ) from error


def _new_name() -> str:
    return f"eval-{uuid.uuid4().hex[:16]}"
