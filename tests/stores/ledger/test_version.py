"""The number that outdates what is remembered. SQLite only: PostgreSQL has none."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stores.ledger import Ledger
from tests.stores.ledger.samples import ANN, BOB, ORG, SteppingClock, add_project, session

CHANGES: dict[str, Callable[[Ledger], object]] = {
    "a session begins": lambda ledger: ledger.people.create_session(session("s2")),
    "a session ends": lambda ledger: ledger.people.revoke_session("s1"),
    "a member is added": lambda ledger: ledger.people.add_membership(BOB, ORG, "member"),
    "a member is removed": lambda ledger: ledger.people.remove_member(ORG, BOB),
    "a project is there": lambda ledger: add_project(ledger, "p1"),
    "a user is renamed": lambda ledger: ledger.people.edit_user(ANN, lambda user: replace(user, name="Anna")),
    "an organization is renamed": lambda ledger: ledger.people.edit_organization(ORG, name="Other"),
}


@pytest.fixture
def ledger(sqlite_original: Path, tmp_path: Path) -> Iterator[Ledger]:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(sqlite_original.read_bytes())
    opened = Ledger.open(f"sqlite:///{path}", clock=SteppingClock())
    opened.people.create_session(session("s1"))
    yield opened
    opened.close()


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_rights_moves_it(ledger: Ledger, change: str) -> None:
    if change == "a member is removed":
        ledger.people.add_membership(BOB, ORG, "member")
    before = ledger.version()
    CHANGES[change](ledger)
    assert before is not None
    assert ledger.version() != before
