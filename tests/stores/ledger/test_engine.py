import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import select, text, update

from stores.errors import Conflict, EngrainError, InvalidSetting, Unavailable, ValidationFailed
from stores.ledger import Ledger, schema
from stores.ledger.engine import Database, connect
from tests.postgres import PostgresServer
from tests.stores.ledger.samples import ANN, ORG, OTHER, create, draft, organization, person

ROOT = Path(__file__).parents[3]

WRITER = """
import sys
from stores.ledger import Ledger
from stores.records import EntityDraft
ledger = Ledger.open(sys.argv[1])
for number in range(100_000):
    with ledger.transaction("org-1", "user-ann") as tx:
        tx.records.create_entity(EntityDraft(f"e{number}", "episode", "name", "organization", "organization"))
    print(number, flush=True)
"""


def test_sqlite_is_durable_leaves_no_deleted_text_and_readers_do_not_write(tmp_path: Path) -> None:
    database = connect(f"sqlite:///{tmp_path / 'x.sqlite'}")
    with database.write() as writer:
        found = {
            name: writer.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "query_only")
        }
    with pytest.raises(EngrainError), database.read() as reader:
        reader.exec_driver_sql("CREATE TABLE t (x)")
    database.close()
    assert found == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "query_only": 0}


def test_readers_see_the_last_commit_and_do_not_wait_for_the_writer(ledger: Ledger) -> None:
    create(ledger, draft("e1"))
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.delete_entity("e1")
        assert ledger.records.revisions(ORG) == {"e1": 1}
    assert ledger.records.revisions(ORG) == {}


def test_what_was_acknowledged_survives_the_death_of_the_process(populated_url: str) -> None:
    command = [sys.executable, "-c", WRITER, populated_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        for line in child.stdout:
            if line.strip() == "50":
                child.kill()
    ledger = Ledger.open(populated_url)
    survived = ledger.records.revisions(ORG)
    assert {f"e{number}" for number in range(51)} <= survived.keys()
    assert ledger.feed.head(ORG).sequence == len(survived)
    ledger.close()


def test_values_that_no_column_holds_are_refused_and_not_a_bug(ledger: Ledger) -> None:
    with pytest.raises(ValidationFailed):
        ledger.feed.changes(ORG, 2**70, 1)


def test_a_full_disk_refuses_the_write_and_nothing_else(database: Database) -> None:
    if not database.is_sqlite:
        pytest.skip("only a file of our own fills up under our hands")
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE notes (text)")
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    with database.writer.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Unavailable, match="full"), database.write() as connection:
        connection.exec_driver_sql("INSERT INTO notes VALUES (zeroblob(100000))")
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM notes").scalar() == 0
    with database.write() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
        connection.exec_driver_sql("INSERT INTO notes VALUES (zeroblob(100000))")


def test_a_server_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        Ledger.open("postgresql+psycopg://nobody@127.0.0.1:1/nothing")


def test_a_server_database_that_cannot_hold_all_text_is_refused(postgres: PostgresServer) -> None:
    url = postgres.create_database(encoding="SQL_ASCII")
    with pytest.raises(InvalidSetting, match="SQL_ASCII"):
        Ledger.open(url)
    postgres.drop_database(url)


def lose_the_connection(postgres: PostgresServer, ledger: Ledger, url: str) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        postgres.disconnect_all(url)
        tx.records.entity("e1")


def test_a_ledger_goes_on_after_the_server_dropped_its_connections(postgres: PostgresServer) -> None:
    url = postgres.create_database()
    ledger = Ledger.open(url.replace("+psycopg", ""))
    ledger.people.create_account(person(ANN), organization(ORG))
    ledger.ping()
    with pytest.raises(Unavailable):
        lose_the_connection(postgres, ledger, url)
    create(ledger, draft("e1"))
    assert ledger.records.revisions(ORG) == {"e1": 1}
    ledger.close()
    postgres.drop_database(url)


@pytest.mark.parametrize("populated_url", ["postgresql"], indirect=True)
def test_a_deadlock_is_a_conflict_that_a_caller_may_retry(database: Database) -> None:
    table = schema.organizations
    both_hold_one = threading.Barrier(2, timeout=30)
    outcomes: list[str] = []

    def lock(first: str, second: str) -> None:
        try:
            with database.write() as connection:
                connection.execute(select(table.c.id).where(table.c.id == first).with_for_update())
                both_hold_one.wait()
                connection.execute(update(table).where(table.c.id == second).values(seq=1))
            outcomes.append("committed")
        except Conflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=lock, args=ids) for ids in ((ORG, OTHER), (OTHER, ORG))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(outcomes) == ["committed", "conflict"]


@pytest.mark.parametrize("populated_url", ["postgresql"], indirect=True)
def test_a_wait_for_another_process_is_bounded(database: Database) -> None:
    with database.write() as connection:
        assert connection.execute(text("SHOW lock_timeout")).scalar_one() == "20s"
