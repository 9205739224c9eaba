"""The commands of operators: they do what they say, and refuse in a sentence."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from stores.folder import DataFolder
from stores.indexer import Indexer
from stores.indexer.options import Examined
from stores.ledger import Ledger
from stores.records import EntityDraft, Organization
from tools.runtime.version import VERSION


def run(*words: str, **environ: str) -> Result:
    result = CliRunner().invoke(app, list(words), env={"ENGRAIN_EMBEDDING_PROVIDER": "none", **environ})
    assert isinstance(result.exception, SystemExit | None)
    assert "Traceback" not in result.output
    return result


def execute(data: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(data / "ledger.sqlite")) as changed:
        changed.execute(statement, values)
        changed.commit()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.sqlite'}")
    ledger.people.create_organization(Organization("org", "Org", "org-slug", False, datetime(2026, 1, 1, tzinfo=UTC)))
    with ledger.transaction("org", "user") as tx:
        tx.records.create_entity(
            EntityDraft("note_1", "note", "Note", "organization", "organization", content="Words.")
        )
    ledger.close()
    return folder


def test_version_is_the_installed_one() -> None:
    assert run("version").stdout.strip() == VERSION


def test_check_builds_what_is_missing_and_finds_it_equal(data: Path) -> None:
    result = run("check", "--data-dir", str(data))
    assert result.exit_code == 0, result.output
    assert "org-slug: every index equals the ledger" in result.stdout


def test_reindex_rebuilds_one_organization(data: Path) -> None:
    result = run("reindex", "--data-dir", str(data), "--organization", "org-slug", "--index", "lexical")
    assert result.exit_code == 0, result.output
    assert "org-slug: rebuilt" in result.stdout


def test_an_unknown_organization_is_named(data: Path) -> None:
    result = run("check", "--data-dir", str(data), "--organization", "nobody")
    assert (result.exit_code, "nobody" in result.stderr) == (1, True)


def test_check_prints_ten_differences_of_an_organization_and_counts_the_others(data: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{data / 'ledger.sqlite'}")
    with ledger.transaction("org", "user") as tx:
        for at in range(15):
            tx.records.create_entity(EntityDraft(f"note_x{at}", "note", "Note", "organization", "organization"))
    ledger.close()
    assert run("check", "--data-dir", str(data)).exit_code == 0
    execute(data, "UPDATE entities SET revision = 7 WHERE id != 'note_1'")
    result = run("check", "--data-dir", str(data))
    assert result.exit_code == 1
    assert "org-slug: 30 difference(s)" in result.stdout, "of two indexes"
    assert "  lexical: entity note_x0 is at revision 1 instead of 7" in result.stdout
    assert "  and 20 more" in result.stdout
    assert "1 organization(s), 30 difference(s), 0 behind the ledger" in result.stdout


def test_check_names_a_record_that_cannot_be_indexed_and_a_reindex_takes_it_once_it_can(data: Path) -> None:
    execute(data, "UPDATE entities SET revision = ?", "many")
    for _ in range(2):
        result = run("check", "--data-dir", str(data))
        assert result.exit_code == 1, result.output
        assert "org-slug: 2 difference(s)" in result.stdout
        assert "  lexical: entity note_1 cannot be indexed: ValueError: " in result.stdout
        assert "  graph: entity note_1 cannot be indexed: RuntimeError: " in result.stdout
        assert run("reindex", "--data-dir", str(data)).exit_code == 0
    execute(data, "UPDATE entities SET revision = ?", 1)
    assert run("reindex", "--data-dir", str(data)).exit_code == 0
    assert run("check", "--data-dir", str(data)).exit_code == 0


def test_check_says_what_is_still_to_be_taken_in(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behind = [Examined("lexical", 0, []), Examined("vectors", 885, [])]
    monkeypatch.setattr(Indexer, "examine", lambda *_: behind)
    result = run("check", "--data-dir", str(data), "--wait", "0")
    assert result.exit_code == 3
    assert "org-slug: behind the ledger: vectors has 885 change(s) to take in" in result.stdout
    assert "every index equals" not in result.stdout


@pytest.mark.parametrize("command", ["check", "reindex"])
def test_a_folder_that_no_server_has_used_is_refused_and_not_made(command: str, tmp_path: Path) -> None:
    result = run(command, "--data-dir", str(tmp_path / "typo"))
    assert (result.exit_code, "is not a data folder" in result.stderr) == (1, True)
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("command", ["check", "reindex", "serve"])
@pytest.mark.parametrize("folder", ["/etc/passwd", "/etc/passwd/x", "/proc/x"])
def test_a_folder_that_cannot_be_used_is_refused_in_a_sentence(command: str, folder: str) -> None:
    result = run(command, *(["--port", "0"] if command == "serve" else []), ENGRAIN_DATA_DIR=folder)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert folder in result.stderr


@pytest.mark.parametrize("command", ["check", "reindex", "serve"])
@pytest.mark.parametrize("damage", ["garbage", "cut"])
def test_a_damaged_ledger_is_named(command: str, damage: str, data: Path) -> None:
    ledger = data / "ledger.sqlite"
    whole = ledger.read_bytes()
    ledger.write_bytes(b"no database at all" * 1000 if damage == "garbage" else whole[:4096] + b"x" * len(whole[4096:]))
    result = run(command, "--data-dir", str(data), *(["--port", "0"] if command == "serve" else []))
    assert result.exit_code == 1
    assert "Error: The ledger is damaged" in result.stderr
    assert str(ledger) in result.stderr
    assert "backup" in result.stderr


def test_a_secret_that_was_cut_short_stops_the_start(data: Path) -> None:
    (data / "jwt_secret").write_text("")
    result = run("serve", "--port", "0", "--data-dir", str(data))
    assert (result.exit_code, "jwt_secret is damaged" in result.stderr) == (1, True)


@pytest.mark.parametrize("command", ["check", "reindex", "serve"])
def test_a_folder_that_is_served_is_refused_and_its_server_named(command: str, tmp_path: Path) -> None:
    folder = DataFolder.claim(tmp_path / "data")
    folder.announce("http://127.0.0.1:1234")
    try:
        (folder.path / "instance").write_text("a" * 32)
        words = [command, "--data-dir", str(folder.path), *(["--port", "0"] if command == "serve" else [])]
        result = run(*words)
    finally:
        folder.close()
    assert result.exit_code == 1
    assert "http://127.0.0.1:1234" in result.stderr


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"ENGRAIN_PORT": "http"}, "ENGRAIN_PORT=http is not valid"),
        ({"ENGRAIN_JWT_SECRET": "short"}, "fewer than 32 characters"),
        ({"ENGRAIN_HOST": "192.0.2.1", "ENGRAIN_JWT_SECRET": "x" * 32}, "Cannot listen on 192.0.2.1"),
    ],
)
def test_an_impossible_setting_stops_the_start_with_a_sentence(
    environ: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    result = run("serve", "--data-dir", str(tmp_path), **environ)
    assert result.exit_code == 1
    assert sentence in result.stderr


def test_an_unknown_setting_is_a_warning(data: Path) -> None:
    result = run("check", "--data-dir", str(data), ENGRAIN_DATADIR="x")
    assert result.exit_code == 0
    assert "did you mean ENGRAIN_DATA_DIR?" in result.stderr


def test_check_names_a_record_that_cannot_be_read_even_where_every_index_has_it(data: Path) -> None:
    assert run("check", "--data-dir", str(data)).exit_code == 0
    execute(data, "UPDATE entities SET metadata = 'torn' WHERE id = 'note_1'")
    result = run("check", "--data-dir", str(data))
    assert result.exit_code == 1
    assert "  ledger: entity note_1 cannot be read: its row in the ledger is damaged: " in result.stdout
    assert "1 organization(s), 1 difference(s), 0 behind the ledger" in result.stdout
    assert run("reindex", "--data-dir", str(data)).exit_code == 0
    result = run("check", "--data-dir", str(data))
    assert "org-slug: 3 difference(s)" in result.stdout, "of the ledger and two indexes"
