"""A ledger with one account, and a clock that stands still."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from auth.accounts import Accounts
from auth.api_keys import KeyRequest
from auth.grants import AuthorizationRequest, Issued
from auth.passwords import Passwords
from auth.principal import Principal
from auth.tokens import Tokens
from stores.errors import AuthenticationRequired
from stores.ledger import AuditDraft, Ledger, OAuthClient
from stores.records import ApiKey
from tests.ledgers import new_ledger
from tests.rest_bridge.oauth.flow import CALLBACK, CHALLENGE, RESOURCE, form

DAY = timedelta(days=1)


class Place:
    def __init__(self, url: str) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.ledger = Ledger.open(url, clock=lambda: self.now)
        self.accounts = self.with_secret("s" * 32)
        self.signed = self.accounts.start(self.accounts.create("ann@example.org", "correct horse", "Ann"))
        self.ann = self.signed.identity
        self.client = self.register()

    def with_secret(self, secret: str) -> Accounts:
        tokens = Tokens(secret, "HS256", timedelta(hours=1), 30 * DAY, lambda: self.now)
        return Accounts(self.ledger, tokens, Passwords(), lambda: self.now)

    def holds(self, token: str) -> bool:
        try:
            self.accounts.authenticate(token)
        except AuthenticationRequired:
            return False
        return True

    def holder(self, text: str) -> Principal:
        return self.accounts.recall(text) or self.accounts.authenticate(text)

    def key(self, *, lifetime: timedelta | None = None, live: bool = True) -> tuple[ApiKey, str]:
        wanted = KeyRequest("CI", live, ("mcp",), (), lifetime)
        ann = self.accounts.authenticate(self.signed.access_token)
        return self.accounts.keys.create(ann, wanted, AuditDraft("made", ann.organization_id, None))

    def register(self, **described: Any) -> OAuthClient:
        return self.accounts.grants.register({"redirect_uris": [CALLBACK], **described})[0]

    def code(self) -> str:
        asked = AuthorizationRequest(self.client.id, CALLBACK, True, CHALLENGE, RESOURCE)
        draft = AuditDraft("oauth.allow", self.ann.organization.id, self.ann.user.id)
        return self.accounts.grants.allow(asked, self.ann.user.id, self.ann.organization.id, draft)

    def redeem(self, code: str) -> Issued:
        return self.accounts.grants.redeem(self.client, form(code))

    def refresh(self, token: str | None) -> Issued:
        assert token is not None
        return self.accounts.grants.refresh(self.client, {"refresh_token": token})


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(new_ledger(tmp_path))
    yield made
    made.ledger.close()
