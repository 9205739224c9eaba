"""The audit log as a file."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from auth.policy import ADMINS
from stores.ledger import AuditEntry
from stores.parquet import parquet
from tools.app import App
from tools.frame.operation import Call, Download, Operation, Route
from tools.people.audit import AuditRequest, audit_query

MOST = 100_000
COLUMNS = (
    "id", "created_at", "organization_id", "user_id", "action", "resource", "details", "request", "position", "hash",
)  # fmt: skip
MEDIA_TYPES: Mapping[str, str] = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


class ExportAuditRequest(AuditRequest, extra="forbid"):
    """Select audit entries, and the form of the file."""

    limit: int = Field(10_000, ge=1, le=MOST, description="Most entries.")
    format: Literal["csv", "parquet"] = Field("csv", description="Form of the file.")


def export_audit(app: App, call: Call, request: ExportAuditRequest) -> Download:
    """Export the audit log, newest first, with the hash by which each entry is chained to the one before."""
    entries = app.ledger.audit.entries(audit_query(app, call, request))
    rows = [_row(each) for each in entries[: request.limit]]
    content = _csv(rows) if request.format == "csv" else parquet(COLUMNS, rows)
    return Download(
        content=content, media_type=MEDIA_TYPES[request.format], file_name=f"audit-{request.log}.{request.format}"
    )


def _row(entry: AuditEntry) -> dict[str, Any]:
    told = {"user_id": entry.draft.actor_id, **asdict(entry.draft), **asdict(entry)}
    shown = {name: told[name] for name in COLUMNS}
    return shown | {name: json.dumps(told[name], ensure_ascii=False) for name in ("details", "request")}


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    writer.writerows({**row, "created_at": row["created_at"].isoformat()} for row in rows)
    return file.getvalue().encode()


OPERATIONS = (
    Operation(export_audit, roles=ADMINS, route=Route("GET", "/api/admin/audit/export", tag="organizations")),
)
