"""Origin of a request, for sessions and the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from stores.ledger import AuditDraft
from stores.records import JsonObject

REQUEST_ID = "engrain.request_id"
"""Scope key of the id under which a request is logged."""
LONGEST_AGENT = 512
"""Characters that are kept."""


@dataclass(frozen=True, slots=True)
class Origin:
    request_id: str = ""
    address: str = ""
    user_agent: str = ""

    def described(self) -> JsonObject:
        parts = {"request_id": self.request_id, "address": self.address, "user_agent": self.user_agent}
        return {name: value for name, value in parts.items() if value}

    def draft(
        self, action: str, organization_id: str | None, actor_id: str | None, resource: str | None, **details: JsonValue
    ) -> AuditDraft:
        return AuditDraft(action, organization_id, actor_id, resource, details, self.described())


NOWHERE = Origin()


def client_of(scope: Mapping[str, Any]) -> str:
    return str((scope.get("client") or ("",))[0])


def origin_of(scope: Mapping[str, Any]) -> Origin:
    agent = (header_of(scope, b"user-agent") or "")[:LONGEST_AGENT]
    agent = "".join(character for character in agent if character.isprintable()).strip()
    return Origin(str(scope.get(REQUEST_ID, "")), client_of(scope), agent)


def header_of(scope: Mapping[str, Any], name: bytes) -> str | None:
    found = next((value for each, value in scope.get("headers", ()) if each == name), None)
    return None if found is None else found.decode("latin-1")
