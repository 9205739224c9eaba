"""The commands of operators: they do what they say, and refuse in a sentence."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from stores.folder import DataFolder
from stores.ledger import Ledger
from stores.records import EntityDraft, Organization
from tools.version import VERSION


def run(*words: str, **environ: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"ENGRAIN_EMBEDDING_PROVIDER": "none", **environ})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with one organization and one entity, written while no server ran."""
    folder = tmp_path / "data"
    folder.mkdir()
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.sqlite'}")
    ledger.create_organization(Organization("org", "Org", "org-slug", False, datetime(2026, 1, 1, tzinfo=UTC)))
    with ledger.transaction("org", "user") as tx:
        tx.create_entity(EntityDraft("note_1", "note", "Note", "organization", "organization", content="Words."))
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


@pytest.mark.parametrize("command", ["check", "reindex", "serve"])
def test_a_folder_that_is_served_is_refused_and_its_server_named(command: str, tmp_path: Path) -> None:
    folder = DataFolder.claim(tmp_path / "data")
    folder.announce("http://127.0.0.1:1234")
    try:
        words = [command, "--data-dir", str(folder.path), *(["--port", "0"] if command == "serve" else [])]
        result = run(*words)
    finally:
        folder.close()
    assert result.exit_code == 1
    assert "http://127.0.0.1:1234" in result.stderr
    assert "Traceback" not in result.output


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
    assert "Traceback" not in result.output


def test_an_unknown_setting_is_a_warning(data: Path) -> None:
    result = run("check", "--data-dir", str(data), ENGRAIN_DATADIR="x")
    assert result.exit_code == 0
    assert "did you mean ENGRAIN_DATA_DIR?" in result.stderr
