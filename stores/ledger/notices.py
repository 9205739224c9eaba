"""Notices between processes on one PostgreSQL (LISTEN and NOTIFY): commits of the feed, states of jobs.

A lost notice delays, it loses nothing: whoever waits for one also polls.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

import structlog
from sqlalchemy import text

from stores.errors import EngrainError
from stores.jobs import JobNotice
from stores.ledger.engine import Database

CHECKED_EVERY_S = 30.0
PAUSE_S = 0.5
MOST_PAUSE_S = 30.0
STOP_S = 2.0

_notify = text("SELECT pg_notify('engrain', value) FROM json_array_elements_text(CAST(:notices AS json))")

log = structlog.get_logger("ledger")


class Notices:
    """Sends in one thread, so that no commit waits for it, and listens in another."""

    def __init__(
        self, database: Database, heard_commit: Callable[[str, int], None], heard_job: Callable[[JobNotice], None]
    ) -> None:
        self._database = database
        self._heard_commit = heard_commit
        self._heard_job = heard_job
        self._origin = uuid4().hex
        """Tells this process's notices, which come back, from those of others."""
        self._outbox: SimpleQueue[list[Any] | None] = SimpleQueue()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=target, name=f"notices-{name}", daemon=True)
            for name, target in (("send", self._send), ("listen", self._listen))
        ]
        for thread in self._threads:
            thread.start()

    def tell_commit(self, organization_id: str, sequence: int) -> None:
        self._outbox.put([organization_id, sequence])

    def tell_job(self, notice: JobNotice) -> None:
        self._outbox.put([*notice[:-1], notice.at.isoformat()])

    def close(self) -> None:
        self._stopping.set()
        self._outbox.put(None)
        for thread in self._threads:
            thread.join(STOP_S)

    def _send(self) -> None:
        while not self._stopping.is_set():
            notices = [json.dumps([self._origin, *(notice or ())]) for notice in self._waiting()]
            try:
                with self._database.read() as connection:
                    connection.execute(_notify, {"notices": json.dumps(notices)})
            except EngrainError as error:
                log.warning("notices_not_sent", detail=error.message)

    def _waiting(self) -> Iterator[list[Any] | None]:
        yield self._outbox.get()
        try:
            while True:
                yield self._outbox.get_nowait()
        except Empty:
            return

    def _listen(self) -> None:
        pause_s = PAUSE_S
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._hear_all()
            except Exception as error:  # noqa: BLE001 - the thread's edge: it connects again
                log.warning("notices_not_heard", detail=str(error))
            held = time.monotonic() - began > MOST_PAUSE_S
            pause_s = PAUSE_S if held else min(pause_s * 2, MOST_PAUSE_S)
            self._stopping.wait(pause_s)

    def _hear_all(self) -> None:
        with self._database.reader.connect() as connection:
            connection.detach()  # It is no connection of the pool any more.
            connection.exec_driver_sql("LISTEN engrain")
            driver: Any = connection.connection.dbapi_connection
            while not self._stopping.is_set():
                for notice in driver.notifies(timeout=CHECKED_EVERY_S):
                    self._hear(notice.payload)
                    if self._stopping.is_set():
                        return
                # A server that is gone without a word is noticed here.
                connection.exec_driver_sql("SELECT 1")

    def _hear(self, payload: str) -> None:
        origin, *parts = json.loads(payload)
        if origin == self._origin or not parts:
            return
        organization_id, *rest = parts
        if len(rest) == 1:
            self._heard_commit(organization_id, rest[0])
        else:
            job_id, function, state, visibility, at = rest
            at = datetime.fromisoformat(at)
            self._heard_job(JobNotice(organization_id, job_id, function, state, visibility, at))
