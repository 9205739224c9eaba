"""Imports of a mailbox and a Git history, without embedding, and a site that is crawled again."""

import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from evals.bench.history import long_history
from evals.bench.measurement import Figure, Measurement, Target
from evals.bench.stages import WITHOUT_VECTORS, signed_up
from evals.bench.texts import records
from evals.client import Client
from evals.machine import resident_mb
from stores.records import JsonObject
from tools.imports.adapters import ADAPTERS
from tools.imports.batches import batches
from tools.imports.files import open_source
from tools.imports.models import BATCH
from tools.runtime.settings import PREFIX

MAILS, COMMITS, PAGES = 10_000, 20_000, 500
REST_S = 10.0
"""Seconds after which a new server has loaded what it loads in the background."""
_MAIL = """From ada@localhost.test Mon Jan  1 00:00:00 2026
From: Ada <ada@localhost.test>
To: Bob <bob@localhost.test>
Date: Mon, 01 Jan 2026 10:00:00 +0000
Message-ID: <{number}@localhost.test>
Subject: {subject}

{content}

"""


def measure_imports(measurement: Measurement, folder: Path) -> None:
    mails, commits = measurement.times(MAILS), measurement.times(COMMITS)
    measurement.say(f"imports of {mails:,} mails and {commits:,} commits …")
    mailbox, history = folder / "mail.mbox", folder / "history"
    folder.mkdir()
    with mailbox.open("w") as file:
        for number, each in enumerate(records(mails)):
            file.write(_MAIL.format(number=number, subject=each.name, content=each.content))
    long_history(history, commits)
    settings = {**WITHOUT_VECTORS, f"{PREFIX}CRAWL_NETWORKS": "127.0.0.0/8"}
    with signed_up(measurement, folder / "data", settings) as person:
        time.sleep(REST_S)
        idle_mb = resident_mb(measurement.pid)[0] or 0
        rate = mails / _imported(person, mailbox, "mbox")
        bare = mails / _read(mailbox, "mbox")
        grown_mb = (resident_mb(measurement.pid)[1] or 0) - idle_mb
        took_s, bare_s = _imported(person, history, "git"), _read(history, "git")
        measurement.figures += [
            Figure(
                "mails imported", "/s", rate, mails, target=Target(300, 1000, True), note=f"read alone {bare:.0f} /s"
            ),
            Figure("memory of the server, most above idle", "MB", grown_mb, 1, target=Target(200, 100)),
            Figure("history imported", "s", took_s, commits, target=Target(60, 30), note=f"read alone {bare_s:.1f} s"),
        ]
        _measure_crawl(measurement, person, folder / "site")


def _imported(person: Client, path: Path, adapter: str) -> float:
    start = time.perf_counter()
    begun = person.post("/api/ingestion/imports", {"source_uri": path.as_uri(), "adapter_name": adapter})
    for batch in batches(ADAPTERS[adapter], open_source(path), {}, most=BATCH):
        person.post(f"/api/ingestion/imports/{begun['import_id']}/records", batch.body())
    return time.perf_counter() - start


def _read(path: Path, adapter: str) -> float:
    start = time.perf_counter()
    for _ in batches(ADAPTERS[adapter], open_source(path), {}, most=BATCH):
        pass
    return time.perf_counter() - start


class _Site(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _measure_crawl(measurement: Measurement, person: Client, folder: Path) -> None:
    pages = measurement.times(PAGES)
    measurement.say(f"a site of {pages} pages …")
    folder.mkdir()
    links = "".join(f'<li><a href="{number}.html">{number}</a>' for number in range(pages - 1))
    for number, each in enumerate(records(pages - 1)):
        (folder / f"{number}.html").write_text(f"<title>{each.name}</title><main><p>{each.content}</p></main>")
    (folder / "index.html").write_text(f"<main><h1>Pages</h1><ul>{links}</ul></main>")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Site, directory=str(folder))) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        body: JsonObject = {"url": f"http://127.0.0.1:{site.server_port}/", "pages": pages}
        first_s, _ = _crawled(person, body)
        again_s, result = _crawled(person, body)
        site.shutdown()
    note = f"first {first_s:.1f} s; {result['unchanged']} unchanged, {result['new']} new, {result['changed']} changed"
    measurement.figures.append(Figure("unchanged site crawled again", "s", again_s, pages, note=note))


def _crawled(person: Client, body: JsonObject) -> tuple[float, JsonObject]:
    start = time.perf_counter()
    job_id = person.post("/api/sources/crawl", body)["job_id"]
    job: JsonObject = {"status": ""}
    while job["status"] not in ("complete", "failed"):
        time.sleep(0.1)
        job = person.get(f"/api/jobs/{job_id}")
    return time.perf_counter() - start, dict(job["result"])  # type: ignore[arg-type]
