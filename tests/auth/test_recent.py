"""A caller that was just looked up is not looked up again, and never outlives a right that was taken away."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from auth.accounts import Accounts, SignedIn
from auth.passwords import Passwords
from auth.principal import Principal
from auth.tokens import Tokens
from stores.ledger import Ledger
from stores.records import ProjectAccess
from tests.ledgers import new_ledger


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Place:
    def __init__(self, url: str) -> None:
        self.clock = Clock()
        self.ledger = Ledger.open(url, clock=self.clock)
        tokens = Tokens("s" * 32, "HS256", timedelta(minutes=60), timedelta(days=30), self.clock)
        self.accounts = Accounts(self.ledger, tokens, Passwords(), self.clock)
        self.signed_in: SignedIn = self.accounts.start(self.accounts.create("ann@example.org", "correct horse", "Ann"))
        self.token = self.signed_in.access_token

    @property
    def organization_id(self) -> str:
        return self.signed_in.identity.organization.id

    def remembered(self) -> Principal:
        found = self.accounts.authenticate(self.token)
        assert self.accounts.recall(self.token) is found
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(new_ledger(tmp_path))
    yield made
    made.ledger.close()


def test_a_caller_is_remembered_only_once_the_token_was_checked(place: Place) -> None:
    assert place.accounts.recall(place.token) is None
    assert place.remembered().user_id == place.signed_in.identity.user.id
    assert place.accounts.recall(place.token[:-2] + "xx") is None


def test_a_new_right_counts_with_the_next_request(place: Place) -> None:
    before = place.remembered()
    with place.ledger.transaction(place.organization_id, before.user_id) as tx:
        tx.people.set_project_access(ProjectAccess("project_1", "org", before.user_id))
    assert place.accounts.recall(place.token) is None
    assert "project:project_1" in place.remembered().visible - before.visible


def test_what_another_process_commits_counts_as_well(place: Place, tmp_path: Path) -> None:
    session_id = place.remembered().session_id
    assert session_id is not None
    other = Ledger.open(f"sqlite:///{tmp_path / 'ledger.sqlite'}", clock=place.clock)
    other.people.revoke_session(session_id)
    other.close()
    assert place.accounts.recall(place.token) is None


def test_nobody_is_remembered_beyond_the_end_of_the_token(place: Place) -> None:
    place.remembered()
    place.clock.now += timedelta(minutes=60)
    assert place.accounts.recall(place.token) is None


def test_a_closed_or_locked_file_has_no_version(place: Place) -> None:
    assert place.ledger.rights_version() == place.ledger.rights_version()
    place.ledger.close()
    assert place.ledger.rights_version() is None
