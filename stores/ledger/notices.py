"""Commits and job states for other processes, by LISTEN and NOTIFY. Receivers also poll."""

import json
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any
from uuid import uuid4

import structlog
from sqlalchemy import text

from stores.jobs import JobNotice
from stores.ledger.engine import Database
from stores.ledger.jobs import JobListener

CHECKED_EVERY_S = 30.0
PAUSE_S = 1.0

CommitListener = Callable[[str, int], None]

_notify = text("SELECT pg_notify('engrain', value) FROM json_array_elements_text(CAST(:notices AS json))")

log = structlog.get_logger("ledger")


class Notices:
    """Thread that sends and thread that listens; no commit waits for them."""

    def __init__(self, database: Database, on_commit: Sequence[CommitListener], on_job: Sequence[JobListener]) -> None:
        self._database = database
        self._on_commit = on_commit
        self._on_job = on_job
        self._origin = uuid4().hex
        self._outbox: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._send, self._listen)]
        for thread in self._threads:
            thread.start()

    def tell(self, *notice: Any) -> None:
        self._outbox.put(notice)

    def close(self) -> None:
        self._stopping.set()
        self.tell()
        for thread in self._threads:
            thread.join(2)

    def _send(self) -> None:
        notices: list[tuple[Any, ...]] = []
        while () not in notices:
            notices = [self._outbox.get()]
            while not self._outbox.empty():
                notices.append(self._outbox.get())
            texts = [json.dumps([self._origin, *notice]) for notice in notices]
            try:
                with self._database.read() as connection:
                    connection.execute(_notify, {"notices": json.dumps(texts)})
            except Exception as error:  # noqa: BLE001 - the thread's edge, as below
                log.warning("notices_not_sent", detail=str(error))

    def _listen(self) -> None:
        while not self._stopping.is_set():
            try:
                self._hear_all()
            except Exception as error:  # noqa: BLE001 - the thread's edge: it connects again
                log.warning("notices_not_heard", detail=str(error))
                self._stopping.wait(PAUSE_S)

    def _hear_all(self) -> None:
        with self._database.reader.connect() as connection:
            connection.detach()  # It no longer belongs to the pool.
            connection.exec_driver_sql("LISTEN engrain")
            driver: Any = connection.connection.dbapi_connection
            while not self._stopping.is_set():
                for notice in driver.notifies(timeout=CHECKED_EVERY_S):
                    self._hear(*json.loads(notice.payload))
                    if self._stopping.is_set():
                        return
                # A server that is gone without a word is noticed here.
                connection.exec_driver_sql("SELECT 1")

    def _hear(self, origin: str, *notice: Any) -> None:
        if origin == self._origin or not notice:
            return
        if len(notice) == len(JobNotice._fields):
            for listener in self._on_job:
                listener(JobNotice(*notice))
        else:
            for commit_listener in self._on_commit:
                commit_listener(*notice)
