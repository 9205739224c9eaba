"""The server and accounts of a suite."""

import os
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from evals.client import Client
from tools.runtime.client_settings import PREFIX
from tools.runtime.launch import ServerProcess, server_process

_OWN = {"LOG_LEVEL": "warning", "RATE_LIMIT_ENABLED": "false", "ACCESS_TOKEN_EXPIRE_MINUTES": "1440"}


def served(folder: Path, settings: Mapping[str, str]) -> AbstractContextManager[ServerProcess]:
    """Serve a data folder with these settings, without the user's environment."""
    blank = {name: "" for name in os.environ if name.startswith(PREFIX)}
    own = {f"{PREFIX}{name}": value for name, value in _OWN.items()}
    return server_process(folder, environ={**blank, **own, **settings})


@dataclass(frozen=True, slots=True)
class Place:
    """One haystack: the token of its organization's account, and the records."""

    token: str
    texts: Mapping[str, str] = field(default_factory=dict)
    """Text ids by record id."""


def opened(client: Client) -> Place:
    """Sign up an account with an empty organization and log the client in."""
    with client.signed_up(_new_name()) as signed:
        client.present(signed.token)
    return Place(client.token)


def joined(owner: Client) -> Place:
    """Sign up a member of the owner's organization."""
    organization = str(owner.get("/api/auth/me")["organization"]["slug"])
    with owner.signed_up(_new_name()) as member:
        user_id = member.get("/api/auth/me")["user"]["id"]
        owner.post(f"/api/orgs/{organization}/members", {"user_id": user_id, "role": "member"})
        return Place(str(member.post(f"/api/orgs/{organization}/switch", {})["access_token"]))


def _new_name() -> str:
    return f"eval-{uuid.uuid4().hex[:16]}"
