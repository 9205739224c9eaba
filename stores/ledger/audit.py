"""Audit log: append-only, written in the transaction of the action."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, insert, select

from stores.ledger.account_tables import audit_entries
from stores.ledger.encoding import check_keys, dump_json, from_micros, load_object, to_micros
from stores.ledger.store import Store
from stores.records import JsonObject

_entries = audit_entries
_columns = [
    _entries.c[name]
    for name in ("id", "created_at", "organization_id", "actor_id", "action", "resource", "details", "request")
]


@dataclass(frozen=True, slots=True)
class AuditDraft:
    action: str
    """`<noun>.<verb>`: `project.create`, `member.remove`."""
    organization_id: str | None
    actor_id: str | None
    resource: str | None = None
    details: JsonObject = field(default_factory=dict)
    request: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: str
    created_at: datetime
    draft: AuditDraft


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Filter of audit entries; None matches all."""

    organization_id: str | None
    """None for the server's entries, never those of all organizations."""
    actor_id: str | None = None
    action: str | None = None
    """With a final dot, a prefix."""
    resource: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    limit: int = 50
    offset: int = 0


class Audit(Store):
    def append(self, draft: AuditDraft) -> None:
        """Write an entry outside of a transaction."""
        with self._database.write() as connection:
            append_audit(connection, self._clock(), draft)

    def entries(self, query: AuditQuery) -> list[AuditEntry]:
        """Return the matching entries, newest first."""
        statement = (
            select(*_columns)
            .where(*_conditions(query))
            .order_by(_entries.c.created_at.desc(), _entries.c.id.desc())
            .limit(query.limit)
            .offset(query.offset)
        )
        return [_to_entry(row) for row in self._all(statement, {})]


def append_audit(connection: Connection, now: datetime, draft: AuditDraft | None) -> None:
    if draft is None:
        return
    check_keys((draft.action, draft.actor_id, draft.organization_id, draft.resource))
    values = {
        "id": uuid4().hex,
        "organization_id": draft.organization_id,
        "actor_id": draft.actor_id,
        "action": draft.action,
        "resource": draft.resource,
        "details": dump_json(draft.details),
        "request": dump_json(draft.request),
        "created_at": to_micros(now),
    }
    connection.execute(insert(_entries), values)


def detailed(draft: AuditDraft | None, details: JsonObject) -> AuditDraft | None:
    return None if draft is None else replace(draft, details={**draft.details, **details})


def _conditions(query: AuditQuery) -> list[ColumnElement[bool]]:
    found = [_entries.c.organization_id == query.organization_id]
    for column, wanted in ((_entries.c.actor_id, query.actor_id), (_entries.c.resource, query.resource)):
        if wanted is not None:
            found.append(column == wanted)
    if query.action is not None and query.action.endswith("."):
        found += [_entries.c.action > query.action, _entries.c.action < query.action[:-1] + "/"]
    elif query.action is not None:
        found.append(_entries.c.action == query.action)
    if query.since is not None:
        found.append(_entries.c.created_at >= to_micros(query.since))
    if query.until is not None:
        found.append(_entries.c.created_at < to_micros(query.until))
    return found


def _to_entry(row: Sequence[Any]) -> AuditEntry:
    cells: list[Any] = list(row)
    draft = AuditDraft(cells[4], cells[2], cells[3], cells[5], load_object(cells[6]), load_object(cells[7]))
    return AuditEntry(cells[0], from_micros(cells[1]), draft)
