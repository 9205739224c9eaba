"""Where a haystack lies on a server, and which of the records there is which text."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from evals.client import Client

PASSWORD = "eval-account"  # noqa: S105 - of accounts that hold nothing but a public data set


@dataclass(frozen=True, slots=True)
class Place:
    """One haystack: an organization of its own or, by the key of an organization, a project of its own."""

    email: str = ""
    """The account whose organization it is; empty where a key opens it."""
    project_id: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    """By id of the record, which text it is."""

    def token(self, client: Client, key: str) -> str:
        """Sign in, where that is the way."""
        if not self.email:
            return key
        signed = client.post("/api/auth/local/login", {"email": self.email, "password": PASSWORD})
        return str(signed["access_token"])

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
    client.present(signed["access_token"])
    return Place(email=email)
