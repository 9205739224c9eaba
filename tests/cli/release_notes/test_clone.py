import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.release_notes.analysis import analyse
from cli.release_notes.facts import FactsRequest, ReleaseFacts, ReleaseNotesFailed
from cli.release_notes.git import clone
from tests.cli.release_notes.repositories import Built, begun
from tests.cli.release_notes.servers import smart

BACKEND = (
    shutil.which("git") and subprocess.run(["git", "http-backend"], capture_output=True, check=False).returncode != 1
)
needs_backend = pytest.mark.skipif(not BACKEND, reason="this Git has no http-backend")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.glob("engrain-*"))


def project(root: Path, commits: int = 12) -> Built:
    built = begun(root / "project.git")
    for number in range(commits):
        built.commit(f"Add thing {number}", {"tool/a.py": f"x = {number}\n"})
        if number == commits - 4:
            built.tag("v2", message="Two")
    return built


def fetch(url: str, older: str, newer: str = "HEAD") -> ReleaseFacts:
    return analyse(FactsRequest(None, url, older, newer, None), lambda *_: None)


@needs_backend
def test_a_remote_range_is_fetched(tmp_path: Path) -> None:
    built = project(tmp_path)
    with smart(tmp_path) as served:
        found = fetch(served.url, "v2")
        assert len(fetch(served.url, "v1").commits) == 12
    assert len(found.commits) == 3
    assert found.to_sha == str(built.head)
    assert found.remote_url == served.url.removesuffix(".git")


@needs_backend
@pytest.mark.parametrize(("older", "newer", "count"), [("HEAD~3", "HEAD", 3), ("v1", "main~1", 11), ("v2^", "v2", 1)])
def test_expressions_and_shas_are_resolved_in_what_was_fetched(
    tmp_path: Path, older: str, newer: str, count: int
) -> None:
    built = project(tmp_path)
    with smart(tmp_path) as served:
        assert len(fetch(served.url, older, newer).commits) == count
        assert len(fetch(served.url, str(built.head)[:9] + "~1", str(built.head)[:9]).commits) == 1


@needs_backend
def test_credentials_of_the_address_are_used_and_never_shown(tmp_path: Path) -> None:
    project(tmp_path)
    with smart(tmp_path, password="ann:s3cret") as served:
        with_password = served.url.replace("http://", "http://ann:s3cret@")
        steps: list[tuple[object, ...]] = []
        request = FactsRequest(None, with_password, "v2", "HEAD", None)
        found = analyse(request, lambda *step: steps.append(step))
        assert found.remote_url == served.url.removesuffix(".git")
        assert "s3cret" not in repr(steps)
        for wrong in (served.url, served.url.replace("http://", "http://ann:wr0ng@")):
            with pytest.raises(ReleaseNotesFailed, match="asks for credentials") as refused:
                fetch(wrong, "v2")
            assert "wr0ng" not in str(refused.value)
            assert "ann@" not in str(refused.value)


@needs_backend
def test_what_the_remote_lacks_is_said(tmp_path: Path) -> None:
    project(tmp_path)
    with smart(tmp_path) as served:
        with pytest.raises(ReleaseNotesFailed, match="'v9' is no tag"):
            fetch(served.url, "v9")
        with pytest.raises(ReleaseNotesFailed, match="no repository at this address"):
            fetch(served.url.replace("project", "other"), "v1")
        Built.new(tmp_path / "empty.git")
        with pytest.raises(ReleaseNotesFailed, match="no commits yet"):
            fetch(served.url.replace("project", "empty"), "v1")


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
    monkeypatch.setattr(clone, "SILENCE_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/project.git"
        with pytest.raises(ReleaseNotesFailed, match="cannot be fetched"):
            fetch(url, "v1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_fetch_leaves_nothing_behind(temporary: Path, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/project.git"
        code = (
            "from cli.release_notes.analysis import analyse\n"
            "from cli.release_notes.facts import FactsRequest\n"
            f"analyse(FactsRequest(None, {url!r}, 'v1', 'HEAD', None), lambda *_: None)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "TMPDIR": str(temporary)},
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # this process may ignore it
        )
        listening.settimeout(60)
        connection, _ = listening.accept()
        with connection:
            assert list(temporary.glob("engrain-*"))
            process.send_signal(number)
            assert process.wait(30) != 0
    deadline = time.monotonic() + 10
    while list(temporary.glob("engrain-*")) and time.monotonic() < deadline:
        threading.Event().wait(0.05)
