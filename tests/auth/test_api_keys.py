"""API keys: recognised by every bit, ended at once, never more than their user."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from auth.accounts import Accounts
from auth.api_keys import KeyRequest
from auth.passwords import Passwords
from auth.principal import Principal, Scope
from auth.tokens import Tokens
from stores.errors import AuthenticationRequired
from stores.ledger import AuditDraft, Ledger
from stores.records import ApiKey, ProjectAccess
from tests.ledgers import new_ledger

DAY = timedelta(days=1)


class Place:
    def __init__(self, url: str) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.ledger = Ledger.open(url, clock=lambda: self.now)
        self.accounts = self.with_secret("s" * 32)
        signed = self.accounts.start(self.accounts.create("ann@example.org", "correct horse", "Ann"))
        self.ann: Principal = self.accounts.authenticate(signed.access_token)
        with self.ledger.transaction(self.ann.organization_id, self.ann.user_id) as tx:
            tx.people.set_project_access(ProjectAccess("mine", "org", self.ann.user_id))
            tx.people.set_project_access(ProjectAccess("other", "org", self.ann.user_id))

    def with_secret(self, secret: str) -> Accounts:
        tokens = Tokens(secret, "HS256", timedelta(hours=1), 30 * DAY, lambda: self.now)
        return Accounts(self.ledger, tokens, Passwords(), lambda: self.now)

    def key(
        self, *projects: str, scopes: tuple[Scope, ...] = ("mcp",), lifetime: timedelta | None = None, live: bool = True
    ) -> tuple[ApiKey, str]:
        wanted = KeyRequest("CI", live, scopes, projects, lifetime)
        return self.accounts.keys.create(self.ann, wanted, lambda key: AuditDraft("made", key.organization_id, None))

    def holder(self, text: str) -> Principal:
        return self.accounts.recall(text) or self.accounts.authenticate(text)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(new_ledger(tmp_path))
    yield made
    made.ledger.close()


def refused(place: Place, text: str) -> bool:
    assert place.accounts.recall(text) is None
    with pytest.raises(AuthenticationRequired):
        place.accounts.authenticate(text)
    return True


def test_a_key_has_the_ruled_form_and_is_nowhere_in_the_ledger(place: Place, tmp_path: Path) -> None:
    for live in (True, False):
        key, text = place.key(live=live)
        assert re.fullmatch(rf"sk_{'live' if live else 'test'}_[A-Za-z0-9_-]{{43}}", text)
        assert key.prefix == text[:16]
        stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert text[:16].encode() in stored
        assert text.encode() not in stored


def test_every_character_counts(place: Place) -> None:
    _, text = place.key()
    place.holder(text)
    for at in range(len(text)):
        other = "a" if text[at] != "a" else "b"
        assert refused(place, text[:at] + other + text[at + 1 :])
    other_kinds = (text.replace("live", "test"), text + "\ud800", "sk_live_" + "é" * 43)
    for wrong in ("sk_", text[:-1], text + "a", text[:16], *other_kinds):
        assert refused(place, wrong)


def test_the_hash_depends_on_the_secret_of_the_server(place: Place) -> None:
    _, text = place.key()
    with pytest.raises(AuthenticationRequired):
        place.with_secret("t" * 32).authenticate(text)


def test_a_key_ends_when_it_expires_though_it_was_used_a_moment_ago(place: Place) -> None:
    _, text = place.key(lifetime=DAY)
    place.now += DAY - timedelta(seconds=1)
    holder = place.holder(text)
    assert place.accounts.recall(text) is holder
    place.now += timedelta(seconds=1)
    assert refused(place, text)
    assert place.accounts.renewed(holder) is None


def test_the_use_of_a_key_is_noted_also_when_its_holder_is_remembered(place: Place) -> None:
    key, text = place.key()
    assert used(place, key) is None
    place.holder(text)
    assert used(place, key) == place.now
    place.now += timedelta(minutes=2)
    assert place.accounts.recall(text) is not None
    assert used(place, key) == place.now


def used(place: Place, key: ApiKey) -> datetime | None:
    found = place.ledger.api_keys.key(key.organization_id, key.id)
    assert found is not None
    return found.last_used_at
