"""The operation `logs`."""

from itertools import islice
from typing import Any

from pydantic import Field

from auth.policy import require_whole
from stores.records import JsonObject
from tools.app import App
from tools.frame.operation import OWNERS, Call, Filters, Result, Route, Tool, entry
from tools.runtime.log_ring import Level


class LogFilter(Filters):
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


@entry(
    Route("GET", "/api/logs", tag="organizations"),
    roles=OWNERS,
    tool=Tool("Read logs", read_only=True, toolset="admin", answer=dict),
)
async def logs(app: App, call: Call, request: LogsRequest) -> Logs:
    """Show the server's log of this organization's requests, newest first. Owners only."""
    require_whole(call.caller, "The log")
    wanted = (entry for entry in app.logs.of(call.caller.organization_id) if request.wants(entry))
    return Logs(result=[LogEntry.model_validate(entry) for entry in islice(wanted, request.limit)])
