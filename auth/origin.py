"""Origin of a request, for sessions and the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stores.records import JsonObject

LONGEST_AGENT = 512
"""Characters that are kept."""


@dataclass(frozen=True, slots=True)
class Origin:
    request_id: str = ""
    address: str = ""
    user_agent: str = ""
    claim_id: str = ""
    """Fingerprint of a request with an idempotency key."""

    def described(self) -> JsonObject:
        parts = {"request_id": self.request_id, "address": self.address, "user_agent": self.user_agent}
        return {name: value for name, value in parts.items() if value}


NOWHERE = Origin()


def client_of(scope: Mapping[str, Any]) -> str:
    return str((scope.get("client") or ("",))[0])


def user_agent_of(scope: Mapping[str, Any]) -> str:
    text = (header_of(scope, b"user-agent") or "")[:LONGEST_AGENT]
    return "".join(character for character in text if character.isprintable()).strip()


def header_of(scope: Mapping[str, Any], name: bytes) -> str | None:
    found = next((value for each, value in scope.get("headers", ()) if each == name), None)
    return None if found is None else found.decode("latin-1")
