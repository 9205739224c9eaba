import logging
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from stores.errors import InvalidRequest, InvalidSetting
from stores.ledger import Ledger, schema
from stores.ledger.engine import connect
from stores.ledger.migrating import HEAD, SCRIPTS
from tests.stores.ledger.samples import ANN, ORG, create, draft, organization, person

ROOT = Path(__file__).parents[3]

FIRST_CONTENT = """
INSERT INTO organizations VALUES ('org-1', 'Org', 'slug-1', TRUE, 1000000, 1, 'batch-1');
INSERT INTO users VALUES ('user-ann', 'Ann@x.org', 'ann@x.org', 'Ann', 'hash', TRUE, NULL, 7, 1000000);
INSERT INTO memberships VALUES ('user-ann', 'org-1', 'owner', 1000000);
INSERT INTO sessions VALUES ('s1', 'user-ann', 'org-1', 'r1', 1000000, 9000000000000000, NULL);
INSERT INTO project_access VALUES ('org-1', 'p1', 'org', 'user-ann');
INSERT INTO entities VALUES ('org-1', 'e1', 'note', 'note', 'Name', 'name', NULL, '', '', '', '', '', NULL,
  'organization', 'organization', NULL, NULL, 'user-ann', NULL, 1, 1000000, 1000000, NULL, '[]', '[]', '{}', '',
  'What was written.', 'name');
INSERT INTO changes VALUES ('org-1', 1, 'entity', 'e1', 'create', 1, 'note', 'organization', 'user-ann', 'batch-1',
  FALSE, '{}', 1000000)
"""


def build_version(connection: Connection, version: str, content: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    command.upgrade(config, version)
    for statement in content.split(";"):
        connection.execute(text(statement))


def test_the_migrations_lead_to_the_schema(url: str) -> None:
    Ledger.open(url).close()
    database = connect(url)
    with database.write() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        differences = compare_metadata(context, schema.metadata)
    database.close()
    assert differences == []


def test_the_head_is_the_last_migration_of_a_single_line() -> None:
    assert ScriptDirectory(str(SCRIPTS)).get_heads() == [HEAD]


def test_a_ledger_keeps_its_epoch_and_content_when_it_is_opened_again(url: str) -> None:
    first = Ledger.open(url)
    first.create_account(person(ANN), organization(ORG))
    create(first, draft("e1"))
    first.close()

    again = Ledger.open(url)

    assert again.epoch == first.epoch
    assert again.revisions(ORG) == {"e1": 1}
    assert again.renew_epoch() == again.epoch != first.epoch
    again.close()


def test_a_ledger_of_the_first_version_is_upgraded_with_all_that_it_holds(url: str) -> None:
    database = connect(url)
    with database.write() as connection:
        build_version(connection, "0001", FIRST_CONTENT)
    database.close()

    ledger = Ledger.open(url)

    identity = ledger.identity(ANN, ORG, "s1")
    assert identity is not None
    assert (identity.user.email, identity.user.codehost_id, identity.role) == ("Ann@x.org", 7, "owner")
    assert [change.record_id for change in ledger.changes(ORG, 0, 10)] == ["e1"]
    assert [access.project_id for access in ledger.access(ANN, ORG).projects] == ["p1"]
    create(ledger, draft("e2"))
    assert ledger.revisions(ORG) == {"e1": 1, "e2": 1}
    ledger.close()


SECOND_CONTENT = """
INSERT INTO organizations VALUES ('org-1', 'Org', 'slug-1', TRUE, 1000000, 0, '', NULL);
INSERT INTO users (id, email, email_key, name, is_admin, created_at) VALUES
  ('user-long', '\u017fAM@ex.org', 'sam@ex.org', 'L', FALSE, 1000000),
  ('user-sharp', 'Sam@stra\u00dfe.de', 'sam@strasse.de', 'S', FALSE, 1000000),
  ('user-plain', 'Plain@Ex.org', 'plain@ex.org', 'P', FALSE, 1000000);
INSERT INTO memberships VALUES ('user-plain', 'org-1', 'owner', 1000000);
INSERT INTO invitations VALUES ('i1', 'org-1', 'token-1', 'mar\u212a@Ex.org', 'mark@ex.org', 'member', 'user-plain',
  1000000, 9000000000000000, NULL, NULL);
INSERT INTO invitations VALUES ('i2', 'org-1', 'token-2', 'Mark@Ex.org', 'mark@ex.org', 'member', 'user-plain',
  1000000, 9000000000000000, NULL, NULL)
"""


def test_addresses_that_were_folded_are_compared_to_the_letter_after_an_upgrade(url: str) -> None:
    database = connect(url)
    with database.write() as connection:
        build_version(connection, "0002", SECOND_CONTENT)
    database.close()

    ledger = Ledger.open(url)

    found = {
        email: user and user.id
        for email in ("\u017fam@EX.org", "sam@ex.org", "sam@stra\u00dfe.de", "sam@strasse.de", "PLAIN@ex.org")
        for user in [ledger.user_by_email(email)]
    }
    assert list(found.values()) == ["user-long", None, "user-sharp", None, "user-plain"]
    for number, email in enumerate(["sam@ex.org", "sam@strasse.de", "mark@ex.org"]):
        ledger.create_account(person(f"user-{number}", email=email), organization(f"org-of-{number}"))
    with pytest.raises(InvalidRequest, match="another e-mail address"):
        ledger.invitations.accept("token-1", "user-2")
    assert ledger.invitations.accept("token-2", "user-2").id == "i2"
    ledger.close()


def test_a_ledger_from_the_future_is_refused_with_a_sentence(url: str) -> None:
    Ledger.open(url).close()
    database = connect(url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(InvalidSetting, match="newer version"):
        Ledger.open(url)


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
    program = "import sys; from stores.ledger import Ledger; print(Ledger.open(sys.argv[1]).epoch)"
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
