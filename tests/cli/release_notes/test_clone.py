import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cli.release_notes import repository
from cli.release_notes.analysis.analyse import analyse
from cli.release_notes.facts import FactsRequest, ReleaseFacts, ReleaseNotesFailed
from tests.cli.release_notes.repositories import Built, begun
from tests.cli.release_notes.test_command import started


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.glob("engrain-*"))


def project(root: Path) -> None:
    built = begun(root / "project.git")
    for number in range(12):
        built.commit(f"Add thing {number}", {"tool/a.py": f"x = {number}\n"})
    built.tag("v2", str(built.repository.revparse_single("HEAD~3").id), message="Two")


def fetch(url: str, older: str, newer: str = "HEAD") -> ReleaseFacts:
    return analyse(FactsRequest(None, url, older, newer, None), lambda *_: None)


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An address whose host is this machine, without a server: what SSH would run there is run here."""
    (program := tmp_path / "ssh").write_text('#!/bin/sh\nexec sh -c "$2"\n')
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    return f"ssh://git@github.com{tmp_path}/project.git"


@pytest.mark.parametrize(
    ("older", "newer", "count"), [("v2", "HEAD", 3), ("HEAD~3", "HEAD", 3), ("v1", "main~1", 11), ("v2^", "v2", 1)]
)
def test_a_remote_range_is_fetched(tmp_path: Path, remote: str, older: str, newer: str, count: int) -> None:
    project(tmp_path)
    found = fetch(remote, older, newer)
    assert len(found.commits) == count
    assert found.remote_url == f"https://github.com{tmp_path}/project"


def test_what_the_remote_lacks_is_said(tmp_path: Path, remote: str) -> None:
    project(tmp_path)
    with pytest.raises(ReleaseNotesFailed, match="'v9' is no tag"):
        fetch(remote, "v9")
    with pytest.raises(ReleaseNotesFailed, match="cannot be fetched"):
        fetch(remote.replace("project", "other"), "v1")
    Built.new(tmp_path / "empty.git")
    with pytest.raises(ReleaseNotesFailed, match="no commits yet"):
        fetch(remote.replace("project", "empty"), "v1")


@pytest.mark.parametrize(("status", "said"), [(401, "asks for credentials"), (404, "no repository at this address")])
def test_a_server_that_refuses_is_a_sentence_without_the_password(status: int, said: str) -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(status)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with pytest.raises(ReleaseNotesFailed, match=said) as refused:
            fetch(f"http://ann:s3cret@127.0.0.1:{server.server_port}/project.git", "v1")
        assert "s3cret" not in str(refused.value)
        server.shutdown()


@pytest.mark.parametrize(
    ("url", "said"),
    [("http://127.0.0.1:1/project.git", "cannot be reached"),
     ("https://nowhere.invalid/project.git", "cannot be found"),
     ("ssh://git@127.0.0.1:1/project.git", "cannot be fetched"), ("gopher://example.org/project.git", "not supported"),
     ("https://", "cannot be found"), ("file://elsewhere/project.git", "names a host"), ("", "--repo needs"),
     ("--upload-pack=touch /tmp/evil", "There is no repository at"),
     ("ext::sh -c 'touch /tmp/evil'", "cannot be fetched")],
)  # fmt: skip
def test_an_address_that_cannot_be_fetched_says_why(url: str, said: str) -> None:
    with pytest.raises(ReleaseNotesFailed) as refused:
        fetch(url, "v1")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "SILENCE_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/project.git"
        with pytest.raises(ReleaseNotesFailed, match="cannot be fetched"):
            fetch(url, "v1")


def test_an_interrupted_fetch_leaves_nothing_behind(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(temporary))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/project.git"
        process = started(temporary, "--from", "v1", "--repo", url, stderr=subprocess.PIPE)
        listening.settimeout(60)
        connection, _ = listening.accept()
        with connection:
            assert list(temporary.glob("engrain-*"))
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (1, b"Error: Interrupted: nothing more was written.\n")
