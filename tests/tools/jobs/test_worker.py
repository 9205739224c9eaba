"""A process that is killed in the middle of a job, and the next one, which finishes it."""

import subprocess
import sys
import time
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals

import pytest
from typer.testing import CliRunner

from cli.main import app
from stores.jobs import JobDraft
from stores.ledger import Ledger
from tests.postgres import postgres
from tests.stores.ledger.samples import ANN, ORG, organization, person

__all__ = ["postgres"]

PROGRAM = """
import sys
import anyio
from tools.jobs import functions, runner

async def run(host, running):
    if sys.argv[1] == "hang":
        await anyio.sleep_forever()
    return {"by": sys.argv[1]}

runner.FUNCTIONS.clear()
runner.FUNCTIONS["work"] = functions.JobFunction("work", run)
runner.Runner.lease_s = 0.5
from cli.main import app
app(sys.argv[2:])
"""


def signalled(ledger: Ledger, url: str, command: list[str], at: str, sent: Signals) -> int:
    """Run a process until the job has a state; return its exit code."""
    environ = {"ENGRAIN_DATABASE_URL": url, "PATH": "", "ENGRAIN_EMBEDDING_PROVIDER": "none"}
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *command], env=environ, cwd=Path.cwd()) as process:
        until = time.monotonic() + 60
        while ledger.jobs.find(ORG, ["a"])["a"].state != at and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(sent)
        return process.wait(20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["worker", "server"])
def test_the_job_of_a_killed_process_is_finished_by_the_next(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    url, command = "", ["serve", "--port", "0", "--data-dir", str(tmp_path)]
    if kind == "worker":
        url, command = request.getfixturevalue("postgres").create_database(), ["worker"]
    ledger = Ledger.open(url or f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    ledger.people.create_account(person(ANN), organization(ORG))
    with ledger.transaction(ORG, ANN) as tx:
        tx.jobs.enqueue(JobDraft("a", "work"))
    assert signalled(ledger, url, ["hang", *command], "in_progress", SIGKILL) == -SIGKILL
    assert signalled(ledger, url, ["next", *command], "complete", SIGTERM) == 0
    job = ledger.jobs.find(ORG, ["a"])["a"]
    assert (job.result, job.attempts) == ({"by": "next"}, 2)
    ledger.close()


def test_a_worker_on_sqlite_is_refused_with_a_sentence() -> None:
    refused = CliRunner().invoke(app, ["worker"], env={"ENGRAIN_DATABASE_URL": ""})
    assert refused.exit_code == 1
    assert "needs a ledger on PostgreSQL" in refused.stderr
