"""Connection pool for many threads, last in, first out."""

from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, Pool


class ReaderPool(Pool):
    """Pool that keeps some idle connections open.

    SQLAlchemy's pool holds a lock for each checkout; with fifty clients, threads spent more than half of a read waiting
    for it.
    """

    def __init__(
        self, creator: Callable[..., Any], most: int, most_idle: int, timeout_s: float, **options: Any
    ) -> None:
        super().__init__(creator, **options)
        self._most, self._most_idle, self._timeout_s = most, most_idle, timeout_s
        self._idle: deque[ConnectionPoolEntry] = deque()
        self._permits: SimpleQueue[None] = SimpleQueue()
        for _ in range(most):
            self._permits.put(None)

    def status(self) -> str:
        return f"{self._most - self._permits.qsize()} lent of at most {self._most}, {len(self._idle)} idle"

    def recreate(self) -> "ReaderPool":
        return ReaderPool(
            self._creator,
            most=self._most,
            most_idle=self._most_idle,
            timeout_s=self._timeout_s,
            reset_on_return=self._reset_on_return,
            _dispatch=self.dispatch,
            dialect=self._dialect,
        )

    def dispose(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _do_get(self) -> ConnectionPoolEntry:
        try:
            self._permits.get(timeout=self._timeout_s)
        except Empty:
            raise PoolTimeout(f"All {self._most} connections are in use.") from None
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._create_connection()
        except BaseException:
            self._permits.put(None)
            raise

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        try:
            if len(self._idle) < self._most_idle:
                self._idle.append(record)
            else:
                record.close()
        finally:
            self._permits.put(None)
