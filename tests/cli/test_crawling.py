"""`engrain crawl` at a real server: folders, sites, and a server that is killed while it crawls."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli.client.conftest import ENVIRON, Shell, place
from tests.cli.local.test_mcp import until
from tests.tools.crawling.site import Answer, TestSite, site
from tests.tools.crawling.test_texts import pdf
from tools.runtime.launch import ServerProcess, server_process

__all__ = ["place"]
pytestmark = pytest.mark.slow

CRAWLING = ENVIRON | {"ENGRAIN_CRAWL_NETWORKS": "127.0.0.1"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def server(data: Path) -> Iterator[ServerProcess]:
    with server_process(data, environ=CRAWLING) as running:
        yield running


@pytest.fixture
def shell(place: tuple[Shell, httpx2.Client]) -> Shell:
    return place[0]


@pytest.fixture
def pages() -> Iterator[TestSite]:
    with site() as running:
        running.page("/", '<h1>Guide</h1><p>Walk to the ford.</p><a href="/a">a</a><a href="/b">b</a>')
        running.page("/a", "<p>Words.</p>")
        running.pages["/b"] = Answer(status=500)
        yield running


def test_a_folder_is_kept_and_then_only_what_has_changed(tmp_path: Path, shell: Shell) -> None:
    docs = tmp_path / "docs"
    (docs / "sub").mkdir(parents=True)
    for number in range(70):
        (docs / f"{number}.md").write_text(f"# Page {number}\n\nWords of {number}.")
    (docs / "sub" / "a.html").write_text("<h1>A</h1><p>Words of A.")
    (docs / "sub" / "b.pdf").write_bytes(pdf("Words of B"))
    (docs / "broken.pdf").write_bytes(b"no")
    (docs / ".hidden.md").write_text("hidden")
    code, said = shell.run("crawl", str(docs), "--name", "Harbour")
    assert code == 0
    assert "broken.pdf is a damaged PDF" in said
    assert "73 read: 72 new or changed, 0 unchanged, 0 removed, 1 unread" in said
    (docs / "3.md").unlink()
    (docs / "4.md").write_text("# Page 4\n\nOther words.")
    code, said = shell.run("crawl", str(docs), "--json")
    result, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
    told = {name: result[name] for name in ("pages", "new_or_changed", "unchanged", "removed")}
    assert told == {"pages": 72, "new_or_changed": 1, "unchanged": 70, "removed": 1}


def test_a_site_is_crawled_with_its_progress(shell: Shell, pages: TestSite) -> None:
    code, said = shell.run("crawl", pages.address, "--depth", "1", "--pages", "9", "--exclude", "/x/*")
    assert code == 0
    assert "3 of 3 pages" in said
    assert f"{pages.address}/b answers 500" in said
    assert "3 read: 2 new, 0 changed, 0 unchanged, 0 removed, 1 unread" in said
    code, said = shell.run("crawl", "http://127.0.0.2:9/")
    assert (code, "private network" in said) == (1, True)


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        (("nowhere",), 2, "is neither a folder"),
        ((".",), 1, "no file that can be read"),
        ((".", "--pages", "3"), 2, "--pages"),
        (("https://x.invalid/", "--project", "Nowhere"), 1, "no project"),
        (("https://x.invalid/", "--pages", "0"), 2, "--pages"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_said(shell: Shell, words: tuple[str, ...], code: int, answer: str) -> None:
    (shell.home / "empty").mkdir()
    done, said = shell.run("crawl", *(str(shell.home / "empty") if word == "." else word for word in words))
    assert (done, answer in said) == (code, True), said


def test_a_crawl_goes_on_after_a_kill(data: Path, shell: Shell, server: ServerProcess, pages: TestSite) -> None:
    links = "".join(f'<a href="/{number}">n</a>' for number in range(40))
    pages.page("/", f"<h1>All</h1>{links}")
    for number in range(40):
        pages.page(f"/{number}", f"<p>Words of {number}.</p>")
    gate = pages.pages["/30"].gate = threading.Event()
    token = {"Authorization": f"Bearer {shell.environ['ENGRAIN_TOKEN']}"}
    with httpx2.Client(base_url=server.address, trust_env=False, timeout=30, headers=token) as http:
        job = http.post("/api/sources/crawl", json={"url": pages.address}).raise_for_status().json()["job_id"]
        assert until(lambda: "/29" in pages.paths())
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
    gate.set()
    with server_process(data, environ=CRAWLING) as again, httpx2.Client(base_url=again.address, headers=token) as http:
        assert until(lambda: http.get(f"/api/jobs/{job}").json()["status"] == "complete")
        result = http.get(f"/api/jobs/{job}").json()["result"]
        listed = http.get("/api/entities?entity_type=document&page_size=200").json()["entities"]
    assert (result["pages"], result["new"], result["unchanged"]) == (41, 25, 16)
    assert len({each["content"] for each in listed}) == len(listed) == 41
