"""A process that is killed in the middle of a job, and the next one, which finishes it."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from stores.errors import InvalidSetting
from stores.jobs import Job, JobDraft, JobState
from stores.ledger import Ledger
from tests.postgres import PostgresServer, postgres
from tests.stores.ledger.samples import ANN, ORG, organization, person
from tools.jobs.worker import work
from tools.runtime.settings import Settings

__all__ = ["postgres"]

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import anyio
from tools.jobs import registry
from tools.jobs.functions import JobFunction

async def run(host, running):
    if sys.argv[1] == "hang":
        await anyio.sleep_forever()
    return {"by": sys.argv[1]}

registry.FUNCTIONS = {"work": JobFunction("work", run)}
from tools.jobs.runner import Runner
Runner.__init__.__kwdefaults__["lease_s"] = 0.5
from cli.main import app
app(sys.argv[2:])
"""


@contextmanager
def running(name: str, command: Sequence[str], url: str) -> Iterator[subprocess.Popen[bytes]]:
    environ = {"ENGRAIN_DATABASE_URL": url, "PATH": "", "ENGRAIN_EMBEDDING_PROVIDER": "none"}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, name, *command], env=environ, cwd=Path.cwd())
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def reached(ledger: Ledger, job_id: str, state: JobState) -> Job:
    until = time.monotonic() + 60
    while (job := ledger.jobs.find(ORG, [job_id])[job_id]).state != state:
        assert time.monotonic() < until, job
        time.sleep(0.02)
    return job


@pytest.mark.parametrize("kind", ["worker", "server"])
def test_the_job_of_a_killed_process_is_finished_by_the_next(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    if kind == "worker":
        server: PostgresServer = request.getfixturevalue("postgres")
        url, command = server.create_database(), ["worker"]
    else:
        url, command = "", ["serve", "--port", "0", "--data-dir", str(tmp_path)]
    ledger = Ledger.open(url or f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    ledger.people.create_account(person(ANN), organization(ORG))
    with ledger.transaction(ORG, ANN) as tx:
        tx.jobs.enqueue(JobDraft("a", "work"))
    with running("hang", command, url) as process:
        reached(ledger, "a", "in_progress")
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    with running("next", command, url) as process:
        job = reached(ledger, "a", "complete")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert (job.result, job.attempts) == ({"by": "next"}, 2)
    ledger.close()


@pytest.mark.anyio
async def test_a_worker_on_sqlite_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="needs a ledger on PostgreSQL"):
        await work(Settings(data_dir=tmp_path), lambda: None)
