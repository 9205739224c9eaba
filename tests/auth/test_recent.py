"""A caller that was just looked up is not looked up again, and never outlives a right that was taken away."""

from datetime import timedelta
from pathlib import Path

from auth.principal import Principal
from stores.ledger import Ledger
from stores.records import ProjectAccess
from tests.auth.conftest import Place


def remembered(place: Place) -> Principal:
    found = place.accounts.authenticate(place.signed.access_token)
    assert place.accounts.recall(place.signed.access_token) is found
    return found


def test_a_caller_is_remembered_only_once_the_token_was_checked(place: Place) -> None:
    assert place.accounts.recall(place.signed.access_token) is None
    assert remembered(place).user_id == place.ann.user.id
    assert place.accounts.recall(place.signed.access_token[:-2] + "xx") is None


def test_a_new_right_counts_with_the_next_request(place: Place) -> None:
    before = remembered(place)
    with place.ledger.transaction(place.ann.organization.id, before.user_id) as tx:
        tx.people.set_project_access(ProjectAccess("project_1", "org", before.user_id))
    assert place.accounts.recall(place.signed.access_token) is None
    assert "project:project_1" in remembered(place).visible - before.visible


def test_what_another_process_commits_counts_as_well(place: Place, tmp_path: Path) -> None:
    session_id = remembered(place).session_id
    assert session_id is not None
    other = Ledger.open(f"sqlite:///{tmp_path / 'ledger.sqlite'}", clock=lambda: place.now)
    other.people.revoke_session(session_id)
    other.close()
    assert place.accounts.recall(place.signed.access_token) is None


def test_nobody_is_remembered_beyond_the_end_of_the_token(place: Place) -> None:
    remembered(place)
    place.now += timedelta(minutes=60)
    assert place.accounts.recall(place.signed.access_token) is None


def test_a_closed_or_locked_file_has_no_version(place: Place) -> None:
    assert place.ledger.version() == place.ledger.version()
    place.ledger.close()
    assert place.ledger.version() is None
