"""The file of credentials is replaced as a whole, by one command at a time."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from cli.client.credentials import Credential, CredentialFile, Credentials
from cli.client.failure import CommandFailed

SESSION = Credential("session", "access", "ada@example.org", "refresh", 1_900_000_000)
KEY = Credential("api_key", "sk_live_x", "ada@example.org")


def test_secrets_stay_out_of_texts() -> None:
    assert "access" not in repr(SESSION)
    assert "refresh" not in repr(Credentials("x", {"x": SESSION})).replace("refresh_token", "")


def test_forgetting_the_default_makes_the_login_before_it_the_default() -> None:
    both = Credentials("http://two", {"http://one": SESSION, "http://two": KEY})
    assert both.without_server("http://one").default == "http://two"
    assert both.without_server("http://two").default == "http://one"
    assert both.without_server("http://two").without_server("http://one") == Credentials()


def test_commands_at_once_lose_nothing(tmp_path: Path) -> None:
    def add(number: int) -> None:
        file = CredentialFile(tmp_path)
        with file.locked() as now:
            file.write(now.with_server(f"http://{number}", SESSION))

    with ThreadPoolExecutor(20) as threads:
        list(threads.map(add, range(20)))
    assert len(CredentialFile(tmp_path).read().servers) == 20


def test_what_an_interrupted_command_left_is_replaced(tmp_path: Path) -> None:
    file = CredentialFile(tmp_path)
    left = tmp_path / f".credentials.json.{os.getpid()}"
    left.write_text("half")
    left.chmod(0o644)
    with file.locked():
        file.write(Credentials("http://one", {"http://one": replace(SESSION, email="é@example.org")}))
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.read().servers["http://one"].email == "é@example.org"


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = CredentialFile(tmp_path / "file" / "engrain")
    with pytest.raises(CommandFailed, match=r"cannot be read"):
        file.read()
    with pytest.raises(CommandFailed, match=r"cannot be written"), file.locked():
        pass
