import logging
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from stores.backup import unpack
from stores.errors import InvalidSetting
from stores.ledger import Ledger, migrating, schema
from stores.ledger.engine import connect
from stores.ledger.migrating import HEAD, SCRIPTS
from tests.stores.ledger.samples import ANN, ORG, create, draft, organization, person

ROOT = Path(__file__).parents[3]

FINGERPRINTS = {"0001_baseline": "535db258cfdbbbe76ef17d540491919d529914a167ed5e2e7d989b0b2aadb889"}
"""SHA-256 of the tables after each migration. Never change the entry of a released one: add a migration."""


def test_a_new_ledger_has_the_tables_of_the_schema(url: str) -> None:
    Ledger.open(url).close()
    database = connect(url)
    with database.write() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        differences = compare_metadata(context, schema.metadata)
        version = context.get_current_revision()
    database.close()
    assert (differences, version) == ([], HEAD)


def test_a_changed_schema_has_a_new_migration() -> None:
    statements = [
        str(made.compile(dialect=postgresql.dialect()))
        for table in schema.metadata.sorted_tables
        for made in (CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name))))
    ]
    assert sha256("\n".join(statements).encode()).hexdigest() == FINGERPRINTS[HEAD]


def test_the_head_is_the_last_migration_of_a_single_line() -> None:
    assert ScriptDirectory(str(SCRIPTS)).get_heads() == [HEAD]


def test_a_ledger_keeps_its_epoch_and_content_when_it_is_opened_again(url: str) -> None:
    first = Ledger.open(url)
    first.people.create_account(person(ANN), organization(ORG))
    create(first, draft("e1"))
    first.close()

    again = Ledger.open(url)

    assert again.feed.epoch == first.feed.epoch
    assert again.records.revisions(ORG) == {"e1": 1}
    again.close()


def test_a_ledger_from_the_future_is_refused_with_a_sentence(url: str) -> None:
    Ledger.open(url).close()
    database = connect(url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(InvalidSetting, match=r"newer version.*schema 9999"):
        Ledger.open(url)


LATER = f"""
from alembic import op
from sqlalchemy import Column, Integer
revision, down_revision = "0002", "{HEAD}"
def upgrade(): op.add_column("meta", Column("more", Integer))
"""


def test_an_older_ledger_is_backed_up_before_it_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, scripts = tmp_path / "data", tmp_path / "migrations"
    data.mkdir()
    Ledger.open(f"sqlite:///{data / 'ledger.sqlite'}").close()
    shutil.copytree(SCRIPTS, scripts)
    (scripts / "versions" / "0002.py").write_text(LATER)
    monkeypatch.setattr(migrating, "SCRIPTS", scripts)
    monkeypatch.setattr(migrating, "HEAD", "0002")

    for _ in range(2):
        Ledger.open(f"sqlite:///{data / 'ledger.sqlite'}").close()

    (kept,) = (data / "backups").iterdir()
    assert unpack(kept, scripts)["schema"] == HEAD
    for folder, version, more in ((scripts, HEAD, False), (data, "0002", True)):
        with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
            assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (version,)
            assert ("more" in [row[1] for row in connection.execute("PRAGMA table_info(meta)")]) == more


def test_opening_says_nothing(url: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.WARNING):
        Ledger.open(url).close()
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_a_folder_with_odd_characters_holds_a_ledger(tmp_path: Path) -> None:
    folder = tmp_path / "50% of ünïcode & spaces"
    folder.mkdir()
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.sqlite'}")
    ledger.ping()
    ledger.close()
    assert (folder / "ledger.sqlite").stat().st_mode & 0o077 == 0


def test_two_processes_may_open_a_new_ledger_at_once(url: str) -> None:
    program = "import sys; from stores.ledger import Ledger; print(Ledger.open(sys.argv[1]).feed.epoch)"
    racing = [
        subprocess.Popen([sys.executable, "-c", program, url], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(2)
    ]
    epochs = {process.communicate(timeout=60)[0] for process in racing}
    assert [process.returncode for process in racing] == [0, 0]
    assert len(epochs) == 1


@pytest.mark.parametrize("bad", ["", "nonsense", "mysql://x/y", "sqlite://", "sqlite:////absent-folder/x.sqlite"])
def test_a_url_that_cannot_hold_a_ledger_is_refused_with_a_sentence(bad: str) -> None:
    with pytest.raises(InvalidSetting):
        Ledger.open(bad)
