"""Imports of a mailbox and a Git history, without embedding."""

import time
from pathlib import Path

from evals.bench.history import long_history
from evals.bench.measurement import Figure, Measurement, Target
from evals.bench.stages import WITHOUT_VECTORS, signed_up
from evals.bench.texts import records
from evals.client import Client
from evals.machine import resident_mb
from tools.imports.adapters import ADAPTERS, batches
from tools.imports.files import open_source
from tools.imports.models import BATCH

MAILS, COMMITS = 10_000, 20_000
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
    with signed_up(measurement, folder / "data", WITHOUT_VECTORS) as person:
        time.sleep(REST_S)
        idle_mb = resident_mb(measurement.pid)[0] or 0
        rate = mails / _imported(person, mailbox, "mbox")
        grown_mb = (resident_mb(measurement.pid)[1] or 0) - idle_mb
        took_s = _imported(person, history, "git")
        measurement.figures += [
            Figure("mails imported", "/s", rate, mails, target=Target(300, 1000, True)),
            Figure("memory of the server, most above idle", "MB", grown_mb, 1, target=Target(200, 100)),
            Figure("history imported", "s", took_s, commits, target=Target(60, 30)),
        ]


def _imported(person: Client, path: Path, adapter: str) -> float:
    start = time.perf_counter()
    begun = person.post("/api/ingestion/imports", {"source_uri": path.as_uri(), "adapter_name": adapter})
    for batch in batches(ADAPTERS[adapter], open_source(path), {}, most=BATCH):
        person.post(f"/api/ingestion/imports/{begun['import_id']}/records", batch.body())
    return time.perf_counter() - start
