"""API keys, which never grant more than their user's rights."""

import hmac
import re
import secrets
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import get_args

from auth.policy import principal_of
from auth.principal import Principal, Scope, narrowed_to, narrowed_to_spaces
from auth.tokens import keyed_hash
from stores.errors import AuthenticationRequired
from stores.jobs import Job
from stores.ledger import AuditDraft, Ledger
from stores.records import ApiKey, JsonObject

PREFIX_LENGTH = 16

_KEY = re.compile(r"sk_(?:live|test)_[A-Za-z0-9_-]{43}")
_PURPOSE = b"engrain api keys 1"
_SCOPES: frozenset[Scope] = frozenset(get_args(Scope))


@dataclass(frozen=True, slots=True)
class KeyRequest:
    name: str
    live: bool
    scopes: Sequence[Scope]
    project_ids: Sequence[str]
    lifetime: timedelta | None
    memory_space_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Keys:
    """The API keys of one server. Every method blocks."""

    ledger: Ledger
    secret: str = field(repr=False)
    clock: Callable[[], datetime]

    def create(self, owner: Principal, wanted: KeyRequest, audit: AuditDraft) -> tuple[ApiKey, str]:
        """Store a new key, whose text is shown only once; the audit entry gets its id and scopes."""
        now, text = self.clock(), f"sk_{'live' if wanted.live else 'test'}_{secrets.token_urlsafe(32)}"
        key = ApiKey(
            id=str(uuid.uuid4()),
            organization_id=owner.organization_id,
            user_id=owner.user_id,
            name=wanted.name,
            prefix=text[:PREFIX_LENGTH],
            scopes=tuple(dict.fromkeys(wanted.scopes)),
            project_ids=tuple(dict.fromkeys(wanted.project_ids)),
            memory_space_ids=tuple(dict.fromkeys(wanted.memory_space_ids)),
            live=wanted.live,
            created_at=now,
            expires_at=None if wanted.lifetime is None else now + wanted.lifetime,
        )
        opens = {name: [*getattr(key, name)] for name in ("scopes", "project_ids", "memory_space_ids")}
        details: JsonObject = {"name": key.name, "prefix": key.prefix, **opens}
        self.ledger.api_keys.create(key, self._hash(text), replace(audit, resource=key.id, details=details))
        return key, text

    def authenticate(self, text: str) -> tuple[Principal, float]:
        """Return the caller of a key, and the expiry of its rights in seconds since 1970."""
        found = self.ledger.api_keys.find(text[:PREFIX_LENGTH]) if _KEY.fullmatch(text) else None
        key, key_hash = found or (None, "")
        # Compared even without a key, so that the response time reveals nothing.
        holds = hmac.compare_digest(self._hash(text), key_hash)
        principal = self._principal(key) if key is not None and holds else None
        if key is None or principal is None:
            raise AuthenticationRequired(
                "The API key is not valid.", remediation="Make a new key with POST /api/auth/api-keys."
            )
        ends = [each.timestamp() for each in (key.expires_at, principal.until) if each is not None]
        return principal, min(ends, default=float("inf"))

    def renewed(self, organization_id: str, key_id: str) -> Principal | None:
        """Return the caller of a key with its present rights, or None if the key has ended."""
        key = self.ledger.api_keys.key(organization_id, key_id)
        if key is None or key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= self.clock()):
            return None
        return self._principal(key)

    def _principal(self, key: ApiKey) -> Principal | None:
        caller = self.ledger.people.caller(key.user_id, key.organization_id)
        if caller is None:
            return None
        held = replace(principal_of(*caller), scopes=_SCOPES.intersection(key.scopes), key_id=key.id)
        if key.project_ids:
            held = narrowed_to(held, key.project_ids)
        if key.memory_space_ids:
            held = narrowed_to_spaces(held, self.ledger.spaces.some(key.organization_id, key.memory_space_ids))
        return held

    def _hash(self, text: str) -> str:
        return keyed_hash(self.secret, _PURPOSE, text)


def present_rights(ledger: Ledger, clock: Callable[[], datetime], job: Job, grant_id: object) -> Principal | None:
    """Return who asked for deferred work; None if the member has left, or the key or grant has ended. Blocks."""
    if job.api_key_id is not None:
        return Keys(ledger, "", clock).renewed(job.organization_id, job.api_key_id)
    found = ledger.people.caller(job.actor_id, job.organization_id)
    is_over = grant_id is not None and all(each.id != grant_id for each in ledger.grants.of_user(job.actor_id))
    return None if found is None or is_over else principal_of(*found)


def is_api_key(credential: str) -> bool:
    return credential.startswith("sk_")
