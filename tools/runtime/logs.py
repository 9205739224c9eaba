"""Structured logs, a ring buffer of entries, and the operation `logs`."""

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, TextIO, cast

import structlog
from pydantic import Field

from auth.policy import require_whole
from stores.records import JsonObject
from tools.app import App
from tools.frame.operation import OWNERS, Call, Operation, Request, Result, Route, Tool

RING_SIZE = 5000
Level = Literal["debug", "info", "warning", "error", "critical"]
LogListener = Callable[[JsonObject], None]
_STANDARD = ("timestamp", "level", "event", "logger")


class LogRing:
    """Ring buffer of the last entries of organizations."""

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
        """Return the entries of one organization, newest first."""
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
            structlog.processors.format_exc_info if style == "json" else _unchanged,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=cast("TextIO", PatientStream(sys.stderr))),
        cache_logger_on_first_use=False,
    )


def _unchanged(_logger: object, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return entry


class LogFilter(Request):
    """Filter of log entries."""

    service: str | None = Field(None, max_length=200, description="Only entries of this part of the server.")
    level: Level | None = Field(None, description="Only entries of this level.")

    def wants(self, entry: JsonObject) -> bool:
        return self.service in (None, entry["service"]) and self.level in (None, entry["level"])


class LogsRequest(LogFilter):
    """Select log entries."""

    limit: int = Field(50, ge=1, le=500, description="Most entries, newest first.")


class LogEntry(Result):
    """One structured log line."""

    timestamp: str
    service: str
    level: str
    event: str
    context: dict[str, Any]


class Logs(Result):
    """Entries, newest first."""

    result: list[LogEntry]


async def logs(app: App, call: Call, request: LogsRequest) -> Logs:
    """Show what the server logged about this organization's requests, newest first. Owners only."""
    require_whole(call.caller, "The log")
    wanted = (entry for entry in app.logs.of(call.caller.organization_id) if request.wants(entry))
    return Logs(result=[LogEntry.model_validate(entry) for entry in islice(wanted, request.limit)])


def _text(found: Logs) -> str:
    return "\n".join(f"{entry.timestamp} {entry.level} {entry.event} {entry.context}" for entry in found.result)


OPERATION = Operation(
    logs,
    roles=OWNERS,
    route=Route("GET", "/api/logs", tag="organizations"),
    tool=Tool("Read logs", read_only=True, render=_text),
)
"""Also the right to listen to the stream of entries."""

OPERATIONS = (OPERATION,)
