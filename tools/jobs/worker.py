"""`engrain worker`: jobs without a data folder."""

import signal
from collections.abc import Callable
from uuid import uuid4

import anyio

from stores.errors import InvalidSetting
from stores.ledger import Ledger
from tools.jobs.functions import JobHost
from tools.jobs.runner import Runner
from tools.runtime.settings import Settings
from tools.runtime.threads import in_thread


async def work(settings: Settings, on_started: Callable[[], None]) -> None:
    """Run jobs until SIGINT or SIGTERM; InvalidSetting on SQLite."""
    if settings.ledger_url.startswith("sqlite"):
        raise InvalidSetting(
            "A worker needs a ledger on PostgreSQL: one on SQLite belongs to the server of its data folder.",
            remediation="Set ENGRAIN_DATABASE_URL, or leave the jobs to the server, which runs them by default.",
        )
    ledger = await in_thread(Ledger.open, settings.ledger_url)
    try:
        ledger.listen()
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as stops:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(Runner(JobHost(ledger, settings), uuid4().hex).run)
                on_started()
                async for _ in stops:
                    tasks.cancel_scope.cancel()
    finally:
        ledger.close()
