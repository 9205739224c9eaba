"""`engrain worker`."""

from contextlib import closing
from signal import SIGINT, SIGTERM
from uuid import uuid4

import anyio
import typer

from cli.serving import settings_of
from stores.errors import InvalidSetting
from stores.ledger import Ledger
from tools.jobs.functions import JobHost
from tools.jobs.runner import Runner
from tools.runtime.log_ring import LogRing, configure_logs
from tools.runtime.settings import Settings


def worker() -> None:
    settings = settings_of()
    if settings.ledger_url.startswith("sqlite"):
        raise InvalidSetting(
            "A worker needs a ledger on PostgreSQL: one on SQLite belongs to the server of its data folder.",
            remediation="Set ENGRAIN_DATABASE_URL, or leave the jobs to the server, which runs them by default.",
        )
    configure_logs(settings.log_level, settings.log_format, LogRing())
    with closing(Ledger.open(settings.ledger_url)) as ledger:
        ledger.listen()
        anyio.run(_work, ledger, settings)


async def _work(ledger: Ledger, settings: Settings) -> None:
    with anyio.open_signal_receiver(SIGINT, SIGTERM) as stops:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Runner(JobHost(ledger, settings), uuid4().hex).run)
            typer.echo("Engrain runs background jobs. Stop it with Ctrl-C.")
            async for _ in stops:
                tasks.cancel_scope.cancel()
