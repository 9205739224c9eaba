"""The number that outdates what is remembered of people's rights. SQLite only: PostgreSQL has none."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stores.ledger import Ledger
from stores.ledger.columns import metadata
from stores.ledger.version import CONTENT, HEAD_OF_FEED, RightsVersion
from tests.stores.ledger.samples import ANN, BOB, ORG, SteppingClock, add_project, create, deed, draft, rename, session

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
    before = ledger.rights_version()
    CHANGES[change](ledger)
    assert before is not None
    assert (ledger.rights_version() or 0) > before


def test_content_leaves_it_alone(ledger: Ledger) -> None:
    before = ledger.rights_version()
    create(ledger, draft("e1"))
    rename(ledger, "e1", "Another")
    with ledger.transaction(ORG, ANN) as tx:
        tx.audit(deed("entity.note"))
    assert ledger.rights_version() == before


def test_what_a_process_without_triggers_of_its_own_changes_counts(ledger: Ledger, tmp_path: Path) -> None:
    before = ledger.rights_version()
    assert before is not None
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE memberships SET role = 'viewer'")
    raw.close()
    assert (ledger.rights_version() or 0) > before


def test_all_that_decides_about_a_caller_is_counted(ledger: Ledger, tmp_path: Path) -> None:
    read: set[tuple[str, str]] = set()

    def note(action: int, table: str | None, column: str | None, _database: str | None, _cause: str | None) -> int:
        if action == sqlite3.SQLITE_READ and table and column and table in metadata.tables:
            read.add((table, column))
        return sqlite3.SQLITE_OK

    with ledger._database.read() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_authorizer(note)
    assert ledger.people.caller(ANN, ORG, "s1") is not None
    assert ledger.api_keys.find("sk_live_none") is None
    assert ledger.grants.identity("none") is None
    assert ledger.spaces.some(ORG, ["none"]) == []

    counted = {
        (table.name, column.name)
        for table in metadata.sorted_tables
        if table.name not in CONTENT
        for column in table.columns
        if (table.name, column.name) not in {("organizations", name) for name in HEAD_OF_FEED}
    }
    assert {("memberships", "role"), ("sessions", "revoked_at"), ("api_keys", "key_hash")} <= read
    assert ("oauth_tokens", "token_hash") in read
    assert read <= counted
    for table, column in sorted(read):
        assert _fires(tmp_path / "ledger.sqlite", table, column), (table, column)


def test_an_older_trigger_is_replaced(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sqlite3.connect(path) as raw:
        raw.execute("DROP TRIGGER rights_memberships_update")
        raw.execute(
            "CREATE TRIGGER rights_memberships_update AFTER UPDATE OF created_at ON memberships BEGIN SELECT 1; END"
        )
    raw.close()
    Ledger.open(f"sqlite:///{path}").close()
    assert _fires(path, "memberships", "role")


def test_a_file_that_is_no_ledger_has_no_number(tmp_path: Path) -> None:
    watch = RightsVersion(tmp_path / "empty.sqlite")
    assert watch.current() is None
    watch.close()
    assert watch.current() is None


def _fires(path: Path, table: str, column: str) -> bool:
    raw = sqlite3.connect(path)
    try:
        steps = raw.execute(f"EXPLAIN UPDATE {table} SET {column} = {column}").fetchall()
    finally:
        raw.close()
    return any(f"rights_{table}_update" in str(step) for step in steps)
