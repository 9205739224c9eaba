"""Where a request came from, as the list of sign-ins and the audit log show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stores.records import JsonObject

LONGEST_AGENT = 512
"""Characters of a User-Agent header that are kept."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who sent a request, as far as the request itself says. Empty where it does not."""

    request_id: str = ""
    address: str = ""
    """The peer's address."""
    user_agent: str = ""

    def described(self) -> JsonObject:
        """The parts that are known, as the audit log keeps them."""
        parts = {"request_id": self.request_id, "address": self.address, "user_agent": self.user_agent}
        return {name: value for name, value in parts.items() if value}


NOWHERE = Origin()
"""Of what no request asked for."""


def client_of(scope: Mapping[str, Any]) -> str:
    """Read the peer's address off an ASGI scope."""
    return str((scope.get("client") or ("",))[0])


def user_agent_of(scope: Mapping[str, Any]) -> str:
    """Read the User-Agent header off an ASGI scope, without what cannot be shown."""
    found = next((value for name, value in scope.get("headers", ()) if name == b"user-agent"), b"")
    text = found.decode("latin-1")[:LONGEST_AGENT]
    return "".join(character for character in text if character.isprintable()).strip()
