"""Structured logs and the ring buffer of the last entries."""

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, cast

import structlog

from stores.records import JsonObject

RING_SIZE = 5000
Level = Literal["debug", "info", "warning", "error", "critical"]
LogListener = Callable[[JsonObject], None]
_STANDARD = ("timestamp", "level", "event", "logger")


class LogRing:
    def __init__(self, size: int = RING_SIZE) -> None:
        self._entries: deque[tuple[str, JsonObject]] = deque(maxlen=size)
        self._listeners: list[tuple[str, LogListener]] = []

    def __call__(self, _logger: object, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        organization_id = entry.get("organization_id")
        if isinstance(organization_id, str):
            shown = _shown(entry)
            self._entries.append((organization_id, shown))
            for owner, listener in tuple(self._listeners):
                if owner == organization_id:
                    listener(shown)
        return entry

    def of(self, organization_id: str) -> list[JsonObject]:
        # A copy, because other threads log.
        return [entry for owner, entry in reversed(tuple(self._entries)) if owner == organization_id]

    @contextmanager
    def telling(self, organization_id: str, listener: LogListener) -> Iterator[None]:
        """Call a non-blocking listener with each entry of one organization."""
        told = (organization_id, listener)
        self._listeners.append(told)
        try:
            yield
        finally:
            self._listeners.remove(told)


def _shown(entry: MutableMapping[str, Any]) -> JsonObject:
    context = {
        key: value if isinstance(value, int | float | bool | None) else str(value) for key, value in entry.items()
    }
    return {
        "timestamp": str(entry.get("timestamp") or datetime.now(UTC).isoformat()),
        "service": str(entry.get("logger", "engrain")),
        "level": str(entry.get("level", "info")),
        "event": str(entry.get("event", "")),
        "context": {key: value for key, value in context.items() if key not in _STANDARD},
    }


class PatientStream:
    """Text stream that drops lines on a full disk or a closed pipe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


def configure_logs(level: str, style: Literal["json", "console"], ring: LogRing) -> None:
    """Send structured log lines to standard error, and a copy of each to the ring."""
    renderer: Any = structlog.processors.JSONRenderer()
    if style == "console":
        # Plain tracebacks: the default shows local variables, with tokens and text of records.
        plain = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            ring,
            *([structlog.processors.format_exc_info] if style == "json" else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=cast("TextIO", PatientStream(sys.stderr))),
        cache_logger_on_first_use=False,
    )
