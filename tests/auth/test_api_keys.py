"""API keys: recognised by every bit, ended at once, never more than their user."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from stores.errors import AuthenticationRequired
from stores.records import ApiKey
from tests.auth.conftest import DAY, Place


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
    place.holder(text)
    place.now += timedelta(minutes=2)
    assert place.accounts.recall(text) is not None
    assert used(place, key) == place.now


def used(place: Place, key: ApiKey) -> datetime | None:
    (found,) = place.ledger.api_keys.of_organization(key.organization_id)
    assert found.id == key.id
    return found.last_used_at
